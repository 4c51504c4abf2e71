-- When a memory holds. valid_from NULL: since created_at; valid_until: when another one, which says so in supersedes, took its
-- place. topic: 16 bytes that stand for shelf, project and subject; of those that have the same, one holds at a time.
ALTER TABLE memory ADD COLUMN subject TEXT;
ALTER TABLE memory ADD COLUMN topic BLOB;
ALTER TABLE memory ADD COLUMN valid_from INTEGER;
ALTER TABLE memory ADD COLUMN valid_until INTEGER;
ALTER TABLE memory ADD COLUMN supersedes TEXT;
CREATE INDEX memory_topic ON memory (namespace, topic, COALESCE(valid_from, created_at), key) WHERE topic IS NOT NULL;
CREATE INDEX memory_subject ON memory (namespace, subject) WHERE subject IS NOT NULL;
CREATE INDEX memory_supersedes ON memory (namespace, supersedes) WHERE supersedes IS NOT NULL;

ALTER TABLE version ADD COLUMN subject TEXT;
ALTER TABLE version ADD COLUMN valid_from INTEGER;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memory', 'memory_topic', '100000 100000 4 1 1'),
  ('memory', 'memory_subject', '100000 100000 10'),
  ('memory', 'memory_supersedes', '100000 100000 1');
ANALYZE sqlite_schema;
