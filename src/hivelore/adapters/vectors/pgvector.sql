-- The store's own engine on PostgreSQL: pgvector's distance to every vector that passes the filter.

-- name: nearest
WITH scored AS MATERIALIZED (
  SELECT p.document, p.chunk, p.key AS passage,
    ROUND((1.0 - (v.vector <=> :query))::numeric, :decimals ::int)::float8 AS cosine
  FROM memory m
  JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
  JOIN vectors v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
  WHERE m.namespace = :namespace {where}
)
SELECT near.*, spread.*
FROM (SELECT COUNT(*), AVG(cosine), AVG(cosine * cosine) FROM scored) spread
CROSS JOIN (
  (SELECT * FROM scored ORDER BY cosine DESC, passage LIMIT :take)
  UNION
  SELECT * FROM scored WHERE document = ANY(:also)
) near
