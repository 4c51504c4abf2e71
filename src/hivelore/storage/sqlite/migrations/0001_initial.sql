-- A SQLite file holds one namespace; the column is there so that every engine has one schema.
-- Integer keys are the row's own address here (AUTOINCREMENT: never used twice); every other key begins with the namespace.

CREATE TABLE meta (
  namespace INTEGER NOT NULL,
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

CREATE TABLE agent (
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  name       TEXT NOT NULL,
  role       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX agent_name ON agent (namespace, name);

CREATE TABLE api_key (
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  agent      TEXT,
  role       INTEGER NOT NULL,
  digest     BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;

CREATE TABLE memory (
  key            INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace      INTEGER NOT NULL,
  id             TEXT NOT NULL,
  owner          TEXT,
  scope          INTEGER NOT NULL,
  source         INTEGER NOT NULL,
  name           TEXT NOT NULL,
  content        TEXT NOT NULL,
  summary        TEXT NOT NULL,
  category       TEXT NOT NULL,
  tags           TEXT NOT NULL,
  project        TEXT,
  session        TEXT,
  author         TEXT,
  source_task_id TEXT,
  source_path    TEXT,
  external_id    TEXT,
  metadata       TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  expires_at     INTEGER,
  accessed_at    INTEGER,
  access_count   INTEGER NOT NULL DEFAULT 0,
  version        INTEGER NOT NULL,
  action         INTEGER NOT NULL,
  actor          TEXT,
  door           INTEGER NOT NULL,
  trust          INTEGER NOT NULL,
  reason         TEXT,
  statement      BLOB NOT NULL
);
CREATE UNIQUE INDEX memory_id ON memory (namespace, id);
CREATE UNIQUE INDEX memory_shared_path ON memory (namespace, source_path) WHERE source_path IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_path ON memory (namespace, owner, source_path) WHERE source_path IS NOT NULL AND scope = 1;
CREATE UNIQUE INDEX memory_shared_external ON memory (namespace, external_id) WHERE external_id IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_external ON memory (namespace, owner, external_id) WHERE external_id IS NOT NULL AND scope = 1;
CREATE INDEX memory_statement ON memory (namespace, statement);
-- Lists walk one of these in order, a shelf at a time; expires_at at the end spares the rows of what has expired or not.
CREATE INDEX memory_scope ON memory (namespace, scope, created_at, id, expires_at);
CREATE INDEX memory_owner ON memory (namespace, owner, scope, created_at, id);
CREATE INDEX memory_source ON memory (namespace, scope, source, created_at, id, expires_at);
CREATE INDEX memory_project ON memory (namespace, scope, project, created_at, id);
CREATE INDEX memory_category ON memory (namespace, scope, category, created_at, id);
CREATE INDEX memory_session ON memory (namespace, session, owner, scope, key) WHERE session IS NOT NULL;

CREATE TABLE memory_tag (
  namespace INTEGER NOT NULL,
  tag       TEXT NOT NULL,
  document  INTEGER NOT NULL,
  PRIMARY KEY (namespace, tag, document)
) WITHOUT ROWID;
CREATE INDEX memory_tag_document ON memory_tag (namespace, document);

CREATE TABLE version (
  namespace  INTEGER NOT NULL,
  document   INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  action     INTEGER NOT NULL,
  actor      TEXT,
  door       INTEGER NOT NULL,
  reason     TEXT,
  scope      INTEGER NOT NULL,
  name       TEXT NOT NULL,
  content    TEXT NOT NULL,
  summary    TEXT NOT NULL,
  category   TEXT NOT NULL,
  tags       TEXT NOT NULL,
  project    TEXT,
  expires_at INTEGER,
  PRIMARY KEY (namespace, document, number)
);

CREATE TABLE chunk (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  headings  TEXT NOT NULL
);
CREATE INDEX chunk_document ON chunk (namespace, document, position);

-- model: the newest model this passage has a vector of, 0 for none: a passage without the wanted one is the embedding queue.
-- again: the model that it is to get a new vector of although it has one, 0 for none.
CREATE TABLE passage (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  chunk     INTEGER NOT NULL,
  position  INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  model     INTEGER NOT NULL DEFAULT 0,
  again     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passage_document ON passage (namespace, document, chunk, position);
CREATE INDEX passage_model ON passage (namespace, model, key);
CREATE INDEX passage_again ON passage (namespace, again, key) WHERE again <> 0;

CREATE TABLE model (
  namespace   INTEGER NOT NULL,
  key         INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  dimension   INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX model_fingerprint ON model (namespace, fingerprint);

CREATE TABLE vector (
  namespace INTEGER NOT NULL,
  model     INTEGER NOT NULL,
  passage   INTEGER NOT NULL,
  vector    BLOB NOT NULL,
  PRIMARY KEY (namespace, model, passage)
);

CREATE TABLE embedding_failure (
  namespace  INTEGER NOT NULL,
  model      INTEGER NOT NULL,
  passage    INTEGER NOT NULL,
  attempts   INTEGER NOT NULL,
  not_before INTEGER,
  error      TEXT NOT NULL,
  PRIMARY KEY (namespace, model, passage)
) WITHOUT ROWID;

CREATE TABLE change (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  tx        INTEGER NOT NULL DEFAULT 0,
  kind      INTEGER NOT NULL,
  document  INTEGER NOT NULL
);

CREATE TABLE audit (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  actor     TEXT,
  door      INTEGER NOT NULL,
  action    INTEGER NOT NULL,
  memory    TEXT NOT NULL,
  detail    TEXT
);
CREATE INDEX audit_memory ON audit (namespace, memory, key);

CREATE TABLE job (
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  kind       TEXT NOT NULL,
  state      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  total      INTEGER NOT NULL,
  error      TEXT,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE INDEX job_kind ON job (namespace, kind, created_at);

-- Terms arrive ready made (policies/terms), joined by spaces: the tokenizer only splits at them.
-- detail must be full: with less, bm25 of a table without content is always 0.
CREATE VIRTUAL TABLE keyword USING fts5 (
  own, context, header,
  content = '', contentless_delete = 1, detail = full,
  tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'"
);

-- What the planner is to assume of the memories, however many lie in this file: rows, then rows per value of the first
-- column of the index, of the first two, and so on. Without it SQLite takes the namespace, which is always the same, for
-- a selective column. Nobody runs ANALYZE, so plans stay as they were tested.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memory', 'memory_id', '1000000 1000000 1'),
  ('memory', 'memory_shared_path', '100000 100000 1'),
  ('memory', 'memory_private_path', '100000 100000 5000 1'),
  ('memory', 'memory_shared_external', '100000 100000 1'),
  ('memory', 'memory_private_external', '100000 100000 5000 1'),
  ('memory', 'memory_statement', '1000000 1000000 1'),
  ('memory', 'memory_scope', '1000000 1000000 500000 2 1 1'),
  ('memory', 'memory_owner', '1000000 1000000 5000 5000 2 1'),
  ('memory', 'memory_source', '1000000 1000000 500000 125000 2 1 1'),
  ('memory', 'memory_project', '1000000 1000000 500000 50000 2 1'),
  ('memory', 'memory_category', '1000000 1000000 500000 100000 2 1'),
  ('memory', 'memory_session', '500000 500000 20 20 20 1'),
  ('memory_tag', 'memory_tag', '2000000 2000000 200 1'),
  ('memory_tag', 'memory_tag_document', '2000000 2000000 2');
ANALYZE sqlite_schema;
