-- Conversations of agents. state: what is known of one, as adapters/sql/sessions.py writes it.
CREATE TABLE session (
  namespace  INTEGER NOT NULL,
  agent      TEXT COLLATE "C" NOT NULL,
  id         TEXT COLLATE "C" NOT NULL,
  updated_at BIGINT NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, agent, id)
);
CREATE INDEX session_updated ON session (namespace, updated_at);
