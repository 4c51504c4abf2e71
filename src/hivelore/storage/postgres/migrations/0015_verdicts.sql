-- What a model answered about an earlier and a later observation. pair, older and newer: digests of the texts
-- (storage/sql/observations.py), so that a row has no words. It is deleted when a memory with one of the texts is forgotten.
CREATE TABLE verdict (
  namespace   INTEGER NOT NULL,
  pair        TEXT COLLATE "C" NOT NULL,
  model       TEXT COLLATE "C" NOT NULL,
  older       TEXT COLLATE "C" NOT NULL,
  newer       TEXT COLLATE "C" NOT NULL,
  p_same      DOUBLE PRECISION NOT NULL,
  p_conflict  DOUBLE PRECISION NOT NULL,
  p_update    DOUBLE PRECISION NOT NULL,
  p_different DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (namespace, pair, model)
);
CREATE INDEX verdict_older ON verdict (namespace, older);
CREATE INDEX verdict_newer ON verdict (namespace, newer);

-- Which model knows all verdicts that place the observations of an operational memory; NULL: it is judged anew. is_kept: 1 if
-- somebody undid what was judged, so that it stays as it is.
CREATE TABLE judged (
  namespace INTEGER NOT NULL,
  document  BIGINT NOT NULL,
  model     TEXT COLLATE "C",
  is_kept   SMALLINT NOT NULL,
  PRIMARY KEY (namespace, document)
);
