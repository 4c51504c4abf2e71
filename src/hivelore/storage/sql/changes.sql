-- name: batch_by_id
SELECT {columns:batch}
FROM batch WHERE namespace = :namespace AND id = :id

-- name: batches
SELECT {columns:batch b}
FROM batch b WHERE b.namespace = :namespace {batch_filter} ORDER BY b.at DESC, b.id DESC LIMIT :limit

-- name: batch_put
INSERT INTO batch {insert:batch} {update:batch}

-- name: batch_drop
DELETE FROM batch WHERE namespace = :namespace AND id = :id

-- name: batches_old
SELECT id FROM batch WHERE namespace = :namespace AND at < :before ORDER BY at, id LIMIT :limit

-- name: preimages
SELECT {columns:preimage} FROM preimage WHERE namespace = :namespace AND batch = :batch
ORDER BY document

-- name: preimage_of
SELECT {columns:preimage} FROM preimage
WHERE namespace = :namespace AND batch = :batch AND document = :document

-- name: preimage_last
SELECT {columns:preimage pi}
FROM preimage pi JOIN batch b ON b.namespace = pi.namespace AND b.id = pi.batch
WHERE pi.namespace = :namespace AND pi.memory = :memory AND pi.before IS NOT NULL
ORDER BY b.at DESC, b.id DESC LIMIT 1

-- name: changed_ids
SELECT DISTINCT pi.memory
FROM preimage pi JOIN batch b ON b.namespace = pi.namespace AND b.id = pi.batch
WHERE pi.namespace = :namespace {batch_filter} ORDER BY pi.memory LIMIT :limit

-- name: preimage_put
INSERT INTO preimage {insert:preimage} {update:preimage}

-- name: preimages_drop
DELETE FROM preimage WHERE namespace = :namespace AND batch = :id

-- name: decided_with
WITH RECURSIVE together (document) AS (
    SELECT CAST(:document AS BIGINT)
    UNION
    SELECT other.document FROM together
    JOIN preimage pi ON pi.namespace = :namespace AND pi.document = together.document
    JOIN batch b ON b.namespace = pi.namespace AND b.id = pi.batch AND b.kind IN (:decided, :rejudged)
    JOIN preimage other ON other.namespace = pi.namespace AND other.batch = pi.batch)

-- name: preimages_delete
DELETE FROM preimage WHERE namespace = :namespace AND document IN ({decided_with} SELECT document FROM together)

-- name: batch_reasons_delete
UPDATE batch SET reason = NULL WHERE namespace = :namespace AND reason IS NOT NULL AND id IN ({decided_with}
  SELECT pi.batch FROM preimage pi WHERE pi.namespace = :namespace AND pi.document IN (SELECT document FROM together))
