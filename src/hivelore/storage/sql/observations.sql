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

-- name: verdicts
SELECT pair, {columns:verdict} FROM verdict WHERE namespace = :namespace AND model = :model AND pair {any:pairs}

-- name: verdict_put
INSERT INTO verdict {insert:verdict} {update:verdict}

-- name: verdicts_of_older_delete
DELETE FROM verdict WHERE namespace = :namespace AND older {any:texts}

-- name: verdicts_of_newer_delete
DELETE FROM verdict WHERE namespace = :namespace AND newer {any:texts}

-- name: verdicts_of_others_delete
DELETE FROM verdict WHERE namespace = :namespace AND model <> :model

-- name: observation_counts
SELECT document, COUNT(*) FROM observation WHERE namespace = :namespace AND document {any:documents} GROUP BY document

-- name: unjudged
SELECT MAX(o.document) FROM operational o JOIN memory m ON m.namespace = o.namespace AND m.key = o.document
LEFT JOIN judged j ON j.namespace = o.namespace AND j.document = o.document
WHERE o.namespace = :namespace AND (j.model IS NULL OR j.model <> :model)
GROUP BY o.service, m.category ORDER BY 1 DESC

-- name: judged_kept
SELECT document FROM judged WHERE namespace = :namespace AND is_kept = 1 AND document {any:documents}

-- name: judged_put
INSERT INTO judged (namespace, document, model, is_kept)
SELECT namespace, key, :model, 0 FROM memory WHERE namespace = :namespace AND key = :document
ON CONFLICT (namespace, document) DO UPDATE SET model = excluded.model

-- name: judged_keep
INSERT INTO judged (namespace, document, model, is_kept)
SELECT namespace, key, NULL, 1 FROM memory WHERE namespace = :namespace AND key = :document
ON CONFLICT (namespace, document) DO UPDATE SET is_kept = 1

-- name: judged_delete
DELETE FROM judged WHERE namespace = :namespace AND document = :document
