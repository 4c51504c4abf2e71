-- Tasks (D20). state, creator_role: storage/sql/tasks.py; creator_key: the creator, empty for an operator; queue: who may claim
-- the task (tasks/authority.py); depends_on: a JSON array, repeated in task_dependency; finished_at: NULL while unfinished.
CREATE TABLE task (
  namespace    INTEGER NOT NULL,
  id           TEXT NOT NULL,
  text         TEXT NOT NULL,
  state        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  creator      TEXT,
  creator_key  TEXT NOT NULL,
  creator_role INTEGER NOT NULL,
  assignee     TEXT,
  queue        TEXT NOT NULL,
  parent       TEXT,
  repo         TEXT,
  project      TEXT,
  priority     INTEGER NOT NULL,
  tags         TEXT NOT NULL,
  depends_on   TEXT NOT NULL,
  client_id    TEXT,
  attempt      INTEGER NOT NULL,
  failures     INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  lease_token  TEXT,
  lease_agent  TEXT,
  lease_runner TEXT,
  lease_until  INTEGER,
  session      TEXT,
  session_agent TEXT,
  progress     TEXT,
  progress_at  INTEGER,
  output       TEXT,
  failure      TEXT,
  reporter     TEXT,
  finished_at  INTEGER,
  PRIMARY KEY (namespace, id)
);
CREATE UNIQUE INDEX task_client_id ON task (namespace, creator_key, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX task_claimable ON task (namespace, queue, priority DESC, created_at, id) WHERE state = 1;
CREATE INDEX task_leased ON task (namespace, lease_until) WHERE state = 3;
CREATE INDEX task_state ON task (namespace, state, created_at, id);
CREATE INDEX task_assignee ON task (namespace, assignee, state, created_at, id);
CREATE INDEX task_creator ON task (namespace, creator_key, state, created_at, id);
CREATE INDEX task_parent ON task (namespace, parent, state, created_at, id) WHERE parent IS NOT NULL;
CREATE INDEX task_repo ON task (namespace, repo, state, created_at, id) WHERE repo IS NOT NULL;
CREATE INDEX task_held ON task (namespace, lease_agent, created_at, id) WHERE state = 3;
CREATE INDEX task_failed ON task (namespace, finished_at, id) WHERE state = 6;
CREATE INDEX task_finished ON task (namespace, finished_at, id) WHERE finished_at IS NOT NULL;

-- Tasks that have to be completed before a task.
CREATE TABLE task_dependency (
  namespace  INTEGER NOT NULL,
  task       TEXT NOT NULL,
  depends_on TEXT NOT NULL,
  PRIMARY KEY (namespace, task, depends_on)
) WITHOUT ROWID;
CREATE INDEX task_dependency_on ON task_dependency (namespace, depends_on, task);

-- The latest progress texts and late results of a task.
CREATE TABLE task_progress (
  namespace INTEGER NOT NULL,
  task      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  actor     TEXT,
  attempt   INTEGER NOT NULL,
  kind      INTEGER NOT NULL,
  text      TEXT NOT NULL,
  PRIMARY KEY (namespace, task, number)
) WITHOUT ROWID;

-- The latest sessions of agent programs that worked on a task (D21).
CREATE TABLE task_session (
  namespace INTEGER NOT NULL,
  task      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  session   TEXT NOT NULL,
  agent     TEXT,
  attempt   INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (namespace, task, number)
) WITHOUT ROWID;
CREATE INDEX task_session_id ON task_session (namespace, session, agent, at, task);

-- The latest claims of a task.
CREATE TABLE task_attempt (
  namespace INTEGER NOT NULL,
  task      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  token     TEXT NOT NULL,
  agent     TEXT NOT NULL,
  runner    TEXT,
  at        INTEGER NOT NULL,
  PRIMARY KEY (namespace, task, number)
) WITHOUT ROWID;

-- What a change of a person replaced; after: the version of the task after it.
CREATE TABLE task_change (
  namespace  INTEGER NOT NULL,
  batch      TEXT NOT NULL,
  task       TEXT NOT NULL,
  state      INTEGER NOT NULL,
  priority   INTEGER NOT NULL,
  tags       TEXT NOT NULL,
  depends_on TEXT NOT NULL,
  after      INTEGER NOT NULL,
  PRIMARY KEY (namespace, batch, task)
) WITHOUT ROWID;
CREATE INDEX task_change_task ON task_change (namespace, task);

-- What sessions used for tasks; day: 2026-01-31 (UTC); session: empty if it is not known; cost_micros: millionths of a US dollar.
CREATE TABLE task_cost (
  namespace          INTEGER NOT NULL,
  task               TEXT NOT NULL,
  attempt            INTEGER NOT NULL,
  session            TEXT NOT NULL,
  day                TEXT NOT NULL,
  agent              TEXT NOT NULL,
  input_tokens       INTEGER NOT NULL,
  output_tokens      INTEGER NOT NULL,
  cache_read_tokens  INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  cost_micros        INTEGER NOT NULL,
  PRIMARY KEY (namespace, task, attempt, session, day)
) WITHOUT ROWID;
CREATE INDEX task_cost_day ON task_cost (namespace, day);
CREATE INDEX task_cost_agent ON task_cost (namespace, agent, day);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('task', 'sqlite_autoindex_task_1', '10000 10000 1'),
  ('task', 'task_client_id', '5000 5000 500 1'),
  ('task', 'task_claimable', '1000 1000 100 20 1 1'),
  ('task', 'task_leased', '50 50 1'),
  ('task', 'task_state', '10000 10000 1500 1 1'),
  ('task', 'task_assignee', '10000 10000 1000 300 1 1'),
  ('task', 'task_creator', '10000 10000 1000 300 1 1'),
  ('task', 'task_parent', '3000 3000 5 2 1 1'),
  ('task', 'task_repo', '5000 5000 500 200 1 1'),
  ('task', 'task_held', '50 50 3 1 1'),
  ('task', 'task_failed', '200 200 1 1'),
  ('task', 'task_finished', '9000 9000 1 1'),
  ('task_dependency', 'task_dependency', '5000 5000 2 1'),
  ('task_dependency', 'task_dependency_on', '5000 5000 2 1'),
  ('task_progress', 'task_progress', '50000 50000 5 1'),
  ('task_session', 'task_session', '15000 15000 2 1'),
  ('task_session', 'task_session_id', '15000 15000 2 2 1 1'),
  ('task_attempt', 'task_attempt', '15000 15000 2 1'),
  ('task_change', 'task_change', '500 500 1 1'),
  ('task_change', 'task_change_task', '500 500 1'),
  ('task_cost', 'task_cost', '15000 15000 2 2 1 1'),
  ('task_cost', 'task_cost_day', '15000 15000 200'),
  ('task_cost', 'task_cost_agent', '15000 15000 1000 20');
ANALYZE sqlite_schema;
