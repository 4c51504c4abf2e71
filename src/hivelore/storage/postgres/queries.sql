-- Statements for PostgreSQL. Sets of keys are passed as arrays. Texts that may be too long for an index are found by their
-- md5. Parameters that may be NULL are cast to their type. A lateral join with OFFSET or LIMIT looks up one key at a time,
-- even if the planner has no statistics of the table.

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

-- name: other_connections
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

-- name: memory_filtered
SELECT {memory_columns} FROM memory m {operational} WHERE m.namespace = :namespace AND m.key = ANY(:keys) {where}

-- name: rank_features
SELECT m.key, m.id, m.created_at, m.accessed_at, m.access_count, m.session, m.project, m.author, length(m.content),
  convert_to(right(m.content, 80), 'UTF8'), {operational_columns}, {usefulness_columns}
FROM memory m {operational} {usefulness} WHERE m.namespace = :namespace AND m.key = ANY(:keys) {where}

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

-- name: locked
FOR UPDATE OF p SKIP LOCKED

-- name: passages_embedded
UPDATE passage SET model = :model, again = CASE WHEN again = :model THEN 0 ELSE again END, leased_until = 0
WHERE namespace = :namespace AND key = ANY(:passages) RETURNING key, document

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

-- name: links_of
SELECT l.source, l.target, s.id AS source_id, t.id AS target_id, {columns:link l}
FROM (
  SELECT l.* FROM unnest(CAST(:documents AS BIGINT[])) AS document
  CROSS JOIN LATERAL (SELECT * FROM link WHERE namespace = :namespace AND source = document OFFSET 0) l
  UNION
  SELECT l.* FROM unnest(CAST(:documents AS BIGINT[])) AS document
  CROSS JOIN LATERAL (SELECT * FROM link WHERE namespace = :namespace AND target = document OFFSET 0) l) l
CROSS JOIN LATERAL (SELECT id FROM memory WHERE namespace = :namespace AND key = l.source LIMIT 1) s
CROSS JOIN LATERAL (SELECT id FROM memory WHERE namespace = :namespace AND key = l.target LIMIT 1) t
ORDER BY l.at DESC, source_id, target_id, l.kind

-- name: updates_of
-- of_owner: the place among the links to this memory whose sources have the same owner.
SELECT document, l.source, l.holds, l.since, l.id
FROM unnest(CAST(:documents AS BIGINT[])) AS document CROSS JOIN LATERAL (
  SELECT * FROM (
    SELECT k.source, s.*, ROW_NUMBER() OVER (PARTITION BY s.holds, s.owner ORDER BY s.since DESC, s.id DESC) AS of_owner
    FROM (
      SELECT source FROM link
      WHERE namespace = :namespace AND target = document AND kind = :kind AND rejected_at IS NULL OFFSET 0) k
    CROSS JOIN LATERAL (
      SELECT id, owner, COALESCE(valid_from, created_at) AS since,
        COALESCE(valid_from, created_at) <= :at AND COALESCE(valid_until > :at, TRUE)
          AND COALESCE(expires_at > :at, TRUE) AS holds
      FROM memory WHERE namespace = :namespace AND key = k.source LIMIT 1) s) o
  ORDER BY holds DESC, of_owner > :share, since DESC, id DESC LIMIT :kept) l

-- name: doubts_of
-- Which memories may update the others: links.decisions.may_update.
SELECT document, l.certainty, l.source, l.holds, l.since, l.id
FROM unnest(CAST(:documents AS BIGINT[])) AS document
CROSS JOIN LATERAL (SELECT trust, project FROM memory WHERE namespace = :namespace AND key = document LIMIT 1) t
CROSS JOIN LATERAL (
  SELECT k.source, k.certainty, s.* FROM (
    SELECT source, certainty FROM link
    WHERE namespace = :namespace AND target = document AND kind IN (:may_update, :conflicts)
      AND rejected_at IS NULL AND certainty >= :certainty OFFSET 0) k
  CROSS JOIN LATERAL (
    SELECT id, trust, project, COALESCE(valid_from, created_at) AS since,
      COALESCE(valid_from, created_at) <= :at AND COALESCE(valid_until > :at, TRUE)
        AND COALESCE(expires_at > :at, TRUE) AS holds
    FROM memory WHERE namespace = :namespace AND key = k.source LIMIT 1) s
  WHERE s.trust <= t.trust AND (s.project IS NULL OR s.project = t.project)
  ORDER BY s.holds DESC, k.certainty DESC, s.since DESC, s.id DESC LIMIT :kept) l

-- name: later_among
SELECT l.target, l.source FROM unnest(CAST(:documents AS BIGINT[])) AS older
CROSS JOIN unnest(CAST(:documents AS BIGINT[])) AS newer
CROSS JOIN LATERAL (
  SELECT source, target FROM link
  WHERE namespace = :namespace AND source = newer AND target = older AND kind IN (:updates, :may_update, :conflicts)
    AND rejected_at IS NULL AND (kind <> :may_update OR certainty >= :certainty) OFFSET 0) l
