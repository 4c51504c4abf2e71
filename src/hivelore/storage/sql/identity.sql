-- name: agent_by_id
SELECT {columns:agent} FROM agent WHERE namespace = :namespace AND id = :id

-- name: agent_by_name
SELECT {columns:agent} FROM agent WHERE namespace = :namespace AND name = :name

-- name: agents
SELECT {columns:agent} FROM agent WHERE namespace = :namespace ORDER BY name

-- name: agent_put
INSERT INTO agent {insert:agent} {update:agent}

-- name: api_key_by_id
SELECT {columns:api_key} FROM api_key
WHERE namespace = :namespace AND id = :id

-- name: api_keys
SELECT {columns:api_key} FROM api_key
WHERE namespace = :namespace ORDER BY created_at, id

-- name: api_key_put
INSERT INTO api_key {insert:api_key} {update:api_key}

-- name: api_key_revoke
UPDATE api_key SET revoked_at = :at WHERE namespace = :namespace AND id = :id AND revoked_at IS NULL RETURNING id

-- name: audit_insert
INSERT INTO audit {insert:audit}

-- name: audit_import
INSERT INTO audit {import:audit}

-- name: audit_after
SELECT key, {columns:audit} FROM audit
WHERE namespace = :namespace AND key > :after ORDER BY key LIMIT :limit

-- name: audit_newest
SELECT {columns:audit} FROM audit WHERE namespace = :namespace ORDER BY key DESC LIMIT :limit

-- name: audit_of
SELECT {columns:audit} FROM audit
WHERE namespace = :namespace AND memory = :memory ORDER BY key DESC LIMIT :limit

-- name: audit_of_kind
SELECT {columns:audit} FROM audit
WHERE namespace = :namespace AND memory = :memory AND action = :action ORDER BY key DESC LIMIT :limit
