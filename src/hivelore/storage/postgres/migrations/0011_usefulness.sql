-- What was seen of the use of memories. agent: '' for an operator who acted for nobody; aspect and sign: what was seen of what
-- (domain/evidence.py); recall: that gave the memory.
CREATE TABLE evidence (
  namespace INTEGER NOT NULL,
  document  BIGINT NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  session   TEXT COLLATE "C" NOT NULL,
  aspect    SMALLINT NOT NULL,
  sign      SMALLINT NOT NULL,
  at        BIGINT NOT NULL,
  recall    TEXT COLLATE "C",
  PRIMARY KEY (namespace, document, agent, session, aspect)
);

-- How much of it each memory has: what ranking reads.
CREATE TABLE usefulness (
  namespace INTEGER NOT NULL,
  document  BIGINT NOT NULL,
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
) WITH (fillfactor = 70);

ALTER TABLE evidence ENABLE ROW LEVEL SECURITY;
CREATE POLICY evidence_seen ON evidence FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = evidence.namespace AND m.key = evidence.document)
);

ALTER TABLE usefulness ENABLE ROW LEVEL SECURITY;
CREATE POLICY usefulness_seen ON usefulness FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = usefulness.namespace AND m.key = usefulness.document)
);
