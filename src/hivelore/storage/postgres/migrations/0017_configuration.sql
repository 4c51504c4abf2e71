-- Configuration entries (D50). scope: storage/sql/configuration.py; scope_id: an agent or the name of a repository, empty for
-- global scope; version: the number of the current version, NULL for a deleted entry.
CREATE TABLE config_entry (
  namespace  INTEGER NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  scope      SMALLINT NOT NULL,
  scope_id   TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  version    INTEGER,
  PRIMARY KEY (namespace, id)
);
CREATE UNIQUE INDEX config_entry_place ON config_entry (namespace, scope, scope_id, name);
CREATE INDEX config_entry_deleted ON config_entry (namespace, updated_at) WHERE version IS NULL;

-- value: NULL for a secret; sealed: an encrypted secret, NULL once it was erased; sealed_with: the id of its key.
CREATE TABLE config_version (
  namespace   INTEGER NOT NULL,
  entry       TEXT COLLATE "C" NOT NULL,
  number      INTEGER NOT NULL,
  at          BIGINT NOT NULL,
  actor       TEXT COLLATE "C",
  door        SMALLINT NOT NULL,
  secret      SMALLINT NOT NULL,
  value       TEXT COLLATE "C",
  sealed      BYTEA,
  sealed_with TEXT COLLATE "C",
  env_path    TEXT COLLATE "C",
  description TEXT COLLATE "C",
  replaced_at BIGINT,
  PRIMARY KEY (namespace, entry, number)
);
CREATE INDEX config_version_replaced ON config_version (namespace, replaced_at) WHERE sealed IS NOT NULL;
CREATE INDEX config_version_file ON config_version (namespace, env_path, entry, number) WHERE env_path IS NOT NULL;

-- The current versions of an entry before and after a batch; NULL where there was no entry.
CREATE TABLE config_change (
  namespace     INTEGER NOT NULL,
  batch         TEXT COLLATE "C" NOT NULL,
  entry         TEXT COLLATE "C" NOT NULL,
  number_before INTEGER,
  number_after  INTEGER,
  PRIMARY KEY (namespace, batch, entry)
);
CREATE INDEX config_change_entry ON config_change (namespace, entry);

-- Lines of .env files that are kept. workspace: its id; location: its machine and folder; owner: the agent whose entries
-- decide the line, NULL if others do, too; begun: it may be in the file; own_file: Hivelore created the file; revision,
-- written: the line is due while written is the smaller one; problem, since: why and since when it could not be written;
-- due_at: since when it is due.
CREATE TABLE env_line (
  namespace INTEGER NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL,
  path      TEXT COLLATE "C" NOT NULL,
  name      TEXT COLLATE "C" NOT NULL,
  location  TEXT COLLATE "C" NOT NULL,
  owner     TEXT COLLATE "C",
  begun     SMALLINT NOT NULL,
  own_file  SMALLINT NOT NULL,
  revision  BIGINT NOT NULL,
  written   BIGINT NOT NULL,
  problem   TEXT COLLATE "C",
  since     BIGINT,
  due_at    BIGINT,
  PRIMARY KEY (namespace, workspace, path, name)
);
CREATE INDEX env_line_path ON env_line (namespace, path, name);
CREATE INDEX env_line_due ON env_line (namespace, workspace, path, name) WHERE written < revision;

-- The entries of an agent are as private as its memories, all others are shared.
ALTER TABLE config_entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY config_entry_seen ON config_entry FOR SELECT USING (
  CASE WHEN scope <> 2 THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR scope_id = current_setting('hivelore.own', true) END
);

ALTER TABLE config_version ENABLE ROW LEVEL SECURITY;
CREATE POLICY config_version_seen ON config_version FOR SELECT USING (
  EXISTS (SELECT 1 FROM config_entry e WHERE e.namespace = config_version.namespace AND e.id = config_version.entry)
);

ALTER TABLE config_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY config_change_seen ON config_change FOR SELECT USING (
  EXISTS (SELECT 1 FROM batch b WHERE b.namespace = config_change.namespace AND b.id = config_change.batch)
);

-- The names of the entries of an agent are as private as these.
ALTER TABLE env_line ENABLE ROW LEVEL SECURITY;
CREATE POLICY env_line_seen ON env_line FOR SELECT USING (
  CASE WHEN owner IS NULL THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR owner = current_setting('hivelore.own', true) END
);
