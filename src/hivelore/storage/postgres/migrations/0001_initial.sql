-- One database (or schema of it) holds many namespaces: the namespace is the first column of every primary and unique key,
-- so that tables can be distributed by it. Texts are ordered by code point, as on SQLite. What may be longer than an entry
-- of an index is found by its md5, or by an index of hashes.
-- tx: the transaction that wrote the row; whose snapshot shows it is what tells followers of a log what is new.

CREATE FUNCTION this_tx() RETURNS BIGINT LANGUAGE SQL VOLATILE AS 'SELECT pg_current_xact_id()::text::bigint';

-- Writers hold it shared; one that was in the way of others too often holds it alone.
CREATE TABLE turn (namespace INTEGER PRIMARY KEY);

-- What units of work decide by something not being there: who claims the same meanwhile has to begin anew.
CREATE TABLE claim (
  namespace INTEGER NOT NULL,
  number    SMALLINT NOT NULL,
  tx        BIGINT NOT NULL,
  PRIMARY KEY (namespace, number)
) WITH (fillfactor = 50);

CREATE TABLE meta (
  namespace INTEGER NOT NULL,
  name      TEXT COLLATE "C" NOT NULL,
  value     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, name)
);

CREATE TABLE agent (
  namespace  INTEGER NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  role       SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (namespace, id)
);
CREATE UNIQUE INDEX agent_name ON agent (namespace, name);

CREATE TABLE api_key (
  namespace  INTEGER NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  agent      TEXT COLLATE "C",
  role       SMALLINT NOT NULL,
  digest     BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  PRIMARY KEY (namespace, id)
);

CREATE TABLE memory (
  namespace      INTEGER NOT NULL,
  key            BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  id             TEXT COLLATE "C" NOT NULL,
  owner          TEXT COLLATE "C",
  scope          SMALLINT NOT NULL,
  source         SMALLINT NOT NULL,
  name           TEXT COLLATE "C" NOT NULL,
  content        TEXT COLLATE "C" NOT NULL,
  summary        TEXT COLLATE "C" NOT NULL,
  category       TEXT COLLATE "C" NOT NULL,
  tags           TEXT COLLATE "C" NOT NULL,
  project        TEXT COLLATE "C",
  session        TEXT COLLATE "C",
  author         TEXT COLLATE "C",
  source_task_id TEXT COLLATE "C",
  source_path    TEXT COLLATE "C",
  external_id    TEXT COLLATE "C",
  metadata       TEXT COLLATE "C" NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  expires_at     BIGINT,
  accessed_at    BIGINT,
  access_count   BIGINT NOT NULL DEFAULT 0,
  version        INTEGER NOT NULL,
  action         SMALLINT NOT NULL,
  actor          TEXT COLLATE "C",
  door           SMALLINT NOT NULL,
  trust          SMALLINT NOT NULL,
  reason         TEXT COLLATE "C",
  statement      BYTEA NOT NULL,
  PRIMARY KEY (namespace, key)
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX memory_id ON memory (namespace, id);
CREATE UNIQUE INDEX memory_shared_path ON memory (namespace, md5(source_path)) WHERE source_path IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_path ON memory (namespace, owner, md5(source_path))
  WHERE source_path IS NOT NULL AND scope = 1;
CREATE UNIQUE INDEX memory_shared_external ON memory (namespace, md5(external_id)) WHERE external_id IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_external ON memory (namespace, owner, md5(external_id))
  WHERE external_id IS NOT NULL AND scope = 1;
CREATE INDEX memory_statement ON memory (namespace, statement);
-- Lists walk one of these in order, a shelf at a time.
CREATE INDEX memory_scope ON memory (namespace, scope, created_at, id);
CREATE INDEX memory_owner ON memory (namespace, owner, scope, created_at, id);
CREATE INDEX memory_source ON memory (namespace, scope, source, created_at, id);
CREATE INDEX memory_category ON memory (namespace, scope, category, created_at, id);
CREATE INDEX memory_expires ON memory (namespace, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memory_project ON memory USING hash (project);
CREATE INDEX memory_session ON memory (namespace, md5(session), key) WHERE session IS NOT NULL;

CREATE TABLE memory_tag (
  namespace INTEGER NOT NULL,
  document  BIGINT NOT NULL,
  tag       TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX memory_tag_document ON memory_tag (namespace, document, md5(tag));
CREATE INDEX memory_tag_tag ON memory_tag USING hash (tag);

CREATE TABLE version (
  namespace  INTEGER NOT NULL,
  document   BIGINT NOT NULL,
  number     INTEGER NOT NULL,
  at         BIGINT NOT NULL,
  action     SMALLINT NOT NULL,
  actor      TEXT COLLATE "C",
  door       SMALLINT NOT NULL,
  reason     TEXT COLLATE "C",
  scope      SMALLINT NOT NULL,
  name       TEXT COLLATE "C" NOT NULL,
  content    TEXT COLLATE "C" NOT NULL,
  summary    TEXT COLLATE "C" NOT NULL,
  category   TEXT COLLATE "C" NOT NULL,
  tags       TEXT COLLATE "C" NOT NULL,
  project    TEXT COLLATE "C",
  expires_at BIGINT,
  PRIMARY KEY (namespace, document, number)
);

CREATE TABLE chunk (
  namespace INTEGER NOT NULL,
  key       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  document  BIGINT NOT NULL,
  position  INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  headings  TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX chunk_document ON chunk (namespace, document, position);

-- model: the newest model this passage has a vector of, 0 for none: a passage without the wanted one is the embedding queue.
-- again: the model that it is to get a new vector of although it has one, 0 for none.
CREATE TABLE passage (
  namespace INTEGER NOT NULL,
  key       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  document  BIGINT NOT NULL,
  chunk     BIGINT NOT NULL,
  position  INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  stop      INTEGER NOT NULL,
  model     INTEGER NOT NULL DEFAULT 0,
  again     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, key)
) WITH (fillfactor = 90);
CREATE INDEX passage_document ON passage (namespace, document, chunk, position);
CREATE INDEX passage_model ON passage (namespace, model, key);
CREATE INDEX passage_again ON passage (namespace, again, key) WHERE again <> 0;

CREATE TABLE model (
  namespace   INTEGER NOT NULL,
  key         INTEGER NOT NULL,
  fingerprint TEXT COLLATE "C" NOT NULL,
  dimension   INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE UNIQUE INDEX model_fingerprint ON model (namespace, fingerprint);

CREATE TABLE vectors (
  namespace INTEGER NOT NULL,
  model     INTEGER NOT NULL,
  passage   BIGINT NOT NULL,
  vector    VECTOR NOT NULL,
  PRIMARY KEY (namespace, model, passage)
);

CREATE TABLE token_vectors (
  namespace INTEGER NOT NULL,
  model     INTEGER NOT NULL,
  passage   BIGINT NOT NULL,
  codes     BYTEA NOT NULL,
  PRIMARY KEY (namespace, model, passage)
);
ALTER TABLE token_vectors ALTER codes SET STORAGE EXTERNAL;

CREATE TABLE embedding_failure (
  namespace  INTEGER NOT NULL,
  model      INTEGER NOT NULL,
  passage    BIGINT NOT NULL,
  attempts   INTEGER NOT NULL,
  not_before BIGINT,
  error      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, model, passage)
);

CREATE TABLE change (
  namespace INTEGER NOT NULL,
  tx        BIGINT NOT NULL DEFAULT this_tx(),
  seq       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  kind      SMALLINT NOT NULL,
  document  BIGINT NOT NULL,
  PRIMARY KEY (namespace, tx, seq)
);

CREATE TABLE audit (
  namespace INTEGER NOT NULL,
  key       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  at        BIGINT NOT NULL,
  actor     TEXT COLLATE "C",
  door      SMALLINT NOT NULL,
  action    SMALLINT NOT NULL,
  memory    TEXT COLLATE "C" NOT NULL,
  detail    TEXT COLLATE "C",
  PRIMARY KEY (namespace, key)
);
CREATE INDEX audit_memory ON audit (namespace, memory, key);

CREATE TABLE recall (
  namespace  INTEGER NOT NULL,
  key        BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  id         TEXT COLLATE "C" NOT NULL,
  at         BIGINT NOT NULL,
  agent      TEXT COLLATE "C",
  role       SMALLINT NOT NULL,
  door       SMALLINT NOT NULL,
  project    TEXT COLLATE "C",
  session    TEXT COLLATE "C",
  question   TEXT COLLATE "C" NOT NULL,
  path       SMALLINT NOT NULL,
  candidates BIGINT NOT NULL,
  documents  TEXT COLLATE "C" NOT NULL,
  parts      BYTEA NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX recall_at ON recall (namespace, at, id);
CREATE INDEX recall_agent ON recall (namespace, agent, at, id);

CREATE TABLE job (
  namespace  INTEGER NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  state      SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  done       BIGINT NOT NULL,
  total      BIGINT NOT NULL,
  error      TEXT COLLATE "C",
  PRIMARY KEY (namespace, id)
);
CREATE INDEX job_kind ON job (namespace, kind, created_at);

-- The keyword index "postings", as SQLite's migrations describe it, but for this: rows of terms and of dropped are found by
-- their transaction, for their slots and numbers need not become visible in their order. dropped (in terms), first and
-- last (of a segment) and placed (of what is dropped: of its row of terms) are transactions.

CREATE TABLE terms (
  namespace INTEGER NOT NULL,
  slot      BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  tx        BIGINT NOT NULL DEFAULT this_tx(),
  chunk     BIGINT NOT NULL,
  document  BIGINT NOT NULL,
  length    INTEGER NOT NULL,
  dropped   BIGINT NOT NULL DEFAULT 0,
  terms     TEXT COLLATE "C" NOT NULL,
  counts    BYTEA NOT NULL,
  PRIMARY KEY (namespace, slot)
);
CREATE INDEX terms_tx ON terms (namespace, tx, slot);
CREATE UNIQUE INDEX terms_chunk ON terms (namespace, chunk) WHERE dropped = 0;
CREATE INDEX terms_dropped ON terms (namespace, dropped) WHERE dropped <> 0;

CREATE TABLE dropped (
  namespace INTEGER NOT NULL,
  seq       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  tx        BIGINT NOT NULL DEFAULT this_tx(),
  slot      BIGINT NOT NULL,
  placed    BIGINT NOT NULL,
  PRIMARY KEY (namespace, seq)
);
CREATE INDEX dropped_tx ON dropped (namespace, tx);
CREATE INDEX dropped_slot ON dropped (namespace, slot);
CREATE INDEX dropped_placed ON dropped (namespace, placed);

CREATE TABLE segment (
  namespace INTEGER NOT NULL,
  key       BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
  state     SMALLINT NOT NULL,
  first     BIGINT NOT NULL,
  last      BIGINT NOT NULL,
  chunks    INTEGER NOT NULL,
  sources   TEXT COLLATE "C" NOT NULL,
  upto      TEXT COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (namespace, key)
);

CREATE TABLE segment_rows (
  namespace INTEGER NOT NULL,
  segment   BIGINT NOT NULL,
  slots     BYTEA NOT NULL,
  chunks    BYTEA NOT NULL,
  documents BYTEA NOT NULL,
  lengths   BYTEA NOT NULL,
  PRIMARY KEY (namespace, segment)
);

CREATE TABLE posting (
  namespace INTEGER NOT NULL,
  term      TEXT COLLATE "C" NOT NULL,
  segment   BIGINT NOT NULL,
  places    BYTEA NOT NULL,
  counts    BYTEA NOT NULL,
  PRIMARY KEY (namespace, term, segment)
);
ALTER TABLE posting ALTER places SET STORAGE EXTERNAL;
ALTER TABLE posting ALTER counts SET STORAGE EXTERNAL;
