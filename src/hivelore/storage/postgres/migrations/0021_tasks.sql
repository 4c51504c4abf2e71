-- Tasks (D20). state, creator_role: storage/sql/tasks.py; creator_key: the creator, empty for an operator; queue: who may claim
-- the task (tasks/authority.py); depends_on: a JSON array, repeated in task_dependency; finished_at: NULL while unfinished.
CREATE TABLE task (
  namespace    INTEGER NOT NULL,
  id           TEXT COLLATE "C" NOT NULL,
  text         TEXT COLLATE "C" NOT NULL,
  state        SMALLINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  version      INTEGER NOT NULL,
  creator      TEXT COLLATE "C",
  creator_key  TEXT COLLATE "C" NOT NULL,
  creator_role SMALLINT NOT NULL,
  assignee     TEXT COLLATE "C",
  queue        TEXT COLLATE "C" NOT NULL,
  parent       TEXT COLLATE "C",
  repo         TEXT COLLATE "C",
  project      TEXT COLLATE "C",
  priority     SMALLINT NOT NULL,
  tags         TEXT COLLATE "C" NOT NULL,
  depends_on   TEXT COLLATE "C" NOT NULL,
  client_id    TEXT COLLATE "C",
  attempt      INTEGER NOT NULL,
  failures     SMALLINT NOT NULL,
  max_attempts SMALLINT NOT NULL,
  lease_token  TEXT COLLATE "C",
  lease_agent  TEXT COLLATE "C",
  lease_runner TEXT COLLATE "C",
  lease_until  BIGINT,
  session      TEXT COLLATE "C",
  session_agent TEXT COLLATE "C",
  progress     TEXT COLLATE "C",
  progress_at  BIGINT,
  output       TEXT COLLATE "C",
  failure      TEXT COLLATE "C",
  reporter     TEXT COLLATE "C",
  finished_at  BIGINT,
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
  task       TEXT COLLATE "C" NOT NULL,
  depends_on TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, task, depends_on)
);
CREATE INDEX task_dependency_on ON task_dependency (namespace, depends_on, task);

-- The latest progress texts and late results of a task.
CREATE TABLE task_progress (
  namespace INTEGER NOT NULL,
  task      TEXT COLLATE "C" NOT NULL,
  number    INTEGER NOT NULL,
  at        BIGINT NOT NULL,
  actor     TEXT COLLATE "C",
  attempt   INTEGER NOT NULL,
  kind      SMALLINT NOT NULL,
  text      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, task, number)
);

-- The latest sessions of agent programs that worked on a task (D21).
CREATE TABLE task_session (
  namespace INTEGER NOT NULL,
  task      TEXT COLLATE "C" NOT NULL,
  number    INTEGER NOT NULL,
  session   TEXT COLLATE "C" NOT NULL,
  agent     TEXT COLLATE "C",
  attempt   INTEGER NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (namespace, task, number)
);
CREATE INDEX task_session_id ON task_session (namespace, session, agent, at, task);

-- The latest claims of a task.
CREATE TABLE task_attempt (
  namespace INTEGER NOT NULL,
  task      TEXT COLLATE "C" NOT NULL,
  number    INTEGER NOT NULL,
  token     TEXT COLLATE "C" NOT NULL,
  agent     TEXT COLLATE "C" NOT NULL,
  runner    TEXT COLLATE "C",
  at        BIGINT NOT NULL,
  PRIMARY KEY (namespace, task, number)
);

-- What a change of a person replaced; after: the version of the task after it.
CREATE TABLE task_change (
  namespace  INTEGER NOT NULL,
  batch      TEXT COLLATE "C" NOT NULL,
  task       TEXT COLLATE "C" NOT NULL,
  state      SMALLINT NOT NULL,
  priority   SMALLINT NOT NULL,
  tags       TEXT COLLATE "C" NOT NULL,
  depends_on TEXT COLLATE "C" NOT NULL,
  after      INTEGER NOT NULL,
  PRIMARY KEY (namespace, batch, task)
);
CREATE INDEX task_change_task ON task_change (namespace, task);

-- What sessions used for tasks; day: 2026-01-31 (UTC); session: empty if it is not known; cost_micros: millionths of a US dollar.
CREATE TABLE task_cost (
  namespace          INTEGER NOT NULL,
  task               TEXT COLLATE "C" NOT NULL,
  attempt            INTEGER NOT NULL,
  session            TEXT COLLATE "C" NOT NULL,
  day                TEXT COLLATE "C" NOT NULL,
  agent              TEXT COLLATE "C" NOT NULL,
  input_tokens       BIGINT NOT NULL,
  output_tokens      BIGINT NOT NULL,
  cache_read_tokens  BIGINT NOT NULL,
  cache_write_tokens BIGINT NOT NULL,
  cost_micros        BIGINT NOT NULL,
  PRIMARY KEY (namespace, task, attempt, session, day)
);
CREATE INDEX task_cost_day ON task_cost (namespace, day);
CREATE INDEX task_cost_agent ON task_cost (namespace, agent, day);

-- A task is seen by who sent it, by its assignee, and if it has none, by all. hivelore.others is set for leads and operators.
ALTER TABLE task ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_seen ON task FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on'
  OR (assignee IS NULL AND current_setting('hivelore.swarm', true) = 'on')
  OR assignee = current_setting('hivelore.own', true) OR creator = current_setting('hivelore.own', true)
);

ALTER TABLE task_dependency ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_dependency_seen ON task_dependency FOR SELECT USING (
  EXISTS (SELECT 1 FROM task t WHERE t.namespace = task_dependency.namespace AND t.id = task_dependency.task)
);

ALTER TABLE task_progress ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_progress_seen ON task_progress FOR SELECT USING (
  EXISTS (SELECT 1 FROM task t WHERE t.namespace = task_progress.namespace AND t.id = task_progress.task)
);

ALTER TABLE task_session ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_session_seen ON task_session FOR SELECT USING (
  EXISTS (SELECT 1 FROM task t WHERE t.namespace = task_session.namespace AND t.id = task_session.task)
);

ALTER TABLE task_attempt ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_attempt_seen ON task_attempt FOR SELECT USING (
  EXISTS (SELECT 1 FROM task t WHERE t.namespace = task_attempt.namespace AND t.id = task_attempt.task)
);

ALTER TABLE task_change ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_change_seen ON task_change FOR SELECT USING (
  EXISTS (SELECT 1 FROM task t WHERE t.namespace = task_change.namespace AND t.id = task_change.task)
);

-- The costs of an agent are seen by itself, and by leads and operators.
ALTER TABLE task_cost ENABLE ROW LEVEL SECURITY;
CREATE POLICY task_cost_seen ON task_cost FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on' OR agent = current_setting('hivelore.own', true)
);
