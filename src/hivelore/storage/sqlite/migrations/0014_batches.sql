-- What was done to memories in one go, to be taken back. private: whether one of them is, or was; undoes: the batch that it
-- took back; undone_: NULL until it was taken back itself.
CREATE TABLE batch (
  namespace INTEGER NOT NULL,
  id        TEXT NOT NULL,
  kind      INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  actor     TEXT,
  door      INTEGER NOT NULL,
  reason    TEXT,
  changes   INTEGER NOT NULL,
  private   INTEGER NOT NULL,
  undoes    TEXT,
  undone_at INTEGER,
  undone_by TEXT,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX batch_at ON batch (namespace, at, id);

-- What memories were before. before: JSON (domain/wire_former.py), NULL where there was none; after: a mark of what it was then;
-- owner: NULL where it was shared before and after.
CREATE TABLE preimage (
  namespace INTEGER NOT NULL,
  batch     TEXT NOT NULL,
  document  INTEGER NOT NULL,
  memory    TEXT NOT NULL,
  before    TEXT,
  after     TEXT NOT NULL,
  owner     TEXT,
  PRIMARY KEY (namespace, batch, document)
);
CREATE INDEX preimage_document ON preimage (namespace, document);
CREATE INDEX preimage_memory ON preimage (namespace, memory);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('batch', 'batch_at', '10000 10000 1 1'),
  ('batch', 'sqlite_autoindex_batch_1', '10000 10000 1'),
  ('preimage', 'preimage_document', '20000 20000 2'),
  ('preimage', 'preimage_memory', '20000 20000 2'),
  ('preimage', 'sqlite_autoindex_preimage_1', '20000 20000 2 1');
ANALYZE sqlite_schema;
