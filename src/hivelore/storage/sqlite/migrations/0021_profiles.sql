-- Profiles of agents (D01): the part that all agents may read. version: the number of the current version; last: the number that
-- was given last; capabilities: JSON.
CREATE TABLE profile (
  namespace    INTEGER NOT NULL,
  agent        TEXT NOT NULL,
  version      INTEGER NOT NULL,
  last         INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  role         TEXT NOT NULL,
  description  TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  PRIMARY KEY (namespace, agent)
) WITHOUT ROWID;

-- follows: the version that was current when this one arrived, NULL for the first; conflict: 1 if it did not become current;
-- size: bytes of the texts.
CREATE TABLE profile_version (
  namespace    INTEGER NOT NULL,
  agent        TEXT NOT NULL,
  number       INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  actor        TEXT,
  door         INTEGER NOT NULL,
  follows      INTEGER,
  conflict     INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  name         TEXT NOT NULL,
  role         TEXT NOT NULL,
  description  TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  soul         TEXT NOT NULL,
  identity     TEXT NOT NULL,
  notes        TEXT NOT NULL,
  PRIMARY KEY (namespace, agent, number)
);

-- The current versions of a profile before and after a batch.
CREATE TABLE profile_change (
  namespace     INTEGER NOT NULL,
  batch         TEXT NOT NULL,
  agent         TEXT NOT NULL,
  number_before INTEGER NOT NULL,
  number_after  INTEGER NOT NULL,
  PRIMARY KEY (namespace, batch, agent)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('profile', 'profile', '50 50 1'),
  ('profile_version', 'sqlite_autoindex_profile_version_1', '5000 5000 100 1'),
  ('profile_change', 'profile_change', '1000 1000 1 1');
ANALYZE sqlite_schema;
