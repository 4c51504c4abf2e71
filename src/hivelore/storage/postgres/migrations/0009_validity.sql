-- When a memory holds. valid_from NULL: since created_at; valid_until: when another one, which says so in supersedes, took its
-- place. topic: 16 bytes that stand for shelf, project and subject; of those that have the same, one holds at a time.
ALTER TABLE memory ADD COLUMN subject TEXT COLLATE "C";
ALTER TABLE memory ADD COLUMN topic BYTEA;
ALTER TABLE memory ADD COLUMN valid_from BIGINT;
ALTER TABLE memory ADD COLUMN valid_until BIGINT;
ALTER TABLE memory ADD COLUMN supersedes TEXT COLLATE "C";
CREATE INDEX memory_topic ON memory (namespace, topic, (COALESCE(valid_from, created_at)), key) WHERE topic IS NOT NULL;
CREATE INDEX memory_subject ON memory (namespace, subject) WHERE subject IS NOT NULL;
CREATE INDEX memory_supersedes ON memory (namespace, md5(supersedes)) WHERE supersedes IS NOT NULL;

ALTER TABLE version ADD COLUMN subject TEXT COLLATE "C";
ALTER TABLE version ADD COLUMN valid_from BIGINT;
