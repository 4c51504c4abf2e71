-- Profiles of agents (D01): the part that all agents may read. version: the number of the current version; last: the number that
-- was given last; capabilities: JSON.
CREATE TABLE profile (
  namespace    INTEGER NOT NULL,
  agent        TEXT COLLATE "C" NOT NULL,
  version      INTEGER NOT NULL,
  last         INTEGER NOT NULL,
  updated_at   BIGINT NOT NULL,
  role         TEXT COLLATE "C" NOT NULL,
  description  TEXT COLLATE "C" NOT NULL,
  capabilities TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, agent)
);

-- follows: the version that was current when this one arrived, NULL for the first; conflict: 1 if it did not become current;
-- size: bytes of the texts.
CREATE TABLE profile_version (
  namespace    INTEGER NOT NULL,
  agent        TEXT COLLATE "C" NOT NULL,
  number       INTEGER NOT NULL,
  at           BIGINT NOT NULL,
  actor        TEXT COLLATE "C",
  door         SMALLINT NOT NULL,
  follows      INTEGER,
  conflict     SMALLINT NOT NULL,
  size         INTEGER NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  role         TEXT COLLATE "C" NOT NULL,
  description  TEXT COLLATE "C" NOT NULL,
  capabilities TEXT COLLATE "C" NOT NULL,
  soul         TEXT COLLATE "C" NOT NULL,
  identity     TEXT COLLATE "C" NOT NULL,
  notes        TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, agent, number)
);

-- The current versions of a profile before and after a batch.
CREATE TABLE profile_change (
  namespace     INTEGER NOT NULL,
  batch         TEXT COLLATE "C" NOT NULL,
  agent         TEXT COLLATE "C" NOT NULL,
  number_before INTEGER NOT NULL,
  number_after  INTEGER NOT NULL,
  PRIMARY KEY (namespace, batch, agent)
);

-- All agents may read who the others are. The texts of an agent are as private as its memories.
ALTER TABLE profile ENABLE ROW LEVEL SECURITY;
CREATE POLICY profile_seen ON profile FOR SELECT USING (
  current_setting('hivelore.swarm', true) = 'on' OR current_setting('hivelore.others', true) = 'on'
  OR agent = current_setting('hivelore.own', true)
);

ALTER TABLE profile_version ENABLE ROW LEVEL SECURITY;
CREATE POLICY profile_version_seen ON profile_version FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on' OR agent = current_setting('hivelore.own', true)
);

ALTER TABLE profile_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY profile_change_seen ON profile_change FOR SELECT USING (
  EXISTS (SELECT 1 FROM batch b WHERE b.namespace = profile_change.namespace AND b.id = profile_change.batch)
);
