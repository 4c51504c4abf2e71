-- Stored transcripts (N09). sub_key: empty for the session itself; continues: the session that this one
-- continues; forked_from: the one of which it is a branch; chunks:
-- the number of the last chunk; root: the digest of the first entry with a uuid; last_entry_at: when the newest entry was
-- written, as its host says; removed_at: since when it is being deleted.
CREATE TABLE transcript (
  namespace   INTEGER NOT NULL,
  id          TEXT NOT NULL,
  owner       TEXT NOT NULL,
  project_key TEXT NOT NULL,
  session     TEXT NOT NULL,
  sub_key     TEXT NOT NULL,
  continues   TEXT,
  forked_from TEXT,
  root        INTEGER,
  program     TEXT NOT NULL,
  version     TEXT,
  machine     TEXT,
  folder      TEXT,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  chunks      INTEGER NOT NULL,
  entries     INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  stored_size INTEGER NOT NULL,
  last_entry_at INTEGER,
  removed_at  INTEGER,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
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
  transcript  TEXT NOT NULL,
  number      INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  sealed_with TEXT,
  data        BLOB NOT NULL,
  PRIMARY KEY (namespace, transcript, number)
);

-- What identifies the entries of a transcript (local/transcript_entries.py).
CREATE TABLE transcript_digest (
  namespace  INTEGER NOT NULL,
  transcript TEXT NOT NULL,
  digest     INTEGER NOT NULL,
  PRIMARY KEY (namespace, transcript, digest)
) WITHOUT ROWID;

-- What the transcripts of an agent take, without those that are being deleted.
CREATE TABLE transcript_usage (
  namespace   INTEGER NOT NULL,
  owner       TEXT NOT NULL,
  transcripts INTEGER NOT NULL,
  stored_size INTEGER NOT NULL,
  PRIMARY KEY (namespace, owner)
) WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('transcript', 'transcript', '1000 1000 1'),
  ('transcript', 'transcript_key', '1000 1000 100 3 1 1'),
  ('transcript', 'transcript_newest', '300 300 1 1'),
  ('transcript', 'transcript_of_owner', '300 300 30 1 1'),
  ('transcript', 'transcript_continues', '20 20 5 1 1 1'),
  ('transcript', 'transcript_session', '300 300 1 1'),
  ('transcript', 'transcript_root', '300 300 30 1 1 1'),
  ('transcript', 'transcript_updated', '1000 1000 1'),
  ('transcript', 'transcript_removed', '5 5 1'),
  ('transcript_usage', 'transcript_usage', '30 30 1'),
  ('transcript_chunk', 'sqlite_autoindex_transcript_chunk_1', '50000 50000 50 1'),
  ('transcript_digest', 'transcript_digest', '500000 500000 500 1');
ANALYZE sqlite_schema;
