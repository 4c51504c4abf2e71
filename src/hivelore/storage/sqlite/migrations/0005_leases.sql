-- Work that one of several does for a while: leased_until, an instant, of a passage that waits for a vector; by name else.
ALTER TABLE passage ADD COLUMN leased_until INTEGER NOT NULL DEFAULT 0;
CREATE TABLE lease (
  namespace INTEGER NOT NULL,
  name      TEXT NOT NULL,
  holder    TEXT NOT NULL,
  until     INTEGER NOT NULL,
  PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
