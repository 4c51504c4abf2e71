-- The log of recalls. documents: the keys of the memories that were given, best first, like ,12,7, (0: gone by then); parts: why,
-- as adapters/sql/recalls.py writes it.
CREATE TABLE recall (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  at         INTEGER NOT NULL,
  agent      TEXT,
  role       INTEGER NOT NULL,
  door       INTEGER NOT NULL,
  project    TEXT,
  session    TEXT,
  question   TEXT NOT NULL,
  path       INTEGER NOT NULL,
  candidates INTEGER NOT NULL,
  documents  TEXT NOT NULL,
  parts      BLOB NOT NULL
);
CREATE INDEX recall_at ON recall (namespace, at, id);
CREATE INDEX recall_agent ON recall (namespace, agent, at, id);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('recall', 'recall_at', '100000 100000 1 1'),
  ('recall', 'recall_agent', '100000 100000 5000 1 1');
ANALYZE sqlite_schema;
