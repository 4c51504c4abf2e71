-- Files of agents whose content became a memory. place: the workspace; path: in it; mark: what changes when a file is
-- written; digest: SHA-256 of its content.
CREATE TABLE file (
  namespace  INTEGER NOT NULL,
  place      TEXT NOT NULL,
  path       TEXT NOT NULL,
  mark       TEXT NOT NULL,
  digest     TEXT NOT NULL,
  memory     TEXT NOT NULL,
  PRIMARY KEY (namespace, place, path)
) WITHOUT ROWID;
