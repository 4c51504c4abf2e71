-- What happened while services were run. level: adapters/sql/codes.py, graver ones are greater; document: the key of the
-- memory that it tells of, with which it is forgotten.
CREATE TABLE event (
  namespace INTEGER NOT NULL,
  id        TEXT COLLATE "C" NOT NULL,
  at        BIGINT NOT NULL,
  level     SMALLINT NOT NULL,
  text      TEXT COLLATE "C" NOT NULL,
  actor     TEXT COLLATE "C",
  door      SMALLINT NOT NULL,
  service   TEXT COLLATE "C",
  session   TEXT COLLATE "C",
  document  BIGINT,
  PRIMARY KEY (namespace, id)
);
CREATE INDEX event_at ON event (namespace, at, id, level);
CREATE INDEX event_service ON event (namespace, service, at, id, level);
CREATE INDEX event_session ON event (namespace, session, at, id, level);
CREATE INDEX event_document ON event (namespace, document) WHERE document IS NOT NULL;

-- What is not to be done to a service again before its time.
CREATE TABLE cooldown (
  namespace INTEGER NOT NULL,
  service   TEXT COLLATE "C" NOT NULL,
  action    TEXT COLLATE "C" NOT NULL,
  until     BIGINT NOT NULL,
  set_at    BIGINT NOT NULL,
  actor     TEXT COLLATE "C",
  door      SMALLINT NOT NULL,
  session   TEXT COLLATE "C",
  reason    TEXT COLLATE "C",
  count     BIGINT NOT NULL,
  PRIMARY KEY (namespace, service, action)
);
CREATE INDEX cooldown_until ON cooldown (namespace, until);

ALTER TABLE event ENABLE ROW LEVEL SECURITY;
CREATE POLICY event_seen ON event FOR SELECT USING (
  document IS NULL OR EXISTS (SELECT 1 FROM memory m WHERE m.namespace = event.namespace AND m.key = event.document)
);
