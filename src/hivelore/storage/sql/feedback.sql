-- name: evidence_put
INSERT INTO evidence {insert:evidence} {update:evidence}

-- name: evidence_drop
DELETE FROM evidence
WHERE namespace = :namespace AND document = :document AND agent = :agent AND session = :session AND aspect = :aspect

-- name: evidence_delete
DELETE FROM evidence WHERE namespace = :namespace AND document = :document

-- name: usefulness_put
INSERT INTO usefulness {insert:usefulness} {update:usefulness}

-- name: usefulness_delete
DELETE FROM usefulness WHERE namespace = :namespace AND document = :document

-- name: memory_most_used
SELECT {memory_columns}, {usefulness_columns} FROM usefulness u
JOIN memory m ON m.namespace = u.namespace AND m.key = u.document {operational}
WHERE u.namespace = :namespace AND m.namespace = :namespace {where}
  AND u.opened + u.cited + u.applied + u.useful + u.useless > 0
ORDER BY u.opened + u.cited + u.applied + u.useful + u.useless DESC, m.key DESC LIMIT :limit

-- name: recall_insert
INSERT INTO recall {insert:recall}

-- name: recalls
SELECT {columns:recall r}, r.documents, r.parts
FROM recall r WHERE r.namespace = :namespace {recall_filter} ORDER BY r.at DESC, r.id DESC LIMIT :limit

-- name: recall_documents
SELECT r.at, r.documents FROM recall r WHERE r.namespace = :namespace AND r.agent IS NOT NULL AND r.at >= :since
ORDER BY r.at DESC, r.id DESC LIMIT :limit

-- name: recall_returned
position(:having IN r.documents) > 0

-- name: recall_nth
SELECT at, id FROM recall WHERE namespace = :namespace ORDER BY at DESC, id DESC LIMIT 1 OFFSET :newer

-- name: recall_drop
DELETE FROM recall WHERE namespace = :namespace AND at >= :since AND id = :id

-- name: recalls_prune
DELETE FROM recall WHERE {ours} key IN (
  SELECT key FROM recall WHERE namespace = :namespace AND at <= :at AND (at, id) < (:at, :id)
  ORDER BY at, id LIMIT :limit)
