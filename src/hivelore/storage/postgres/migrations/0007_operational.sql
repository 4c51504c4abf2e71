-- Operational memory: what a memory that is about running things has besides. confidence: how sure it was when it was last
-- observed, at confident_at; what time takes of that is computed. service NULL: it holds for all.
CREATE TABLE operational (
  namespace    INTEGER NOT NULL,
  document     BIGINT NOT NULL,
  service      TEXT COLLATE "C",
  tier         SMALLINT NOT NULL,
  persistent   SMALLINT NOT NULL,
  confidence   DOUBLE PRECISION NOT NULL,
  confident_at BIGINT NOT NULL,
  is_off       SMALLINT NOT NULL,
  PRIMARY KEY (namespace, document)
) WITH (fillfactor = 70);
CREATE INDEX operational_service ON operational (namespace, service);

-- Each time that such a memory was observed, in the order in which that was noted. confidence: what it was set to, if it was.
CREATE TABLE observation (
  namespace  INTEGER NOT NULL,
  document   BIGINT NOT NULL,
  number     INTEGER NOT NULL,
  at         BIGINT NOT NULL,
  kind       SMALLINT NOT NULL,
  actor      TEXT COLLATE "C",
  door       SMALLINT NOT NULL,
  session    TEXT COLLATE "C",
  text       TEXT COLLATE "C",
  confidence DOUBLE PRECISION,
  PRIMARY KEY (namespace, document, number)
);

ALTER TABLE operational ENABLE ROW LEVEL SECURITY;
CREATE POLICY operational_seen ON operational FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = operational.namespace AND m.key = operational.document)
);

ALTER TABLE observation ENABLE ROW LEVEL SECURITY;
CREATE POLICY observation_seen ON observation FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = observation.namespace AND m.key = observation.document)
);
