-- Conversations of agents. state: what is known of one, as adapters/sql/sessions.py writes it.
CREATE TABLE session (
  namespace  INTEGER NOT NULL,
  agent      TEXT NOT NULL,
  id         TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  state      TEXT NOT NULL,
  PRIMARY KEY (namespace, agent, id)
) WITHOUT ROWID;
CREATE INDEX session_updated ON session (namespace, updated_at);
