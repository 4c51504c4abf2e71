-- The keyword index "postings". A view of it is known by the numbers that "now" answers.

-- name: now
SELECT
  (SELECT COALESCE(MAX(seq), 0) FROM change),
  (SELECT COALESCE(MAX(slot), 0) FROM terms),
  (SELECT COALESCE(MAX(seq), 0) FROM dropped),
  (SELECT value FROM meta WHERE namespace = :namespace AND name = 'postings.generation'),
  (SELECT value FROM meta WHERE namespace = :namespace AND name = 'incarnation')

-- name: searched
SELECT key, last FROM segment WHERE namespace = :namespace AND state = 2 ORDER BY key

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
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at
FROM memory m NOT INDEXED WHERE m.namespace = :namespace AND m.key > :after ORDER BY m.key LIMIT :limit

-- name: put
INSERT INTO terms (namespace, chunk, document, length, terms, counts)
VALUES (:namespace, :chunk, :document, :length, :terms, :counts)

-- name: of_chunk
SELECT slot, document, length, terms, counts FROM terms WHERE namespace = :namespace AND chunk = :chunk AND dropped = 0

-- name: drop
INSERT INTO dropped (namespace, slot) VALUES (:namespace, :slot) RETURNING seq

-- name: mark_dropped
UPDATE terms SET dropped = :seq WHERE namespace = :namespace AND slot = :slot

-- name: newest
SELECT slot, chunk, document, length, dropped, terms, counts FROM terms
WHERE namespace = :namespace AND slot > :after AND slot <= :until ORDER BY slot

-- name: count_newest
SELECT COUNT(*) FROM terms WHERE namespace = :namespace AND slot > :after

-- name: drops
SELECT seq, slot FROM dropped WHERE namespace = :namespace AND seq > :after ORDER BY seq

-- name: drops_between
SELECT seq, slot FROM dropped WHERE namespace = :namespace AND slot >= :first AND slot <= :last ORDER BY seq

-- name: segment_rows
SELECT slots, chunks, documents, lengths FROM segment_rows WHERE namespace = :namespace AND segment = :segment

-- name: segments
SELECT key, state, first, last, chunks, sources, upto FROM segment WHERE namespace = :namespace ORDER BY key

-- name: segment_begin
INSERT INTO segment (namespace, state, first, last, chunks, sources)
VALUES (:namespace, 1, :first, :last, :count, :sources) RETURNING key

-- name: segment_rows_put
INSERT INTO segment_rows (namespace, segment, slots, chunks, documents, lengths)
VALUES (:namespace, :segment, :slots, :chunks, :documents, :lengths)

-- name: segment_upto
UPDATE segment SET upto = :upto WHERE namespace = :namespace AND key = :segment

-- name: segment_state
UPDATE segment SET state = :state, upto = '' WHERE namespace = :namespace AND key = :segment

-- name: segment_delete
DELETE FROM segment WHERE namespace = :namespace AND key = :segment

-- name: segment_rows_delete
DELETE FROM segment_rows WHERE namespace = :namespace AND segment = :segment

-- name: posting_put
INSERT INTO posting (namespace, term, segment, places, counts) VALUES (:namespace, :term, :segment, :places, :counts)

-- name: posting_of
SELECT places, counts FROM posting WHERE namespace = :namespace AND term = :term AND segment = :segment

-- name: posting_change
UPDATE posting SET places = :places, counts = :counts
WHERE namespace = :namespace AND term = :term AND segment = :segment

-- name: posting_delete
DELETE FROM posting WHERE namespace = :namespace AND term = :term AND segment = :segment

-- name: postings_behind
SELECT term, segment, places, counts FROM posting
WHERE namespace = :namespace AND term > :upto AND segment IN (SELECT value FROM json_each(:segments))
ORDER BY term, segment LIMIT :limit

-- name: terms_behind
SELECT term, segment FROM posting
WHERE namespace = :namespace AND term > :upto AND segment IN (SELECT value FROM json_each(:segments))
ORDER BY term LIMIT :limit

-- name: term_before
SELECT term FROM posting WHERE namespace = :namespace AND term < :upto AND segment = :segment ORDER BY term DESC LIMIT 1

-- name: to_wipe
SELECT slot, terms FROM terms WHERE namespace = :namespace AND dropped <> 0 ORDER BY dropped LIMIT :limit

-- name: terms_delete
DELETE FROM terms WHERE namespace = :namespace AND slot = :slot

-- name: drop_delete
DELETE FROM dropped WHERE namespace = :namespace AND slot = :slot

-- name: oldest_of_newest
SELECT slot, chunk, document, length, dropped FROM terms
WHERE namespace = :namespace AND slot > :after ORDER BY slot LIMIT :limit

-- name: count_dropped
SELECT COUNT(*) FROM dropped WHERE namespace = :namespace AND slot >= :first AND slot <= :last

-- name: clear_postings
DELETE FROM posting WHERE namespace = :namespace

-- name: clear_segments
DELETE FROM segment WHERE namespace = :namespace

-- name: clear_segment_rows
DELETE FROM segment_rows WHERE namespace = :namespace

-- name: clear_terms
DELETE FROM terms WHERE namespace = :namespace

-- name: clear_drops
DELETE FROM dropped WHERE namespace = :namespace AND seq < (SELECT MAX(seq) FROM dropped)
