-- Files of agents whose content became a memory. place: the workspace; path: in it; mark: what changes when a file is
-- written; digest: SHA-256 of its content.
CREATE TABLE file (
  namespace  INTEGER NOT NULL,
  place      TEXT COLLATE "C" NOT NULL,
  path       TEXT COLLATE "C" NOT NULL,
  mark       TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,
  memory     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, place, path)
);
