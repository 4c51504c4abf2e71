-- Versions of setup scripts (D40). agent: empty for the global script; text: empty where the script was removed.
CREATE TABLE setup_script (
  namespace INTEGER NOT NULL,
  agent     TEXT NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  actor     TEXT,
  door      INTEGER NOT NULL,
  text      TEXT NOT NULL,
  reason    TEXT,
  PRIMARY KEY (namespace, agent, number)
);

-- The texts of proposals to change setup scripts.
CREATE TABLE script_draft (
  namespace INTEGER NOT NULL,
  proposal  TEXT NOT NULL,
  text      TEXT NOT NULL,
  PRIMARY KEY (namespace, proposal)
);

-- The setup script that a proposal is about: its agent, empty for the global one; its version then; the digest of the text.
ALTER TABLE proposal ADD COLUMN script_agent TEXT;
ALTER TABLE proposal ADD COLUMN script_version INTEGER;
ALTER TABLE proposal ADD COLUMN script_digest TEXT;
CREATE INDEX proposal_script ON proposal (namespace, script_agent, at, id) WHERE script_agent IS NOT NULL;

-- The setup script that a batch changed: its agent, empty for the global one; its versions before and after; the accepted
-- proposal.
ALTER TABLE batch ADD COLUMN script_agent TEXT;
ALTER TABLE batch ADD COLUMN script_before INTEGER;
ALTER TABLE batch ADD COLUMN script_after INTEGER;
ALTER TABLE batch ADD COLUMN script_proposal TEXT;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('setup_script', 'sqlite_autoindex_setup_script_1', '500 500 20 1'),
  ('script_draft', 'sqlite_autoindex_script_draft_1', '200 200 1'),
  ('proposal', 'proposal_script', '200 200 20 1 1');
ANALYZE sqlite_schema;
