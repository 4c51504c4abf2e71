-- name: transcript_by_key
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND owner = :owner AND session = :session AND sub_key = :sub_key
  AND project_key = :project_key AND removed_at IS NULL

-- name: transcript_by_id
SELECT {columns:transcript} FROM transcript WHERE namespace = :namespace AND id = :id AND removed_at IS NULL

-- name: transcripts
SELECT {columns:transcript tr} FROM transcript tr
WHERE tr.namespace = :namespace AND tr.removed_at IS NULL AND tr.sub_key = '' {transcript_filter}
ORDER BY tr.updated_at DESC, tr.id DESC LIMIT :limit

-- name: transcript_owners
SELECT DISTINCT tr.owner FROM transcript tr
WHERE tr.namespace = :namespace AND tr.session = :session AND tr.removed_at IS NULL AND tr.sub_key = ''
  {transcript_filter}
ORDER BY tr.owner LIMIT :limit

-- name: transcripts_of_session
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND owner = :owner AND session = :session AND removed_at IS NULL
ORDER BY sub_key, project_key LIMIT :limit

-- name: transcripts_of_owner
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND owner = :owner AND removed_at IS NULL
ORDER BY session, sub_key, project_key LIMIT :limit

-- name: transcripts_continuing
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND owner = :owner AND continues = :session AND removed_at IS NULL
ORDER BY updated_at DESC, id DESC LIMIT :limit

-- name: transcripts_rooted
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND owner = :owner AND root = :root AND removed_at IS NULL
ORDER BY updated_at DESC, id DESC LIMIT :limit

-- name: transcripts_after
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit

-- name: transcript_chunks
SELECT {columns:transcript_chunk} FROM transcript_chunk
WHERE namespace = :namespace AND transcript = :transcript AND number > :after ORDER BY number LIMIT :limit

-- name: transcript_digests
SELECT digest FROM transcript_digest
WHERE namespace = :namespace AND transcript = :transcript AND digest {any:digests}

-- name: transcript_digests_after
SELECT digest FROM transcript_digest
WHERE namespace = :namespace AND transcript = :transcript AND digest > :after ORDER BY digest LIMIT :limit

-- name: transcript_usage
SELECT transcripts, stored_size FROM transcript_usage WHERE namespace = :namespace AND owner = :owner

-- name: transcript_usage_add
INSERT INTO transcript_usage (namespace, owner, transcripts, stored_size)
VALUES (:namespace, :owner, :transcripts, :stored_size)
ON CONFLICT (namespace, owner) DO UPDATE SET
  transcripts = transcript_usage.transcripts + excluded.transcripts,
  stored_size = transcript_usage.stored_size + excluded.stored_size

-- name: transcripts_removed
SELECT id FROM transcript WHERE namespace = :namespace AND removed_at IS NOT NULL ORDER BY id LIMIT :limit

-- name: transcript_put
INSERT INTO transcript {insert:transcript} {update:transcript}

-- name: transcript_chunk_put
INSERT INTO transcript_chunk {insert:transcript_chunk} {update:transcript_chunk}

-- name: transcript_digest_put
INSERT INTO transcript_digest (namespace, transcript, digest) VALUES (:namespace, :transcript, :digest)
ON CONFLICT (namespace, transcript, digest) DO NOTHING

-- name: transcript_chunks_erase
DELETE FROM transcript_chunk
WHERE namespace = :namespace AND transcript = :transcript AND number IN (
  SELECT number FROM transcript_chunk
  WHERE namespace = :namespace AND transcript = :transcript ORDER BY number LIMIT :limit
)

-- name: transcript_digests_erase
DELETE FROM transcript_digest
WHERE namespace = :namespace AND transcript = :transcript AND digest IN (
  SELECT digest FROM transcript_digest
  WHERE namespace = :namespace AND transcript = :transcript ORDER BY digest LIMIT :limit
)

-- name: transcript_erase
DELETE FROM transcript WHERE namespace = :namespace AND id = :transcript

-- name: transcripts_unused
SELECT {columns:transcript} FROM transcript
WHERE namespace = :namespace AND removed_at IS NULL AND updated_at < :before ORDER BY updated_at LIMIT :limit

-- name: transcripts_remove
UPDATE transcript SET removed_at = :at WHERE namespace = :namespace AND id {any:ids}
