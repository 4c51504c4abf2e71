-- Repositories that agents clone (D30). name_key: the name in lower case; default_branch: NULL for that of the remote.
CREATE TABLE repo (
  namespace      INTEGER NOT NULL,
  id             TEXT NOT NULL,
  name           TEXT NOT NULL,
  name_key       TEXT NOT NULL,
  url            TEXT NOT NULL,
  default_branch TEXT,
  auto_clone     INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  guidelines     TEXT,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX repo_name ON repo (namespace, name_key);

-- What agents found in their clones. owner: the worker that alone sees the report, empty for one that all see; commit_id: the
-- commit of the content; clone_commit: the one that is checked out; size: bytes of the file; shared_commit: that of the
-- report for all when this one was accepted. Texts stand last: lists do not read them.
CREATE TABLE repo_report (
  namespace     INTEGER NOT NULL,
  repo          TEXT NOT NULL,
  owner         TEXT NOT NULL,
  actor         TEXT,
  at            INTEGER NOT NULL,
  clone_path    TEXT NOT NULL,
  branch        TEXT NOT NULL,
  commit_id     TEXT NOT NULL,
  committed_at  INTEGER NOT NULL,
  clone_commit  TEXT NOT NULL,
  file          TEXT,
  size          INTEGER NOT NULL,
  shared_commit TEXT,
  content       TEXT,
  PRIMARY KEY (namespace, repo, owner)
) WITHOUT ROWID;

-- Repositories before and after a batch, as JSON; NULL where there was none.
CREATE TABLE repo_change (
  namespace     INTEGER NOT NULL,
  batch         TEXT NOT NULL,
  repo          TEXT NOT NULL,
  repo_before   TEXT,
  repo_after    TEXT,
  PRIMARY KEY (namespace, batch, repo)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('repo', 'repo', '100 100 1'),
  ('repo', 'repo_name', '100 100 1'),
  ('repo_report', 'repo_report', '300 300 3 1'),
  ('repo_change', 'repo_change', '300 300 1 1');
ANALYZE sqlite_schema;
