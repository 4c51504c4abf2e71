-- Work that one of several does for a while: leased_until, an instant, of a passage that waits for a vector; by name else.
ALTER TABLE passage ADD COLUMN leased_until BIGINT NOT NULL DEFAULT 0;
CREATE TABLE lease (
  namespace INTEGER NOT NULL,
  name      TEXT COLLATE "C" NOT NULL,
  holder    TEXT COLLATE "C" NOT NULL,
  until     BIGINT NOT NULL,
  PRIMARY KEY (namespace, name)
);
