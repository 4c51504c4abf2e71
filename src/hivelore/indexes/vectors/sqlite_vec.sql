-- The SQL engine on SQLite: functions of sqlite-vec over the vectors that pass the filter. CROSS JOINs keep their order, so
-- the filter is applied first.

-- name: nearest
WITH scored AS MATERIALIZED (
  SELECT p.document, p.chunk, p.key AS passage, ROUND(1.0 - vec_distance_cosine(v.vector, :query), :decimals) AS cosine
  FROM memory m
  CROSS JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
  CROSS JOIN vector v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
  WHERE m.namespace = :namespace {where}
)
SELECT near.*, spread.*
FROM (SELECT COUNT(*), AVG(cosine), AVG(cosine * cosine) FROM scored) spread
CROSS JOIN (
  SELECT * FROM (SELECT * FROM scored ORDER BY cosine DESC, passage LIMIT :take)
  UNION
  SELECT * FROM scored WHERE document IN (SELECT value FROM json_each(:also))
) near
