-- name: operational_put
INSERT INTO operational {insert:operational} {update:operational}

-- name: services
-- Skips from each spelling to the next.
WITH RECURSIVE found (service) AS (
  SELECT MIN(o.service) FROM operational o WHERE o.namespace = :namespace AND o.service > ''
  UNION ALL
  SELECT (SELECT MIN(o.service) FROM operational o WHERE o.namespace = :namespace AND o.service > found.service)
  FROM found WHERE found.service IS NOT NULL)
SELECT service FROM found WHERE service IS NOT NULL

-- name: confidence_set
UPDATE operational SET confidence = :confidence, confident_at = :confident_at, is_off = :is_off
WHERE namespace = :namespace AND document = :document

-- name: operational_delete
DELETE FROM operational WHERE namespace = :namespace AND document = :document

-- name: observation_insert
INSERT INTO observation (namespace, document, number, at, kind, actor, door, session, text, confidence)
SELECT :namespace, :document, COALESCE(MAX(number), 0) + 1, :at, :kind, :actor, :door, :session, :text,
  CAST(:confidence AS DOUBLE PRECISION)
FROM observation WHERE namespace = :namespace AND document = :document

-- name: observations_delete
DELETE FROM observation WHERE namespace = :namespace AND document = :document

-- name: quotes_erase
UPDATE observation SET text = NULL WHERE namespace = :namespace AND kind = 3 AND text {any:words} RETURNING document
