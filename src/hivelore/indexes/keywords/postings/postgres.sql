-- Statements of the keyword index "postings" for PostgreSQL. The snapshot of a view is its position in all logs.

-- name: elsewhere
-- Open transactions of other databases on the same server, which are irrelevant here.
SELECT l.transactionid::text::bigint FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.granted
  AND a.datid <> (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())

-- name: postings
SELECT term, segment, places, counts FROM posting WHERE namespace = :namespace AND term = ANY(:terms)

-- name: gone
SELECT k.key FROM unnest(:chunks ::bigint[]) AS k (key)
WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.namespace = :namespace AND c.key = k.key)

-- name: orphans
SELECT DISTINCT t.document FROM terms t WHERE t.namespace = :namespace AND t.dropped = 0
  AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.namespace = t.namespace AND c.key = t.chunk)

-- name: documents
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL
FROM memory m WHERE m.namespace = :namespace AND m.key > :after ORDER BY m.key LIMIT :limit

-- name: drop
INSERT INTO dropped (namespace, slot, placed)
SELECT namespace, slot, tx FROM terms WHERE namespace = :namespace AND slot = :slot RETURNING tx

-- name: newest
SELECT slot, chunk, document, length, dropped, terms, counts, tx FROM terms
WHERE namespace = :namespace AND (tx > :upto OR tx = ANY(:open)) ORDER BY tx, slot

-- name: count_newest
SELECT COUNT(*) FROM terms WHERE namespace = :namespace AND tx > :after AND tx <= :settled

-- name: oldest_of_newest
-- Returns all rows of a transaction or none.
SELECT slot, chunk, document, length, dropped, tx FROM terms
WHERE namespace = :namespace AND tx > :after AND tx <= COALESCE((
  SELECT tx FROM terms WHERE namespace = :namespace AND tx > :after AND tx <= :settled
  ORDER BY tx OFFSET :limit - 1 LIMIT 1), :settled)
ORDER BY slot

-- name: in_span
SELECT slot, terms, counts FROM terms WHERE namespace = :namespace AND tx >= :first AND tx <= :last ORDER BY slot

-- name: drops
SELECT tx, slot FROM dropped WHERE namespace = :namespace AND (tx > :upto OR tx = ANY(:open))

-- name: drops_between
SELECT tx, slot FROM dropped WHERE namespace = :namespace AND placed >= :first AND placed <= :last

-- name: count_dropped
SELECT COUNT(*) FROM dropped WHERE namespace = :namespace AND placed >= :first AND placed <= :last

-- name: drops_behind_us
SELECT slot FROM dropped WHERE namespace = :namespace AND placed <= :last ORDER BY tx

-- name: postings_behind
SELECT term, segment, places, counts FROM posting
WHERE namespace = :namespace AND term > :upto AND segment = ANY(:segments)
ORDER BY term, segment LIMIT :limit

-- name: terms_behind
SELECT term, segment FROM posting
WHERE namespace = :namespace AND term > :upto AND segment = ANY(:segments)
ORDER BY term LIMIT :limit

-- name: clear_drops
DELETE FROM dropped WHERE namespace = :namespace
