-- Versions of setup scripts (D40). agent: empty for the global script; text: empty where the script was removed.
CREATE TABLE setup_script (
  namespace INTEGER NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  number    INTEGER NOT NULL,
  at        BIGINT NOT NULL,
  actor     TEXT COLLATE "C",
  door      SMALLINT NOT NULL,
  text      TEXT COLLATE "C" NOT NULL,
  reason    TEXT COLLATE "C",
  PRIMARY KEY (namespace, agent, number)
);

-- The texts of proposals to change setup scripts.
CREATE TABLE script_draft (
  namespace INTEGER NOT NULL,
  proposal  TEXT COLLATE "C" NOT NULL,
  text      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, proposal)
);

-- The setup script that a proposal is about: its agent, empty for the global one; its version then; the digest of the text.
ALTER TABLE proposal ADD COLUMN script_agent TEXT COLLATE "C";
ALTER TABLE proposal ADD COLUMN script_version INTEGER;
ALTER TABLE proposal ADD COLUMN script_digest TEXT COLLATE "C";
CREATE INDEX proposal_script ON proposal (namespace, script_agent, at, id) WHERE script_agent IS NOT NULL;

-- The setup script that a batch changed: its agent, empty for the global one; its versions before and after; the accepted
-- proposal.
ALTER TABLE batch ADD COLUMN script_agent TEXT COLLATE "C";
ALTER TABLE batch ADD COLUMN script_before INTEGER;
ALTER TABLE batch ADD COLUMN script_after INTEGER;
ALTER TABLE batch ADD COLUMN script_proposal TEXT COLLATE "C";

-- The script of an agent is as private as its memories, the global one is shared.
ALTER TABLE setup_script ENABLE ROW LEVEL SECURITY;
CREATE POLICY setup_script_seen ON setup_script FOR SELECT USING (
  CASE WHEN agent = '' THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR agent = current_setting('hivelore.own', true) END
);

-- In addition to the policy about memories, which admits a proposal that is about none.
CREATE POLICY proposal_script_seen ON proposal AS RESTRICTIVE FOR SELECT USING (
  CASE WHEN script_agent IS NULL THEN true
  WHEN script_agent = '' THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR script_agent = current_setting('hivelore.own', true) END
);

ALTER TABLE script_draft ENABLE ROW LEVEL SECURITY;
CREATE POLICY script_draft_seen ON script_draft FOR SELECT USING (
  EXISTS (SELECT 1 FROM proposal p WHERE p.namespace = script_draft.namespace AND p.id = script_draft.proposal)
);
