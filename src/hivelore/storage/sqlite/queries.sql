-- Statements for SQLite. Sets of keys are passed as JSON arrays. A join that starts from such a set is a CROSS JOIN, whose
-- order SQLite keeps. An UPDATE or DELETE by keys checks the namespace only in its subquery: otherwise SQLite would prefer
-- an index on the namespace to the keys.

-- name: memory_filtered
SELECT {memory_columns} FROM json_each(:keys) k CROSS JOIN memory m ON m.key = k.value {operational}
WHERE m.namespace = :namespace {where}

-- name: rank_features
SELECT m.key, m.id, m.created_at, m.accessed_at, m.access_count, m.session, m.project, m.author, length(m.content),
  substr(CAST(m.content AS BLOB), -80), {operational_columns}, {usefulness_columns}
FROM json_each(:keys) k CROSS JOIN memory m ON m.key = k.value {operational} {usefulness}
WHERE m.namespace = :namespace {where}

-- name: attributes
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL
FROM json_each(:keys) k CROSS JOIN memory m ON m.key = k.value WHERE m.namespace = :namespace

-- name: chunks
SELECT c.document, c.key, c.position, c.start, c.stop, c.headings, p.key, p.start, p.stop
FROM json_each(:documents) k
CROSS JOIN chunk c ON c.namespace = :namespace AND c.document = k.value
LEFT JOIN passage p ON p.namespace = c.namespace AND p.document = c.document AND p.chunk = c.key
ORDER BY k.key, c.position, p.position

-- name: versions_of
SELECT v.document, v.number, v.at, v.action, v.actor, v.door, v.reason, v.scope, v.name, v.content, v.summary, v.category,
  v.tags, v.project, v.expires_at, v.subject, v.valid_from
FROM json_each(:documents) k CROSS JOIN version v ON v.namespace = :namespace AND v.document = k.value
UNION ALL
SELECT m.key, m.version, m.updated_at, m.action, m.actor, m.door, m.reason, m.scope, m.name, m.content, m.summary, m.category,
  m.tags, m.project, m.expires_at, m.subject, m.valid_from
FROM json_each(:documents) k CROSS JOIN memory m ON m.key = k.value WHERE m.namespace = :namespace
ORDER BY 1, 2

-- name: observations_of
SELECT s.document, s.at, s.kind, s.actor, s.door, s.session, s.text, s.confidence
FROM json_each(:documents) k CROSS JOIN observation s ON s.namespace = :namespace AND s.document = k.value
ORDER BY s.document, s.at, s.number

-- name: evidence_of
SELECT e.document, e.agent, e.session, e.sign, e.at, e.recall
FROM json_each(:documents) k CROSS JOIN evidence e ON e.namespace = :namespace AND e.document = k.value

-- name: embedded
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL, p.chunk, p.key, v.vector
FROM json_each(:keys) k
CROSS JOIN memory m ON m.key = k.value
CROSS JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
CROSS JOIN vector v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
WHERE m.namespace = :namespace

-- name: vectors
SELECT v.passage, v.vector FROM json_each(:passages) k
CROSS JOIN vector v ON v.namespace = :namespace AND v.model = :model AND v.passage = k.value

-- name: tokens
SELECT t.passage, t.codes FROM json_each(:passages) k
CROSS JOIN token_vectors t ON t.namespace = :namespace AND t.model = :model AND t.passage = k.value

-- name: locked

-- name: audit_after
SELECT key, {columns:audit} FROM audit NOT INDEXED
WHERE namespace = :namespace AND key > :after ORDER BY key LIMIT :limit

-- name: audit_newest
SELECT {columns:audit} FROM audit NOT INDEXED
WHERE namespace = :namespace ORDER BY key DESC LIMIT :limit

-- name: memory_keys_of
SELECT m.id, m.key FROM json_each(:ids) k CROSS JOIN memory m ON m.namespace = :namespace AND m.id = k.value

-- name: recall_returned
instr(r.documents, :having) > 0

-- name: keyword_put
INSERT OR REPLACE INTO keyword (rowid, own, context, header) VALUES (:chunk, :own, :context, :header)

-- name: keyword_delete
DELETE FROM keyword WHERE rowid = :chunk

-- name: keyword_best
SELECT json_group_array(json_array(document, chunk, score)) FROM (
  SELECT c.document, c.key AS chunk, found.score
  FROM (
    SELECT rowid, -bm25(keyword, 1.0, 0.5, 1.0) AS score FROM keyword WHERE keyword MATCH :terms
    ORDER BY score DESC, rowid LIMIT :limit) found
  CROSS JOIN chunk c ON c.key = found.rowid
  CROSS JOIN memory m ON m.key = c.document
  WHERE m.namespace = :namespace {where}
  ORDER BY found.score DESC, c.key)

-- name: keyword_search
SELECT c.document, c.key, -bm25(keyword, 1.0, 0.5, 1.0) AS score
FROM keyword
CROSS JOIN chunk c ON c.key = keyword.rowid
CROSS JOIN memory m ON m.key = c.document
WHERE keyword MATCH :terms AND m.namespace = :namespace {where}
ORDER BY score DESC, c.key LIMIT :limit

-- name: keyword_averages
SELECT block FROM keyword_data WHERE id = 1

-- name: keyword_having
SELECT count(*) FROM keyword WHERE keyword MATCH :term

-- name: keyword_missing
-- A contentless FTS5 table stores a size for each of its rows.
SELECT DISTINCT c.document FROM chunk c
WHERE c.namespace = :namespace AND c.document > :after
  AND NOT EXISTS (SELECT 1 FROM keyword_docsize k WHERE k.id = c.key)
ORDER BY c.document LIMIT :limit

-- name: keyword_strays
SELECT k.id FROM keyword_docsize k WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.key = k.id) LIMIT :limit

-- name: keyword_clear
INSERT INTO keyword (keyword) VALUES ('delete-all')

-- name: keyword_merge
INSERT INTO keyword (keyword, rank) VALUES ('merge', :pages)

-- name: keyword_segments
SELECT block FROM keyword_data WHERE id = 10

-- name: last_change
SELECT COALESCE(MAX(seq), 0) FROM change

-- name: concerned_of
SELECT co.proposal, m.id, co.version FROM json_each(:ids) k
CROSS JOIN concerned co ON co.namespace = :namespace AND co.proposal = k.value
CROSS JOIN memory m ON m.key = co.document
ORDER BY co.proposal, co.position

-- name: identity
SELECT
  (SELECT value FROM meta WHERE namespace = :namespace AND name = 'incarnation'),
  (SELECT COALESCE(MAX(seq), 0) FROM change)

-- name: links_of
SELECT l.source, l.target, s.id AS source_id, t.id AS target_id, {columns:link l}
FROM json_each(:documents) k
CROSS JOIN link l ON l.namespace = :namespace AND l.source = k.value
CROSS JOIN memory s ON s.key = l.source
CROSS JOIN memory t ON t.key = l.target
UNION
SELECT l.source, l.target, s.id, t.id, {columns:link l}
FROM json_each(:documents) k
CROSS JOIN link l ON l.namespace = :namespace AND l.target = k.value
CROSS JOIN memory s ON s.key = l.source
CROSS JOIN memory t ON t.key = l.target
ORDER BY at DESC, source_id, target_id, kind

-- name: updates_of
-- of_owner: the place among the links to this memory whose sources have the same owner.
SELECT target, source, holds, since, id FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY target ORDER BY holds DESC, of_owner > :share, since DESC, id DESC) AS place
  FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY target, holds, owner ORDER BY since DESC, id DESC) AS of_owner
    FROM (
      SELECT k.value AS target, l.source, s.id, s.owner, COALESCE(s.valid_from, s.created_at) AS since,
        COALESCE(s.valid_from, s.created_at) <= :at AND COALESCE(s.valid_until > :at, TRUE)
          AND COALESCE(s.expires_at > :at, TRUE) AS holds
      FROM json_each(:documents) k
      CROSS JOIN link l ON l.namespace = :namespace AND l.target = k.value AND l.kind = :kind
      CROSS JOIN memory s ON s.key = l.source
      WHERE l.rejected_at IS NULL)))
WHERE place <= :kept

-- name: doubts_of
-- Which memories may update the others: links.decisions.may_update.
SELECT target, certainty, source, holds, since, id FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY target ORDER BY holds DESC, certainty DESC, since DESC, id DESC) AS place
  FROM (
    SELECT k.value AS target, l.source, l.certainty, s.id, COALESCE(s.valid_from, s.created_at) AS since,
      COALESCE(s.valid_from, s.created_at) <= :at AND COALESCE(s.valid_until > :at, TRUE)
        AND COALESCE(s.expires_at > :at, TRUE) AS holds
    FROM json_each(:documents) k
    CROSS JOIN memory t ON t.key = k.value
    CROSS JOIN link l ON l.namespace = :namespace AND l.target = k.value AND l.kind IN (:may_update, :conflicts)
    CROSS JOIN memory s ON s.key = l.source
    WHERE l.rejected_at IS NULL AND l.certainty >= :certainty
      AND s.trust <= t.trust AND (s.project IS NULL OR s.project = t.project)))
WHERE place <= :kept

-- name: later_among
SELECT l.target, l.source FROM json_each(:documents) k
CROSS JOIN json_each(:documents) o
CROSS JOIN link l ON l.namespace = :namespace AND l.source = o.value AND l.target = k.value
WHERE l.kind IN (:updates, :may_update, :conflicts) AND l.rejected_at IS NULL
  AND (l.kind <> :may_update OR l.certainty >= :certainty)
