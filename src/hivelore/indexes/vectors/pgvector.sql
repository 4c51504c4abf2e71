-- The SQL engine on PostgreSQL: pgvector's distance to every vector that passes the filter or, if there are many, to those
-- that its index finds. Placeholders other than {where} are numbers, because a partial index of a namespace and model is
-- used only by a statement with literals. OFFSET 0 prevents the planner from flattening a subquery, so that it is checked
-- for one vector after the other, in the order of the index.

-- name: nearest
WITH scored AS MATERIALIZED (
  SELECT p.document, p.chunk, p.key AS passage, 1.0 - (v.vector <=> :query) AS cosine
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

-- name: indexed
SELECT COALESCE((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:index)), FALSE)

-- name: estimate
EXPLAIN (FORMAT JSON) SELECT 1
FROM memory m
JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
WHERE m.namespace = :namespace {where}

-- name: ends
SELECT MIN(passage), MAX(passage) FROM vectors WHERE namespace = :namespace AND model = :model

-- name: windows
SELECT v.vector
FROM unnest(CAST(:starts AS BIGINT[])) AS s(start)
CROSS JOIN LATERAL (
  SELECT v.vector FROM vectors v
  WHERE v.namespace = :namespace AND v.model = :model AND v.passage >= s.start AND v.passage < s.start + :width
    AND EXISTS (
      SELECT 1 FROM passage p JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
      WHERE p.namespace = :namespace AND p.key = v.passage {where} OFFSET 0)
  OFFSET 0
) v

-- name: settings
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', TRUE), set_config('hnsw.ef_search', :effort, TRUE),
  set_config('hnsw.max_scan_tuples', :most, TRUE), set_config('hnsw.scan_mem_multiplier', :memory, TRUE)

-- name: near
WITH near AS MATERIALIZED (
  SELECT v.passage, v.vector FROM vectors v
  WHERE v.namespace = {namespace} AND v.model = {model} AND EXISTS (
    SELECT 1 FROM passage p JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
    WHERE p.namespace = {namespace} AND p.key = v.passage {where} OFFSET 0)
  ORDER BY v.vector::halfvec({dimension}) <=> CAST(:query AS vector)::halfvec({dimension}) LIMIT {take}
)
SELECT p.document, p.chunk, p.key, 1.0 - (n.vector <=> :query), TRUE
FROM near n
JOIN passage p ON p.namespace = :namespace AND p.key = n.passage
UNION ALL
SELECT p.document, p.chunk, p.key, 1.0 - (v.vector <=> :query), FALSE
FROM memory m
JOIN passage p ON p.namespace = m.namespace AND p.document = m.key
JOIN vectors v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
WHERE m.namespace = :namespace AND m.key = ANY(:also) {where}

-- name: lock
SELECT pg_try_advisory_lock(hashtext('hivelore.vectors'), :namespace ::int)

-- name: indexes
-- Unusable indexes of this namespace: never finished, or of a model without vectors.
SELECT c.relname FROM pg_class c
JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname ~ :names
  AND NOT (i.indisvalid AND EXISTS (
    SELECT 1 FROM vectors v
    WHERE v.namespace = :namespace AND v.model = substring(c.relname FROM '[0-9]+$')::int))

-- name: wanted
-- The partition of the table that contains the vectors of a model, and their number, up to a limit.
SELECT m.key,
  (SELECT v.tableoid::regclass::text FROM vectors v WHERE v.namespace = :namespace AND v.model = m.key LIMIT 1),
  (SELECT COUNT(*) FROM (
    SELECT 1 FROM vectors v WHERE v.namespace = :namespace AND v.model = m.key LIMIT :enough) counted)
FROM model m
JOIN pg_extension e ON e.extname = 'vector' AND string_to_array(e.extversion, '.')::int[] >= ARRAY[0, 8]
WHERE m.namespace = :namespace AND m.fingerprint = :fingerprint

-- name: count
SELECT COUNT(*), (SELECT setting::int FROM pg_settings WHERE name = 'maintenance_work_mem')
FROM vectors WHERE namespace = :namespace AND model = :model

-- name: make
CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON {table}
  USING hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
  WHERE namespace = {namespace} AND model = {model}

-- name: drop
DROP INDEX CONCURRENTLY IF EXISTS {index}

-- name: learn
-- Updates the statistics that tell the planner how much a filter admits.
ANALYZE memory, passage
