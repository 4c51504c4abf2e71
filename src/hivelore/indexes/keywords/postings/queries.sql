-- Statements of the keyword index "postings" for all dialects. The tables terms and dropped are logs. Their position is the
-- slot on SQLite and the transaction id on PostgreSQL.

-- name: searched
SELECT key, first, last FROM segment WHERE namespace = :namespace AND state = 2 ORDER BY key

-- name: put
INSERT INTO terms (namespace, chunk, document, length, terms, counts)
VALUES (:namespace, :chunk, :document, :length, :terms, :counts)
ON CONFLICT (namespace, chunk) WHERE dropped = 0 DO NOTHING RETURNING slot

-- name: of_chunk
SELECT slot, document, length, terms, counts FROM terms WHERE namespace = :namespace AND chunk = :chunk AND dropped = 0

-- name: missing
SELECT DISTINCT c.document FROM chunk c
WHERE c.namespace = :namespace AND c.document > :after AND NOT EXISTS (
  SELECT 1 FROM terms t WHERE t.namespace = c.namespace AND t.chunk = c.key AND t.dropped = 0)
ORDER BY c.document LIMIT :limit

-- name: strays
SELECT t.chunk FROM terms t WHERE t.namespace = :namespace AND t.dropped = 0
  AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.namespace = t.namespace AND c.key = t.chunk) LIMIT :limit

-- name: mark_dropped
UPDATE terms SET dropped = :number WHERE namespace = :namespace AND slot = :slot

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

-- name: term_before
SELECT term FROM posting WHERE namespace = :namespace AND term < :upto AND segment = :segment ORDER BY term DESC LIMIT 1

-- name: to_wipe
SELECT slot, terms FROM terms WHERE namespace = :namespace AND dropped <> 0 ORDER BY dropped LIMIT :limit

-- name: terms_delete
DELETE FROM terms WHERE namespace = :namespace AND slot = :slot

-- name: drop_delete
DELETE FROM dropped WHERE namespace = :namespace AND slot = :slot

-- name: clear_postings
DELETE FROM posting WHERE namespace = :namespace

-- name: clear_segments
DELETE FROM segment WHERE namespace = :namespace

-- name: clear_segment_rows
DELETE FROM segment_rows WHERE namespace = :namespace

-- name: clear_terms
DELETE FROM terms WHERE namespace = :namespace
