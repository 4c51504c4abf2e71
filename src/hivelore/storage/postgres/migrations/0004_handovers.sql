-- Ends of sessions that wait to be distilled and, for a while, those that were: an event is taken once. at: when it ended;
-- said: JSON, as adapters/sql/handovers.py writes it, with nothing that was said once it is distilled.
CREATE TABLE handover (
  namespace  INTEGER NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  at         BIGINT NOT NULL,
  program    TEXT COLLATE "C" NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  said       TEXT COLLATE "C" NOT NULL,
  agent      TEXT COLLATE "C",
  role       SMALLINT NOT NULL,
  door       SMALLINT NOT NULL,
  acting     SMALLINT NOT NULL,
  state      SMALLINT NOT NULL,
  attempts   BIGINT NOT NULL,
  not_before BIGINT NOT NULL,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX handover_due ON handover (namespace, state, not_before);
