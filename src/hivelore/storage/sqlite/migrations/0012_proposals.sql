-- What somebody proposes and somebody else decides. wanted: JSON, as adapters/sql/proposals.py writes it; how: 0 while it is
-- open; decided_ and reason: NULL until then.
CREATE TABLE proposal (
  namespace    INTEGER NOT NULL,
  id           TEXT NOT NULL,
  kind         INTEGER NOT NULL,
  wanted       TEXT,
  why          TEXT,
  actor        TEXT,
  door         INTEGER NOT NULL,
  session      TEXT,
  at           INTEGER NOT NULL,
  how          INTEGER NOT NULL,
  decided_at   INTEGER,
  decided_by   TEXT,
  decided_door INTEGER,
  reason       TEXT,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX proposal_at ON proposal (namespace, at, id);
CREATE INDEX proposal_open ON proposal (namespace, at, id) WHERE how = 0;
CREATE INDEX proposal_actor ON proposal (namespace, actor, at, id);

-- The memories that each is about, in its order, and which version they had then.
CREATE TABLE concerned (
  namespace INTEGER NOT NULL,
  proposal  TEXT NOT NULL,
  position  INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  PRIMARY KEY (namespace, proposal, position)
) WITHOUT ROWID;
CREATE INDEX concerned_document ON concerned (namespace, document);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('proposal', 'proposal_at', '10000 10000 1 1'),
  ('proposal', 'proposal_open', '1000 1000 1 1'),
  ('proposal', 'proposal_actor', '10000 10000 500 1 1'),
  ('proposal', 'sqlite_autoindex_proposal_1', '10000 10000 1'),
  ('concerned', 'concerned', '20000 20000 2 1'),
  ('concerned', 'concerned_document', '20000 20000 2');
ANALYZE sqlite_schema;
