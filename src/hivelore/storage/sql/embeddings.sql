-- Embedding models, vectors and the embedding queue.

-- name: model_insert
INSERT INTO model (namespace, key, fingerprint, dimension)
SELECT :namespace, COALESCE(MAX(key), 0) + 1, :fingerprint, :dimension FROM model WHERE namespace = :namespace
RETURNING key

-- name: model_dimension
SELECT dimension FROM model WHERE namespace = :namespace AND key = :model

-- name: vector_put
INSERT INTO {vectors} (namespace, model, passage, vector) VALUES (:namespace, :model, :passage, :vector)
ON CONFLICT (namespace, model, passage) DO UPDATE SET vector = excluded.vector

-- name: tokens_put
INSERT INTO token_vectors (namespace, model, passage, codes) VALUES (:namespace, :model, :passage, :codes)
ON CONFLICT (namespace, model, passage) DO UPDATE SET codes = excluded.codes

-- name: passage_embedded
UPDATE passage SET model = :model, again = CASE WHEN again = :model THEN 0 ELSE again END, leased_until = 0
WHERE namespace = :namespace AND key = :passage RETURNING document

-- name: passages_adopt
UPDATE passage SET model = :model WHERE {ours} model <> :model AND key IN (
  SELECT v.passage FROM {vectors} v WHERE v.namespace = :namespace AND v.model = :model AND v.passage > :after
  ORDER BY v.passage LIMIT :limit)

-- name: vectors_after
SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model AND passage > :after
ORDER BY passage LIMIT :limit

-- name: passages_unqueue
UPDATE passage SET again = 0 WHERE namespace = :namespace AND again = :model AND again <> 0 AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = passage.namespace AND v.model = :model AND v.passage = passage.key)

-- name: passages_unmark
UPDATE passage SET model = 0 WHERE namespace = :namespace AND model = :model AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = passage.namespace AND v.model = :model AND v.passage = passage.key)

-- name: models
SELECT key FROM model WHERE namespace = :namespace

-- name: failure_put
INSERT INTO embedding_failure (namespace, model, passage, attempts, not_before, error)
SELECT namespace, :model, key, 1, CAST(:not_before AS BIGINT), :error FROM passage WHERE namespace = :namespace AND key = :passage
ON CONFLICT (namespace, model, passage) DO UPDATE
SET attempts = embedding_failure.attempts + 1, not_before = excluded.not_before, error = excluded.error

-- name: queued_passages
-- A failure without not_before is one that an earlier release gave up; it is tried again.
SELECT p.key, p.document, p.start, p.stop, m.content, m.author FROM passage p
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue} {unleased} AND (f.passage IS NULL OR COALESCE(f.not_before, 0) <= :now)
ORDER BY p.key {order} LIMIT :limit {locked}

-- name: passage_release
UPDATE passage SET leased_until = 0 WHERE namespace = :namespace AND key = :passage AND leased_until <> 0

-- name: pending
-- Counts the queued passages that have not failed, and those that have.
SELECT COUNT(*) - COUNT(f.passage), COUNT(f.passage) FROM passage p
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue}

-- name: pending_visible
SELECT COUNT(*) - COUNT(f.passage), COUNT(f.passage) FROM passage p
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue} {where}

-- name: lost_vectors
SELECT COUNT(*) FROM passage p WHERE p.namespace = :namespace AND p.model <> 0 AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = p.model AND v.passage = p.key)

-- name: passages_requeue_lost
UPDATE passage SET model = 0 WHERE namespace = :namespace AND key IN (
  SELECT p.key FROM passage p WHERE p.namespace = :namespace AND p.model <> 0 AND NOT EXISTS (
    SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = p.model AND v.passage = p.key)
  LIMIT :limit)

-- name: queue_new
p.model = :other AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = :model AND v.passage = p.key)

-- name: queue_again
p.again = :model AND p.again <> 0

-- name: failures_retry
DELETE FROM embedding_failure WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM embedding_failure WHERE namespace = :namespace AND model = :model LIMIT :limit)

-- name: attempts
SELECT attempts FROM embedding_failure WHERE namespace = :namespace AND model = :model AND passage = :passage

-- name: tokens_drop
DELETE FROM token_vectors WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model ORDER BY passage LIMIT :limit)

-- name: vectors_drop
DELETE FROM {vectors} WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model ORDER BY passage LIMIT :limit)

-- name: embedded_all
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL, p.chunk, p.key, v.vector
FROM passage p
JOIN {vectors} v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
WHERE p.namespace = :namespace

-- name: tokens_delete
DELETE FROM token_vectors WHERE namespace = :namespace AND model = :model AND passage {any:passages}

-- name: failures_delete
DELETE FROM embedding_failure WHERE namespace = :namespace AND model = :model AND passage {any:passages}

-- name: passages_requeue
UPDATE passage SET again = :model WHERE {ours} key IN (
  SELECT v.passage FROM {vectors} v WHERE v.namespace = :namespace AND v.model = :model AND v.passage > :after
  ORDER BY v.passage LIMIT :limit)
RETURNING key

-- name: passages_cancel_requeue
UPDATE passage SET again = 0 WHERE {ours} key IN (
  SELECT p.key FROM passage p WHERE p.namespace = :namespace AND p.again = :model AND p.again <> 0 LIMIT :limit)

-- name: passages_lease
UPDATE passage SET leased_until = {now} + :lease WHERE {ours} key {any:passages}

-- name: unleased
-- A shared store uses the clock of its server, because the clocks of the replicas may differ.
AND p.leased_until <= {now}
