-- Stored transcripts (N09). sub_key: empty for the session itself; continues: the session that this one
-- continues; forked_from: the one of which it is a branch; chunks:
-- the number of the last chunk; root: the digest of the first entry with a uuid; last_entry_at: when the newest entry was
-- written, as its host says; removed_at: since when it is being deleted.
CREATE TABLE transcript (
  namespace   INTEGER NOT NULL,
  id          TEXT COLLATE "C" NOT NULL,
  owner       TEXT COLLATE "C" NOT NULL,
  project_key TEXT COLLATE "C" NOT NULL,
  session     TEXT COLLATE "C" NOT NULL,
  sub_key     TEXT COLLATE "C" NOT NULL,
  continues   TEXT COLLATE "C",
  forked_from TEXT COLLATE "C",
  root        BIGINT,
  program     TEXT COLLATE "C" NOT NULL,
  version     TEXT COLLATE "C",
  machine     TEXT COLLATE "C",
  folder      TEXT COLLATE "C",
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  chunks      INTEGER NOT NULL,
  entries     INTEGER NOT NULL,
  size        BIGINT NOT NULL,
  stored_size BIGINT NOT NULL,
  last_entry_at BIGINT,
  removed_at  BIGINT,
  PRIMARY KEY (namespace, id)
);
CREATE UNIQUE INDEX transcript_key ON transcript (namespace, owner, session, sub_key, project_key)
  WHERE removed_at IS NULL;
CREATE INDEX transcript_newest ON transcript (namespace, updated_at, id) WHERE removed_at IS NULL AND sub_key = '';
CREATE INDEX transcript_of_owner ON transcript (namespace, owner, updated_at, id)
  WHERE removed_at IS NULL AND sub_key = '';
CREATE INDEX transcript_session ON transcript (namespace, session, owner) WHERE removed_at IS NULL AND sub_key = '';
CREATE INDEX transcript_continues ON transcript (namespace, owner, continues, updated_at, id)
  WHERE removed_at IS NULL AND continues IS NOT NULL;
CREATE INDEX transcript_root ON transcript (namespace, owner, root, updated_at, id)
  WHERE removed_at IS NULL AND root IS NOT NULL;
CREATE INDEX transcript_updated ON transcript (namespace, updated_at) WHERE removed_at IS NULL;
CREATE INDEX transcript_removed ON transcript (namespace, id) WHERE removed_at IS NOT NULL;

-- data: compressed lines, encrypted with the key sealed_with if there is one.
CREATE TABLE transcript_chunk (
  namespace   INTEGER NOT NULL,
  transcript  TEXT COLLATE "C" NOT NULL,
  number      INTEGER NOT NULL,
  size        BIGINT NOT NULL,
  sealed_with TEXT COLLATE "C",
  data        BYTEA NOT NULL,
  PRIMARY KEY (namespace, transcript, number)
);

-- What identifies the entries of a transcript (local/transcript_entries.py).
CREATE TABLE transcript_digest (
  namespace  INTEGER NOT NULL,
  transcript TEXT COLLATE "C" NOT NULL,
  digest     BIGINT NOT NULL,
  PRIMARY KEY (namespace, transcript, digest)
);

-- What the transcripts of an agent take, without those that are being deleted.
CREATE TABLE transcript_usage (
  namespace   INTEGER NOT NULL,
  owner       TEXT COLLATE "C" NOT NULL,
  transcripts BIGINT NOT NULL,
  stored_size BIGINT NOT NULL,
  PRIMARY KEY (namespace, owner)
);

-- Transcripts are as private as the private memories of their agent.
ALTER TABLE transcript ENABLE ROW LEVEL SECURITY;
CREATE POLICY transcript_seen ON transcript FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on' OR owner = current_setting('hivelore.own', true)
);

ALTER TABLE transcript_chunk ENABLE ROW LEVEL SECURITY;
CREATE POLICY transcript_chunk_seen ON transcript_chunk FOR SELECT USING (
  EXISTS (
    SELECT 1 FROM transcript t WHERE t.namespace = transcript_chunk.namespace AND t.id = transcript_chunk.transcript
  )
);

ALTER TABLE transcript_digest ENABLE ROW LEVEL SECURITY;
CREATE POLICY transcript_digest_seen ON transcript_digest FOR SELECT USING (
  EXISTS (
    SELECT 1 FROM transcript t WHERE t.namespace = transcript_digest.namespace AND t.id = transcript_digest.transcript
  )
);

ALTER TABLE transcript_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY transcript_usage_seen ON transcript_usage FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on' OR owner = current_setting('hivelore.own', true)
);
