-- What was done to memories in one go, to be taken back. private: whether one of them is, or was; undoes: the batch that it
-- took back; undone_: NULL until it was taken back itself.
CREATE TABLE batch (
  namespace INTEGER NOT NULL,
  id        TEXT COLLATE "C" NOT NULL,
  kind      SMALLINT NOT NULL,
  at        BIGINT NOT NULL,
  actor     TEXT COLLATE "C",
  door      SMALLINT NOT NULL,
  reason    TEXT COLLATE "C",
  changes   INTEGER NOT NULL,
  private   SMALLINT NOT NULL,
  undoes    TEXT COLLATE "C",
  undone_at BIGINT,
  undone_by TEXT COLLATE "C",
  PRIMARY KEY (namespace, id)
);
CREATE INDEX batch_at ON batch (namespace, at, id);

-- What memories were before. before: JSON (domain/wire_former.py), NULL where there was none; after: a mark of what it was then;
-- owner: NULL where it was shared before and after.
CREATE TABLE preimage (
  namespace INTEGER NOT NULL,
  batch     TEXT COLLATE "C" NOT NULL,
  document  BIGINT NOT NULL,
  memory    TEXT COLLATE "C" NOT NULL,
  before    TEXT COLLATE "C",
  after     TEXT COLLATE "C" NOT NULL,
  owner     TEXT COLLATE "C",
  PRIMARY KEY (namespace, batch, document)
);
CREATE INDEX preimage_document ON preimage (namespace, document);
CREATE INDEX preimage_memory ON preimage (namespace, memory);

-- Batches with private memories are for those who see the private memories of all.
ALTER TABLE batch ENABLE ROW LEVEL SECURITY;
CREATE POLICY batch_seen ON batch FOR SELECT USING (
  current_setting('hivelore.others', true) = 'on' OR (private = 0 AND current_setting('hivelore.swarm', true) = 'on')
);

ALTER TABLE preimage ENABLE ROW LEVEL SECURITY;
CREATE POLICY preimage_seen ON preimage FOR SELECT USING (
  EXISTS (SELECT 1 FROM batch b WHERE b.namespace = preimage.namespace AND b.id = preimage.batch)
);
