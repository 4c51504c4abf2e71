-- Memories with their tags, versions, chunks and passages. {memory_columns} lists the columns of a memory, {operational} joins its
-- confidence, {where} is a condition of filters.py.

-- name: memory_by_id
SELECT {memory_columns} FROM memory m {operational} WHERE m.namespace = :namespace AND m.id = :id

-- name: memory_by_key
SELECT {memory_columns} FROM memory m {operational} WHERE m.namespace = :namespace AND m.key = :key

-- name: memory_at_shared_path
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.scope = 2 AND {same:m.source_path path} ORDER BY m.key

-- name: memory_at_private_path
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.owner = :home AND m.scope = 1 AND {same:m.source_path path} ORDER BY m.key

-- name: memory_with_shared_external
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.scope = 2 AND {same:m.external_id external_id} ORDER BY m.key

-- name: memory_with_private_external
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.owner = :home AND m.scope = 1 AND {same:m.external_id external_id} ORDER BY m.key

-- name: memory_with_statement
SELECT {memory_columns} FROM memory m {operational} WHERE m.namespace = :namespace AND m.statement = :statement
  AND m.scope = :scope AND m.project IS NOT DISTINCT FROM :project AND m.session IS NOT DISTINCT FROM :session
ORDER BY m.created_at DESC, m.id DESC LIMIT 1

-- name: fact_last
SELECT {memory_columns} FROM memory m {operational} WHERE m.namespace = :namespace AND m.topic = :topic
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_until
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) <= :at
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_before
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) <= :at
  AND (COALESCE(m.valid_from, m.created_at), m.key) < (:at, :key)
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_after
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) >= :at
  AND (COALESCE(m.valid_from, m.created_at), m.key) > (:at, :key)
ORDER BY COALESCE(m.valid_from, m.created_at), m.key LIMIT 1

-- name: memory_successors
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND {same:m.supersedes memory} ORDER BY m.key

-- name: memory_page
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace {where}
ORDER BY m.created_at DESC, m.id DESC LIMIT :limit

-- name: memory_ids
SELECT m.id FROM memory m
WHERE m.namespace = :namespace {where}
ORDER BY m.id LIMIT :limit

-- name: categories
-- Skips from each spelling to the next.
WITH RECURSIVE found (scope, category) AS (
  SELECT scopes.scope, (SELECT MIN(m.category) FROM memory m WHERE m.namespace = :namespace AND m.scope = scopes.scope)
  FROM (SELECT 1 AS scope UNION ALL SELECT 2) AS scopes
  UNION ALL
  SELECT found.scope, (SELECT MIN(m.category) FROM memory m
    WHERE m.namespace = :namespace AND m.scope = found.scope AND m.category > found.category)
  FROM found WHERE found.category IS NOT NULL)
SELECT DISTINCT category FROM found WHERE category IS NOT NULL

-- name: memory_keys
SELECT m.key FROM memory m WHERE m.namespace = :namespace {where}

-- name: memory_before
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND {same:m.session session} AND m.owner IS NOT DISTINCT FROM :owner AND m.scope = :scope
  AND m.key < :key
ORDER BY m.key DESC LIMIT :limit

-- name: memory_after
SELECT {memory_columns} FROM memory m {operational}
WHERE m.namespace = :namespace AND {same:m.session session} AND m.owner IS NOT DISTINCT FROM :owner AND m.scope = :scope
  AND m.key > :key
ORDER BY m.key LIMIT :limit

-- name: memory_counts
SELECT m.source, m.scope, COUNT(*), SUM(CASE WHEN m.expires_at <= :now THEN 1 ELSE 0 END)
FROM memory m WHERE m.namespace = :namespace {where}
GROUP BY m.source, m.scope

-- name: memory_insert
INSERT INTO memory {insert:memory} ON CONFLICT DO NOTHING RETURNING key

-- name: memory_import
INSERT INTO memory {import:memory}

-- name: memory_update
UPDATE memory SET owner = :owner, scope = :scope, source = :source, name = :name, content = :content, summary = :summary,
  category = :category, tags = :tags, project = :project, session = :session, author = :author,
  source_task_id = :source_task_id, source_path = :source_path, external_id = :external_id, metadata = :metadata,
  created_at = :created_at, updated_at = :updated_at, expires_at = :expires_at, version = :version, action = :action,
  actor = :actor, door = :door, trust = :trust, reason = :reason, statement = :statement, subject = :subject, topic = :topic,
  valid_from = :valid_from, valid_until = :valid_until, supersedes = :supersedes
WHERE namespace = :namespace AND key = :key

-- name: memory_count_reads
UPDATE memory SET access_count = access_count + :count, accessed_at = {greatest}(COALESCE(accessed_at, :at), :at)
WHERE namespace = :namespace AND key = :key

-- name: memory_set_expiry
UPDATE memory SET expires_at = :expires_at WHERE namespace = :namespace AND key = :key

-- name: memory_set_validity
UPDATE memory SET valid_until = :valid_until, supersedes = :supersedes WHERE namespace = :namespace AND key = :key

-- name: memory_delete
DELETE FROM memory WHERE namespace = :namespace AND key = :key

-- name: memory_exists
SELECT 1 FROM memory WHERE namespace = :namespace AND key = :key

-- name: tag_insert
INSERT INTO memory_tag (namespace, tag, document) VALUES (:namespace, :tag, :document) ON CONFLICT DO NOTHING

-- name: tag_seen
SELECT COUNT(*) FROM (SELECT 1 FROM memory_tag WHERE namespace = :namespace AND tag = :tag LIMIT :limit) AS seen

-- name: tags_delete
DELETE FROM memory_tag WHERE namespace = :namespace AND document = :document

-- name: version_keep
INSERT INTO version (namespace, document, number, at, action, actor, door, reason, scope, name, content, summary, category,
  tags, project, expires_at, subject, valid_from)
SELECT namespace, key, version, updated_at, action, actor, door, reason, scope, name, content, summary, category, tags,
  project, expires_at, subject, valid_from
FROM memory WHERE namespace = :namespace AND key = :key

-- name: versions
SELECT number, at, action, actor, door, reason, scope, name, content, summary, category, tags, project, expires_at, subject,
  valid_from
FROM version WHERE namespace = :namespace AND document = :document
UNION ALL
SELECT version, updated_at, action, actor, door, reason, scope, name, content, summary, category, tags, project, expires_at,
  subject, valid_from
FROM memory WHERE namespace = :namespace AND key = :document
ORDER BY 1

-- name: version_import
INSERT INTO version {insert:version}

-- name: version_delete
DELETE FROM version WHERE namespace = :namespace AND document = :document AND number = :number

-- name: versions_delete
DELETE FROM version WHERE namespace = :namespace AND document = :document

-- name: chunk_insert
INSERT INTO chunk {insert:chunk} RETURNING key

-- name: chunk_import
INSERT INTO chunk {import:chunk}

-- name: chunk_move
UPDATE chunk SET position = :position, start = :start, stop = :stop WHERE namespace = :namespace AND key = :key

-- name: chunk_delete
DELETE FROM chunk WHERE namespace = :namespace AND key = :key

-- name: chunks_delete
DELETE FROM chunk WHERE namespace = :namespace AND document = :document

-- name: passage_insert
INSERT INTO passage {insert:passage}

-- name: passage_import
INSERT INTO passage {import:passage}

-- name: passage_move
UPDATE passage SET start = :start, stop = :stop WHERE namespace = :namespace AND key = :key

-- name: chunk_vectors_delete
DELETE FROM {vectors} WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_tokens_delete
DELETE FROM token_vectors WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_failures_delete
DELETE FROM embedding_failure WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_passages_delete
DELETE FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk

-- name: memory_keys_below
SELECT key FROM memory WHERE namespace = :namespace AND key < :below ORDER BY key DESC LIMIT :limit
