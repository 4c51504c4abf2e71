-- How memories relate: source says the same as target, updates it, or contradicts it; kind: storage/sql/links.py. Both are keys
-- of memories. rejected_at: NULL while the link counts.
CREATE TABLE link (
  namespace   INTEGER NOT NULL,
  source      BIGINT NOT NULL,
  target      BIGINT NOT NULL,
  kind        SMALLINT NOT NULL,
  certainty   DOUBLE PRECISION NOT NULL,
  why         TEXT COLLATE "C" NOT NULL,
  model       TEXT COLLATE "C" NOT NULL,
  at          BIGINT NOT NULL,
  rejected_at BIGINT,
  rejected_by TEXT COLLATE "C",
  PRIMARY KEY (namespace, source, target, kind)
);
CREATE INDEX link_target ON link (namespace, target, kind);

-- Which version of a memory was compared with its neighbours, and by which model.
CREATE TABLE compared (
  namespace INTEGER NOT NULL,
  document  BIGINT NOT NULL,
  version   BIGINT NOT NULL,
  model     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, document)
);

-- A link may say words of both memories.
ALTER TABLE link ENABLE ROW LEVEL SECURITY;
CREATE POLICY link_seen ON link FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = link.namespace AND m.key = link.source)
  AND EXISTS (SELECT 1 FROM memory m WHERE m.namespace = link.namespace AND m.key = link.target)
);
