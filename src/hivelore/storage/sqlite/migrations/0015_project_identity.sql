-- A path or an external id names one memory per shelf and project, not per shelf alone.
DROP INDEX memory_shared_path;
DROP INDEX memory_private_path;
DROP INDEX memory_shared_external;
DROP INDEX memory_private_external;
CREATE UNIQUE INDEX memory_shared_path ON memory (namespace, source_path, COALESCE(project, ''))
  WHERE source_path IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_path ON memory (namespace, owner, source_path, COALESCE(project, ''))
  WHERE source_path IS NOT NULL AND scope = 1;
CREATE UNIQUE INDEX memory_shared_external ON memory (namespace, external_id, COALESCE(project, ''))
  WHERE external_id IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_external ON memory (namespace, owner, external_id, COALESCE(project, ''))
  WHERE external_id IS NOT NULL AND scope = 1;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memory', 'memory_shared_path', '100000 100000 1 1'),
  ('memory', 'memory_private_path', '100000 100000 5000 1 1'),
  ('memory', 'memory_shared_external', '100000 100000 1 1'),
  ('memory', 'memory_private_external', '100000 100000 5000 1 1');
ANALYZE sqlite_schema;
