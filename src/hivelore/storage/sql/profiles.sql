-- name: profile_by_agent
SELECT {columns:profile} FROM profile WHERE namespace = :namespace AND agent = :agent

-- name: profiles
SELECT {columns:profile} FROM profile WHERE namespace = :namespace ORDER BY agent

-- name: profile_put
INSERT INTO profile {insert:profile} {update:profile}

-- name: profile_version_by_number
SELECT {columns:profile_version} FROM profile_version
WHERE namespace = :namespace AND agent = :agent AND number = :number

-- name: profile_versions
SELECT {columns:profile_version} FROM profile_version
WHERE namespace = :namespace AND agent = :agent AND number < :before ORDER BY number DESC LIMIT :limit

-- name: profile_version_sizes
SELECT number, size FROM profile_version WHERE namespace = :namespace AND agent = :agent ORDER BY number DESC

-- name: profile_version_put
INSERT INTO profile_version {insert:profile_version} {update:profile_version}

-- name: profile_versions_drop
DELETE FROM profile_version WHERE namespace = :namespace AND agent = :agent AND number <= :last AND number <> :kept

-- name: profile_changes
SELECT {columns:profile_change} FROM profile_change WHERE namespace = :namespace AND batch = :batch ORDER BY agent

-- name: profile_change_put
INSERT INTO profile_change {insert:profile_change} {update:profile_change}

-- name: profile_changes_drop
DELETE FROM profile_change WHERE namespace = :namespace AND batch = :id
