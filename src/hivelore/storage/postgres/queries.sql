-- Statements for PostgreSQL. Sets of keys are passed as arrays. Texts that may be too long for an index are found by their
-- md5. Parameters that may be NULL are cast to their type.

-- name: problems
SELECT 'The chunk ' || key || ' belongs to no memory.' FROM chunk c WHERE c.namespace = :namespace
  AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.namespace = c.namespace AND m.key = c.document)
UNION ALL
SELECT 'The passage ' || key || ' belongs to no chunk.' FROM passage p WHERE p.namespace = :namespace
  AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.namespace = p.namespace AND c.key = p.chunk)
UNION ALL
SELECT 'A vector belongs to no passage: ' || passage || '.' FROM vectors v WHERE v.namespace = :namespace
  AND NOT EXISTS (SELECT 1 FROM passage p WHERE p.namespace = v.namespace AND p.key = v.passage)
LIMIT 100

-- name: others
SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
  AND (application_name = left('hivelore ' || current_schema(), 63) OR starts_with(application_name, 'hivelore move '))
  AND application_name <> current_setting('application_name')

-- name: is_restored
-- A dump restored on another server may contain transaction ids that this server has not reached.
SELECT GREATEST(
  (SELECT MAX(tx) FROM change WHERE namespace = :namespace),
  (SELECT MAX(tx) FROM terms WHERE namespace = :namespace),
  (SELECT MAX(tx) FROM dropped WHERE namespace = :namespace)
) >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint

-- name: restored_change
UPDATE change SET tx = 1 WHERE namespace = :namespace

-- name: restored_terms
UPDATE terms SET dropped = LEAST(dropped, 1), tx = CASE WHEN tx <= (
  SELECT COALESCE(MAX(last), 0) FROM segment WHERE namespace = :namespace AND state = 2) THEN 1 ELSE 2 END
WHERE namespace = :namespace

-- name: restored_dropped
UPDATE dropped SET tx = 1, placed = CASE WHEN placed <= (
  SELECT COALESCE(MAX(last), 0) FROM segment WHERE namespace = :namespace AND state = 2) THEN 1 ELSE 2 END
WHERE namespace = :namespace

-- name: restored_filling
-- Segments that were being filled are discarded and started again.
UPDATE segment SET state = 3, upto = '' WHERE namespace = :namespace AND state = 1

-- name: restored_segment
UPDATE segment SET first = 1, last = 1 WHERE namespace = :namespace

-- name: claim
INSERT INTO claim (namespace, number, tx) VALUES (:namespace, :number, this_tx())
ON CONFLICT (namespace, number) DO UPDATE SET tx = excluded.tx

-- name: memory_at_shared_path
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 2
  AND md5(m.source_path) = md5(:path) AND m.source_path = :path
ORDER BY m.key

-- name: memory_at_private_path
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 1
  AND md5(m.source_path) = md5(:path) AND m.source_path = :path AND m.owner = :home
ORDER BY m.key

-- name: memory_with_shared_external
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 2
  AND md5(m.external_id) = md5(:external_id) AND m.external_id = :external_id
ORDER BY m.key

-- name: memory_with_private_external
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 1
  AND md5(m.external_id) = md5(:external_id) AND m.external_id = :external_id
  AND m.owner = :home
ORDER BY m.key

-- name: memory_admitted
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.key = ANY(:keys) {where}

-- name: memory_standings
SELECT m.key, m.id, m.created_at, m.accessed_at, m.access_count, m.session, m.author, length(m.content),
  convert_to(right(m.content, 80), 'UTF8'), {running}, {use}
FROM memory m {operational} {usefulness} WHERE m.namespace = :namespace AND m.key = ANY(:keys) {where}

-- name: memory_before
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND md5(m.session) = md5(:session) AND m.session = :session
  AND m.owner IS NOT DISTINCT FROM :owner AND m.scope = :scope AND m.key < :key
ORDER BY m.key DESC LIMIT :limit

-- name: memory_after
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND md5(m.session) = md5(:session) AND m.session = :session
  AND m.owner IS NOT DISTINCT FROM :owner AND m.scope = :scope AND m.key > :key
ORDER BY m.key LIMIT :limit

-- name: memory_insert
INSERT INTO memory (namespace, id, owner, scope, source, name, content, summary, category, tags, project, session, author,
  source_task_id, source_path, external_id, metadata, created_at, updated_at, expires_at, accessed_at, access_count,
  version, action, actor, door, trust, reason, statement, subject, topic, valid_from, valid_until, supersedes)
VALUES (:namespace, :id, :owner, :scope, :source, :name, :content, :summary, :category, :tags, :project, :session, :author,
  :source_task_id, :source_path, :external_id, :metadata, :created_at, :updated_at, :expires_at, :accessed_at, :access_count,
  :version, :action, :actor, :door, :trust, :reason, :statement, :subject, :topic, :valid_from, :valid_until, :supersedes)
ON CONFLICT DO NOTHING
RETURNING key

-- name: superseding
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND md5(m.supersedes) = md5(:memory) AND m.supersedes = :memory ORDER BY m.key

-- name: memory_touch
UPDATE memory SET access_count = access_count + :count, accessed_at = GREATEST(COALESCE(accessed_at, :at), :at)
WHERE namespace = :namespace AND key = :key

-- name: attributes
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL
FROM memory m WHERE m.namespace = :namespace AND m.key = ANY(:keys)

-- name: chunks
SELECT c.document, c.key, c.position, c.start, c.stop, c.headings, p.key, p.start, p.stop
FROM chunk c
LEFT JOIN passage p ON p.namespace = c.namespace AND p.document = c.document AND p.chunk = c.key
WHERE c.namespace = :namespace AND c.document = ANY(:documents)
ORDER BY c.document, c.position, p.position

-- name: versions_of
SELECT document, number, at, action, actor, door, reason, scope, name, content, summary, category, tags, project, expires_at,
  subject, valid_from
FROM version WHERE namespace = :namespace AND document = ANY(:documents)
UNION ALL
SELECT key, version, updated_at, action, actor, door, reason, scope, name, content, summary, category, tags, project,
  expires_at, subject, valid_from
FROM memory WHERE namespace = :namespace AND key = ANY(:documents)
ORDER BY 1, 2

-- name: observations_of
SELECT document, at, kind, actor, door, session, text, confidence
FROM observation WHERE namespace = :namespace AND document = ANY(:documents)
ORDER BY document, at, number

-- name: observations_unquote
UPDATE observation SET text = NULL WHERE namespace = :namespace AND kind = 3 AND text = ANY(:words) RETURNING document

-- name: evidence_of
SELECT document, agent, session, sign, at, recall
FROM evidence WHERE namespace = :namespace AND document = ANY(:documents)

-- name: number_from
SELECT setval(keys, :last) FROM (SELECT pg_get_serial_sequence(:table, 'key')::regclass AS keys) AS numbered
WHERE COALESCE(pg_sequence_last_value(keys), 0) < :last

-- name: embedded
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL, p.chunk, p.key, v.vector
FROM memory m
JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
JOIN vectors v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
WHERE m.namespace = :namespace AND m.key = ANY(:keys)

-- name: vectors
SELECT passage, vector FROM vectors WHERE namespace = :namespace AND model = :model AND passage = ANY(:passages)

-- name: tokens
SELECT passage, codes FROM token_vectors WHERE namespace = :namespace AND model = :model AND passage = ANY(:passages)

-- name: free
-- Leases use the clock of the server, because the clocks of the replicas may differ.
AND p.leased_until <= {now}

-- name: locked
FOR UPDATE OF p SKIP LOCKED

-- name: passages_lease
UPDATE passage SET leased_until = {now} + :lease WHERE namespace = :namespace AND key = ANY(:passages)

-- name: tokens_delete
DELETE FROM token_vectors WHERE namespace = :namespace AND model = :model AND passage = ANY(:passages)

-- name: failures_forget
DELETE FROM embedding_failure WHERE namespace = :namespace AND model = :model AND passage = ANY(:passages)

-- name: passages_embedded
UPDATE passage SET model = :model, again = CASE WHEN again = :model THEN 0 ELSE again END, leased_until = 0
WHERE namespace = :namespace AND key = ANY(:passages) RETURNING key, document

-- name: passages_adopt
UPDATE passage SET model = :model WHERE namespace = :namespace AND model <> :model AND key IN (
  SELECT v.passage FROM vectors v WHERE v.namespace = :namespace AND v.model = :model AND v.passage > :after
  ORDER BY v.passage LIMIT :limit)

-- name: passages_queue
UPDATE passage SET again = :model WHERE namespace = :namespace AND key IN (
  SELECT v.passage FROM vectors v WHERE v.namespace = :namespace AND v.model = :model AND v.passage > :after
  ORDER BY v.passage LIMIT :limit)
RETURNING key

-- name: passages_leave_queue
UPDATE passage SET again = 0 WHERE namespace = :namespace AND key IN (
  SELECT p.key FROM passage p WHERE p.namespace = :namespace AND p.again = :model AND p.again <> 0 LIMIT :limit)

-- name: failure_put
INSERT INTO embedding_failure (namespace, model, passage, attempts, not_before, error)
SELECT namespace, :model, key, 1, CAST(:not_before AS BIGINT), :error FROM passage
WHERE namespace = :namespace AND key = :passage
ON CONFLICT (namespace, model, passage) DO UPDATE
SET attempts = embedding_failure.attempts + 1, not_before = excluded.not_before, error = excluded.error

-- name: changes
SELECT tx, seq, kind, document FROM change
WHERE namespace = :namespace AND (tx > :upto OR tx = ANY(:open)) ORDER BY tx, seq

-- name: memory_keys_of
SELECT m.id, m.key FROM memory m WHERE m.namespace = :namespace AND m.id = ANY(:ids)

-- name: tables
SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()

-- name: concerned_of
SELECT co.proposal, m.id, co.version FROM concerned co
JOIN memory m ON m.namespace = co.namespace AND m.key = co.document
WHERE co.namespace = :namespace AND co.proposal = ANY(:ids)
ORDER BY co.proposal, co.position
