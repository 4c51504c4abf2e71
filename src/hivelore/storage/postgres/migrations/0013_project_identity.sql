-- A path or an external id names one memory per shelf and project, not per shelf alone.
DROP INDEX memory_shared_path;
DROP INDEX memory_private_path;
DROP INDEX memory_shared_external;
DROP INDEX memory_private_external;
CREATE UNIQUE INDEX memory_shared_path ON memory (namespace, md5(source_path), md5(COALESCE(project, '')))
  WHERE source_path IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_path ON memory (namespace, owner, md5(source_path), md5(COALESCE(project, '')))
  WHERE source_path IS NOT NULL AND scope = 1;
CREATE UNIQUE INDEX memory_shared_external ON memory (namespace, md5(external_id), md5(COALESCE(project, '')))
  WHERE external_id IS NOT NULL AND scope = 2;
CREATE UNIQUE INDEX memory_private_external ON memory (namespace, owner, md5(external_id), md5(COALESCE(project, '')))
  WHERE external_id IS NOT NULL AND scope = 1;
