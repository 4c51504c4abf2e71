-- Ends of sessions that wait to be distilled and, for a while, those that were: an event is taken once. at: when it ended;
-- said: JSON, as adapters/sql/handovers.py writes it, with nothing that was said once it is distilled.
CREATE TABLE handover (
  namespace  INTEGER NOT NULL,
  id         TEXT NOT NULL,
  at         INTEGER NOT NULL,
  program    TEXT NOT NULL,
  session    TEXT NOT NULL,
  said       TEXT NOT NULL,
  agent      TEXT,
  role       INTEGER NOT NULL,
  door       INTEGER NOT NULL,
  acting     INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  attempts   INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  PRIMARY KEY (namespace, id)
) WITHOUT ROWID;
CREATE INDEX handover_due ON handover (namespace, state, not_before);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('handover', 'handover_due', '10000 10000 5000 1');
ANALYZE sqlite_schema;
