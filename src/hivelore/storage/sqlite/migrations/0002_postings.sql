-- The keyword index "postings": terms of every chunk, gathered into segments of postings.

-- One row for each time a chunk was indexed: its different terms, joined by spaces, and in counts one byte for each, how
-- often it occurs, in halves (one for the context, two for the others). length is in terms, as FTS5 counts it.
-- dropped: the number in the table of that name once the chunk was indexed anew or removed, 0 before.
CREATE TABLE terms (
  slot      INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  chunk     INTEGER NOT NULL,
  document  INTEGER NOT NULL,
  length    INTEGER NOT NULL,
  dropped   INTEGER NOT NULL DEFAULT 0,
  terms     TEXT NOT NULL,
  counts    BLOB NOT NULL
);
CREATE UNIQUE INDEX terms_chunk ON terms (namespace, chunk) WHERE dropped = 0;
CREATE INDEX terms_dropped ON terms (namespace, dropped) WHERE dropped <> 0;

CREATE TABLE dropped (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  slot      INTEGER NOT NULL
);
CREATE INDEX dropped_slot ON dropped (namespace, slot);

-- state: 1 being filled, 2 searched, 3 being emptied. upto: the last term that is done with where it is filled or emptied.
-- sources: a JSON array of the segments it is merged from; empty where it is made from rows of terms.
CREATE TABLE segment (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace INTEGER NOT NULL,
  state     INTEGER NOT NULL,
  first     INTEGER NOT NULL,
  last      INTEGER NOT NULL,
  chunks    INTEGER NOT NULL,
  sources   TEXT NOT NULL,
  upto      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX segment_state ON segment (namespace, state);

-- The chunks of a segment, ascending by slot, column by column: int64 slots, chunks and documents, int32 lengths.
CREATE TABLE segment_rows (
  namespace INTEGER NOT NULL,
  segment   INTEGER NOT NULL,
  slots     BLOB NOT NULL,
  chunks    BLOB NOT NULL,
  documents BLOB NOT NULL,
  lengths   BLOB NOT NULL,
  PRIMARY KEY (namespace, segment)
);

-- Which chunks of a segment have a term: uint32 places among its rows, ascending, and a byte for each as in terms. What
-- is wiped stays as another one's place with a count of 0: a row of the same size is changed in place. With rowids, for
-- SQLite compares whole rows, overflow pages and all, to find one in a table without.
CREATE TABLE posting (
  namespace INTEGER NOT NULL,
  term      TEXT NOT NULL,
  segment   INTEGER NOT NULL,
  places    BLOB NOT NULL,
  counts    BLOB NOT NULL
);
CREATE UNIQUE INDEX posting_term ON posting (namespace, term, segment);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('terms', 'terms_chunk', '1000000 1000000 1'),
  ('terms', 'terms_dropped', '10000 10000 1'),
  ('dropped', 'dropped_slot', '10000 10000 1'),
  ('segment', 'segment_state', '20 20 5'),
  ('posting', 'posting_term', '5000000 5000000 8 1');
ANALYZE sqlite_schema;
