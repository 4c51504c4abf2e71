-- What was seen of the use of memories. agent: '' for an operator who acted for nobody; aspect and sign: what was seen of what
-- (domain/evidence.py); recall: that gave the memory.
CREATE TABLE evidence (
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  agent     TEXT NOT NULL,
  session   TEXT NOT NULL,
  aspect    INTEGER NOT NULL,
  sign      INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  recall    TEXT,
  PRIMARY KEY (namespace, document, agent, session, aspect)
) WITHOUT ROWID;

-- How much of it each memory has: what ranking reads.
CREATE TABLE usefulness (
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  unused    INTEGER NOT NULL,
  repeated  INTEGER NOT NULL,
  opened    INTEGER NOT NULL,
  cited     INTEGER NOT NULL,
  applied   INTEGER NOT NULL,
  useless   INTEGER NOT NULL,
  useful    INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  PRIMARY KEY (namespace, document)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('evidence', 'evidence', '100000 100000 10 5 1 1'),
  ('usefulness', 'usefulness', '10000 10000 1');
ANALYZE sqlite_schema;
