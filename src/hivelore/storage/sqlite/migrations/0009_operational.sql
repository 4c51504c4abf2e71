-- Operational memory: what a memory that is about running things has besides. confidence: how sure it was when it was last
-- observed, at confident_at; what time takes of that is computed. service NULL: it holds for all.
CREATE TABLE operational (
  namespace    INTEGER NOT NULL,
  document     INTEGER NOT NULL,
  service      TEXT,
  tier         INTEGER NOT NULL,
  persistent   INTEGER NOT NULL,
  confidence   REAL NOT NULL,
  confident_at INTEGER NOT NULL,
  is_off       INTEGER NOT NULL,
  PRIMARY KEY (namespace, document)
) WITHOUT ROWID;
CREATE INDEX operational_service ON operational (namespace, service);

-- Each time that such a memory was observed, in the order in which that was noted. confidence: what it was set to, if it was.
CREATE TABLE observation (
  namespace  INTEGER NOT NULL,
  document   INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  actor      TEXT,
  door       INTEGER NOT NULL,
  session    TEXT,
  text       TEXT,
  confidence REAL,
  PRIMARY KEY (namespace, document, number)
);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('operational', 'operational', '10000 10000 1'),
  ('operational', 'operational_service', '10000 10000 50 1'),
  ('observation', 'sqlite_autoindex_observation_1', '100000 100000 10 1');
ANALYZE sqlite_schema;
