-- Configuration entries (D50). scope: storage/sql/configuration.py; scope_id: an agent or the name of a repository, empty for
-- global scope; version: the number of the current version, NULL for a deleted entry.
CREATE TABLE config_entry (
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  scope      INTEGER NOT NULL,
  scope_id   TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX config_entry_place ON config_entry (namespace, scope, scope_id, name);
CREATE INDEX config_entry_deleted ON config_entry (namespace, updated_at) WHERE version IS NULL;

-- value: NULL for a secret; sealed: an encrypted secret, NULL once it was erased; sealed_with: the id of its key.
CREATE TABLE config_version (
  namespace   INTEGER NOT NULL,
  entry       TEXT NOT NULL,
  number      INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  actor       TEXT,
  door        INTEGER NOT NULL,
  secret      INTEGER NOT NULL,
  value       TEXT,
  sealed      BLOB,
  sealed_with TEXT,
  env_path    TEXT,
  description TEXT,
  replaced_at INTEGER,
  PRIMARY KEY (namespace, entry, number)
) WITHOUT ROWID;
CREATE INDEX config_version_replaced ON config_version (namespace, replaced_at) WHERE sealed IS NOT NULL;
CREATE INDEX config_version_file ON config_version (namespace, env_path, entry, number) WHERE env_path IS NOT NULL;

-- The current versions of an entry before and after a batch; NULL where there was no entry.
CREATE TABLE config_change (
  namespace     INTEGER NOT NULL,
  batch         TEXT NOT NULL,
  entry         TEXT NOT NULL,
  number_before INTEGER,
  number_after  INTEGER,
  PRIMARY KEY (namespace, batch, entry)
) WITHOUT ROWID;
CREATE INDEX config_change_entry ON config_change (namespace, entry);

-- Lines of .env files that are kept. workspace: its id; location: its machine and folder; owner: the agent whose entries
-- decide the line, NULL if others do, too; begun: it may be in the file; own_file: Hivelore created the file; revision,
-- written: the line is due while written is the smaller one; problem, since: why and since when it could not be written;
-- due_at: since when it is due.
CREATE TABLE env_line (
  namespace INTEGER NOT NULL,
  workspace TEXT NOT NULL,
  path      TEXT NOT NULL,
  name      TEXT NOT NULL,
  location  TEXT NOT NULL,
  owner     TEXT,
  begun     INTEGER NOT NULL,
  own_file  INTEGER NOT NULL,
  revision  INTEGER NOT NULL,
  written   INTEGER NOT NULL,
  problem   TEXT,
  since     INTEGER,
  due_at    INTEGER,
  PRIMARY KEY (namespace, workspace, path, name)
) WITHOUT ROWID;
CREATE INDEX env_line_path ON env_line (namespace, path, name);
CREATE INDEX env_line_due ON env_line (namespace, workspace, path, name) WHERE written < revision;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('config_entry', 'config_entry', '1000 1000 1'),
  ('config_entry', 'config_entry_place', '1000 1000 300 20 1'),
  ('config_entry', 'config_entry_deleted', '20 20 1'),
  ('config_version', 'config_version', '3000 3000 3 1'),
  ('config_version', 'config_version_replaced', '1000 1000 1'),
  ('config_version', 'config_version_file', '300 300 3 2 1'),
  ('config_change', 'config_change', '1000 1000 1 1'),
  ('config_change', 'config_change_entry', '1000 1000 1'),
  ('env_line', 'env_line', '200 200 100 5 1'),
  ('env_line', 'env_line_path', '200 200 5 1'),
  ('env_line', 'env_line_due', '5 5 5 2 1');
ANALYZE sqlite_schema;
