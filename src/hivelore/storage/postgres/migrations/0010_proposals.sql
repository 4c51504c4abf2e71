-- What somebody proposes and somebody else decides. wanted: JSON, as adapters/sql/proposals.py writes it; how: 0 while it is
-- open; decided_ and reason: NULL until then.
CREATE TABLE proposal (
  namespace    INTEGER NOT NULL,
  id           TEXT COLLATE "C" NOT NULL,
  kind         SMALLINT NOT NULL,
  wanted       TEXT COLLATE "C",
  why          TEXT COLLATE "C",
  actor        TEXT COLLATE "C",
  door         SMALLINT NOT NULL,
  session      TEXT COLLATE "C",
  at           BIGINT NOT NULL,
  how          SMALLINT NOT NULL,
  decided_at   BIGINT,
  decided_by   TEXT COLLATE "C",
  decided_door SMALLINT,
  reason       TEXT COLLATE "C",
  PRIMARY KEY (namespace, id)
);
CREATE INDEX proposal_at ON proposal (namespace, at, id);
CREATE INDEX proposal_open ON proposal (namespace, at, id) WHERE how = 0;
CREATE INDEX proposal_actor ON proposal (namespace, actor, at, id);

-- The memories that each is about, in its order, and which version they had then.
CREATE TABLE concerned (
  namespace INTEGER NOT NULL,
  proposal  TEXT COLLATE "C" NOT NULL,
  position  INTEGER NOT NULL,
  document  BIGINT NOT NULL,
  version   BIGINT NOT NULL,
  PRIMARY KEY (namespace, proposal, position)
);
CREATE INDEX concerned_document ON concerned (namespace, document);

ALTER TABLE proposal ENABLE ROW LEVEL SECURITY;
CREATE POLICY proposal_seen ON proposal FOR SELECT USING (
  NOT EXISTS (SELECT 1 FROM concerned c WHERE c.namespace = proposal.namespace AND c.proposal = proposal.id AND NOT EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = c.namespace AND m.key = c.document))
);
