-- name: config_entry_by_id
SELECT {columns:config_entry} FROM config_entry WHERE namespace = :namespace AND id = :id

-- name: config_entry_at
SELECT {columns:config_entry} FROM config_entry
WHERE namespace = :namespace AND scope = :scope AND scope_id = :scope_id AND name = :name

-- name: config_entries
SELECT {columns:config_entry e}, {columns:config_version v}
FROM config_entry e
JOIN config_version v ON v.namespace = e.namespace AND v.entry = e.id AND v.number = e.version
WHERE e.namespace = :namespace {config_filter} ORDER BY e.scope, e.scope_id, e.name LIMIT :limit

-- name: config_entry_count
SELECT count(*) FROM config_entry WHERE namespace = :namespace AND scope = :scope AND scope_id = :scope_id

-- name: config_ids
SELECT e.id FROM config_entry e
WHERE e.namespace = :namespace AND e.version IS NOT NULL {config_filter} ORDER BY e.id LIMIT :limit

-- name: config_entries_in_file
SELECT {columns:config_entry e}, {columns:config_version v}
FROM config_version v
JOIN config_entry e ON e.namespace = v.namespace AND e.id = v.entry AND e.version = v.number
WHERE v.namespace = :namespace AND v.env_path = :path {config_filter} ORDER BY e.id LIMIT :limit

-- name: config_entries_after
SELECT {columns:config_entry} FROM config_entry
WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit

-- name: config_entry_put
INSERT INTO config_entry {insert:config_entry} {update:config_entry}

-- name: config_entry_delete
DELETE FROM config_entry WHERE namespace = :namespace AND id = :entry

-- name: config_entries_deleted
SELECT id FROM config_entry
WHERE namespace = :namespace AND version IS NULL AND updated_at < :before ORDER BY updated_at LIMIT :limit

-- name: config_version_by_number
SELECT {columns:config_version} FROM config_version
WHERE namespace = :namespace AND entry = :entry AND number = :number

-- name: config_versions
SELECT {columns:config_version} FROM config_version
WHERE namespace = :namespace AND entry = :entry ORDER BY number DESC LIMIT :limit

-- name: config_version_put
INSERT INTO config_version {insert:config_version} {update:config_version}

-- name: config_versions_drop
DELETE FROM config_version WHERE namespace = :namespace AND entry = :entry AND number <= :last

-- name: config_versions_delete
DELETE FROM config_version WHERE namespace = :namespace AND entry = :entry

-- name: config_sealed_otherwise
SELECT {columns:config_version} FROM config_version
WHERE namespace = :namespace AND sealed_with <> :key AND (entry, number) > (:entry, :number)
ORDER BY entry, number LIMIT :limit

-- name: config_secrets_erase
UPDATE config_version SET sealed = NULL, sealed_with = NULL
WHERE namespace = :namespace AND (entry, number) IN (
  SELECT entry, number FROM config_version
  WHERE namespace = :namespace AND sealed IS NOT NULL AND replaced_at < :before LIMIT :limit)

-- name: config_changes
SELECT {columns:config_change} FROM config_change WHERE namespace = :namespace AND batch = :batch ORDER BY entry

-- name: config_change_put
INSERT INTO config_change {insert:config_change} {update:config_change}

-- name: config_changes_drop
DELETE FROM config_change WHERE namespace = :namespace AND batch = :id

-- name: config_changes_delete
DELETE FROM config_change WHERE namespace = :namespace AND entry = :entry

-- name: env_lines
SELECT {columns:env_line} FROM env_line
WHERE namespace = :namespace AND workspace = :workspace AND path = :path ORDER BY name LIMIT :limit

-- name: env_lines_due
SELECT {columns:env_line} FROM env_line
WHERE namespace = :namespace AND workspace = :workspace AND written < revision
ORDER BY problem IS NOT NULL, path, name LIMIT :limit

-- name: env_lines_late
SELECT {columns:env_line} FROM env_line
WHERE namespace = :namespace AND written < revision AND (problem IS NOT NULL OR due_at < :before)
  AND (:others = 1 OR (:swarm = 1 AND owner IS NULL) OR owner = :own)
ORDER BY workspace, path, name LIMIT :limit

-- name: env_lines_elsewhere
SELECT {columns:env_line} FROM env_line
WHERE namespace = :namespace AND path = :path AND name = :name AND workspace <> :workspace
ORDER BY workspace LIMIT :limit

-- name: env_lines_after
SELECT {columns:env_line} FROM env_line
WHERE namespace = :namespace AND (workspace, path, name) > (:workspace, :path, :name)
ORDER BY workspace, path, name LIMIT :limit

-- name: env_file_touch
UPDATE env_line SET revision = revision + 1, due_at = CASE WHEN written < revision THEN due_at ELSE :at END
WHERE namespace = :namespace AND path = :path

-- name: env_line_put
INSERT INTO env_line {insert:env_line} {update:env_line}

-- name: env_line_drop
DELETE FROM env_line WHERE namespace = :namespace AND workspace = :workspace AND path = :path AND name = :name
