-- What a model answered about an earlier and a later observation. pair, older and newer: digests of the texts
-- (storage/sql/observations.py), so that a row has no words. It is deleted when a memory with one of the texts is forgotten.
CREATE TABLE verdict (
  namespace   INTEGER NOT NULL,
  pair        TEXT NOT NULL,
  model       TEXT NOT NULL,
  older       TEXT NOT NULL,
  newer       TEXT NOT NULL,
  p_same      REAL NOT NULL,
  p_conflict  REAL NOT NULL,
  p_update    REAL NOT NULL,
  p_different REAL NOT NULL,
  PRIMARY KEY (namespace, pair, model)
) WITHOUT ROWID;
CREATE INDEX verdict_older ON verdict (namespace, older);
CREATE INDEX verdict_newer ON verdict (namespace, newer);

-- Which model knows all verdicts that place the observations of an operational memory; NULL: it is judged anew. is_kept: 1 if
-- somebody undid what was judged, so that it stays as it is.
CREATE TABLE judged (
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  model     TEXT,
  is_kept   INTEGER NOT NULL,
  PRIMARY KEY (namespace, document)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('verdict', 'verdict', '100000 100000 1 1'),
  ('verdict', 'verdict_older', '100000 100000 10'),
  ('verdict', 'verdict_newer', '100000 100000 10'),
  ('judged', 'judged', '10000 10000 1');
ANALYZE sqlite_schema;
