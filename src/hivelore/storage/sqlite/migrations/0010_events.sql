-- What happened while services were run. level: adapters/sql/codes.py, graver ones are greater; document: the key of the
-- memory that it tells of, with which it is forgotten. The table has a rowid: what is not grave enough by an index is then
-- not looked up in it.
CREATE TABLE event (
  namespace INTEGER NOT NULL,
  id        TEXT NOT NULL,
  at        INTEGER NOT NULL,
  level     INTEGER NOT NULL,
  text      TEXT NOT NULL,
  actor     TEXT,
  door      INTEGER NOT NULL,
  service   TEXT,
  session   TEXT,
  document  INTEGER,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX event_at ON event (namespace, at, id, level);
CREATE INDEX event_service ON event (namespace, service, at, id, level);
CREATE INDEX event_session ON event (namespace, session, at, id, level);
CREATE INDEX event_document ON event (namespace, document) WHERE document IS NOT NULL;

-- What is not to be done to a service again before its time.
CREATE TABLE cooldown (
  namespace INTEGER NOT NULL,
  service   TEXT NOT NULL,
  action    TEXT NOT NULL,
  until     INTEGER NOT NULL,
  set_at    INTEGER NOT NULL,
  actor     TEXT,
  door      INTEGER NOT NULL,
  session   TEXT,
  reason    TEXT,
  count     INTEGER NOT NULL,
  PRIMARY KEY (namespace, service, action)
) WITHOUT ROWID;
CREATE INDEX cooldown_until ON cooldown (namespace, until);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('event', 'sqlite_autoindex_event_1', '100000 100000 1'),
  ('event', 'event_at', '100000 100000 1 1 1'),
  ('event', 'event_service', '100000 100000 2000 1 1 1'),
  ('event', 'event_session', '100000 100000 100 1 1 1'),
  ('event', 'event_document', '10000 10000 1'),
  ('cooldown', 'cooldown', '1000 1000 10 1'),
  ('cooldown', 'cooldown_until', '1000 1000 1');
ANALYZE sqlite_schema;
