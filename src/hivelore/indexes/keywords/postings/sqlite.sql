-- Statements of the keyword index "postings" for SQLite. "now" returns the positions of a view in the logs.

-- name: now
SELECT
  (SELECT COALESCE(MAX(seq), 0) FROM change),
  (SELECT COALESCE(MAX(slot), 0) FROM terms),
  (SELECT COALESCE(MAX(seq), 0) FROM dropped)

-- name: postings
SELECT p.term, p.segment, p.places, p.counts FROM json_each(:terms) k
CROSS JOIN posting p ON p.namespace = :namespace AND p.term = k.value

-- name: gone
SELECT k.value FROM json_each(:chunks) k WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.key = k.value)

-- name: orphans
SELECT DISTINCT t.document FROM terms t WHERE t.slot IN (
  SELECT o.slot FROM terms o WHERE o.namespace = :namespace AND o.dropped = 0
    AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.key = o.chunk))

-- name: documents
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL
FROM memory m NOT INDEXED WHERE m.namespace = :namespace AND m.key > :after ORDER BY m.key LIMIT :limit

-- name: drop
INSERT INTO dropped (namespace, slot) VALUES (:namespace, :slot) RETURNING seq

-- name: newest
SELECT slot, chunk, document, length, dropped, terms, counts, slot FROM terms
WHERE namespace = :namespace AND slot > :upto ORDER BY slot

-- name: count_newest
SELECT COUNT(*) FROM terms WHERE namespace = :namespace AND slot > :after AND slot <= :settled

-- name: drops
SELECT seq, slot FROM dropped WHERE namespace = :namespace AND seq > :upto ORDER BY seq

-- name: drops_between
SELECT seq, slot FROM dropped WHERE namespace = :namespace AND slot >= :first AND slot <= :last ORDER BY seq

-- name: postings_behind
SELECT term, segment, places, counts FROM posting
WHERE namespace = :namespace AND term > :upto AND segment IN (SELECT value FROM json_each(:segments))
ORDER BY term, segment LIMIT :limit

-- name: terms_behind
SELECT term, segment FROM posting
WHERE namespace = :namespace AND term > :upto AND segment IN (SELECT value FROM json_each(:segments))
ORDER BY term LIMIT :limit

-- name: oldest_of_newest
SELECT slot, chunk, document, length, dropped, slot FROM terms
WHERE namespace = :namespace AND slot > :after AND slot <= :settled ORDER BY slot LIMIT :limit

-- name: count_dropped
SELECT COUNT(*) FROM dropped WHERE namespace = :namespace AND slot >= :first AND slot <= :last

-- name: clear_drops
DELETE FROM dropped WHERE namespace = :namespace AND seq < (SELECT MAX(seq) FROM dropped)

-- name: in_span
SELECT slot, terms, counts FROM terms WHERE namespace = :namespace AND slot >= :first AND slot <= :last ORDER BY slot

-- name: drops_behind_us
SELECT slot FROM dropped WHERE namespace = :namespace AND slot <= :last AND seq < (SELECT MAX(seq) FROM dropped)
ORDER BY seq
