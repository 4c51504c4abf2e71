-- Repositories that agents clone (D30). name_key: the name in lower case; default_branch: NULL for that of the remote.
CREATE TABLE repo (
  namespace      INTEGER NOT NULL,
  id             TEXT COLLATE "C" NOT NULL,
  name           TEXT COLLATE "C" NOT NULL,
  name_key       TEXT COLLATE "C" NOT NULL,
  url            TEXT COLLATE "C" NOT NULL,
  default_branch TEXT COLLATE "C",
  auto_clone     SMALLINT NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  guidelines     TEXT COLLATE "C",
  PRIMARY KEY (namespace, id)
);
CREATE UNIQUE INDEX repo_name ON repo (namespace, name_key);

-- What agents found in their clones. owner: the worker that alone sees the report, empty for one that all see; commit_id: the
-- commit of the content; clone_commit: the one that is checked out; size: bytes of the file; shared_commit: that of the
-- report for all when this one was accepted. Texts stand last: lists do not read them.
CREATE TABLE repo_report (
  namespace     INTEGER NOT NULL,
  repo          TEXT COLLATE "C" NOT NULL,
  owner         TEXT COLLATE "C" NOT NULL,
  actor         TEXT COLLATE "C",
  at            BIGINT NOT NULL,
  clone_path    TEXT COLLATE "C" NOT NULL,
  branch        TEXT COLLATE "C" NOT NULL,
  commit_id     TEXT COLLATE "C" NOT NULL,
  committed_at  BIGINT NOT NULL,
  clone_commit  TEXT COLLATE "C" NOT NULL,
  file          TEXT COLLATE "C",
  size          BIGINT NOT NULL,
  shared_commit TEXT COLLATE "C",
  content       TEXT COLLATE "C",
  PRIMARY KEY (namespace, repo, owner)
);

-- Repositories before and after a batch, as JSON; NULL where there was none.
CREATE TABLE repo_change (
  namespace   INTEGER NOT NULL,
  batch       TEXT COLLATE "C" NOT NULL,
  repo        TEXT COLLATE "C" NOT NULL,
  repo_before TEXT COLLATE "C",
  repo_after  TEXT COLLATE "C",
  PRIMARY KEY (namespace, batch, repo)
);

-- Repositories are shared. Reports of workers are as private as their memories.
ALTER TABLE repo ENABLE ROW LEVEL SECURITY;
CREATE POLICY repo_seen ON repo FOR SELECT USING (current_setting('hivelore.swarm', true) = 'on');

ALTER TABLE repo_report ENABLE ROW LEVEL SECURITY;
CREATE POLICY repo_report_seen ON repo_report FOR SELECT USING (
  CASE WHEN owner = '' THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR owner = current_setting('hivelore.own', true) END
);

ALTER TABLE repo_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY repo_change_seen ON repo_change FOR SELECT USING (
  EXISTS (SELECT 1 FROM batch b WHERE b.namespace = repo_change.namespace AND b.id = repo_change.batch)
);
