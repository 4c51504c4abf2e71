-- How memories relate: source says the same as target, updates it, or contradicts it; kind: storage/sql/links.py. Both are keys
-- of memories. rejected_at: NULL while the link counts.
CREATE TABLE link (
  namespace   INTEGER NOT NULL,
  source      INTEGER NOT NULL,
  target      INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  certainty   REAL NOT NULL,
  why         TEXT NOT NULL,
  model       TEXT NOT NULL,
  at          INTEGER NOT NULL,
  rejected_at INTEGER,
  rejected_by TEXT,
  PRIMARY KEY (namespace, source, target, kind)
) WITHOUT ROWID;
CREATE INDEX link_target ON link (namespace, target, kind);

-- Which version of a memory was compared with its neighbours, and by which model.
CREATE TABLE compared (
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  model     TEXT NOT NULL,
  PRIMARY KEY (namespace, document)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('link', 'link', '100000 100000 2 1 1'),
  ('link', 'link_target', '100000 100000 2 2'),
  ('compared', 'compared', '100000 100000 1');
ANALYZE sqlite_schema;
