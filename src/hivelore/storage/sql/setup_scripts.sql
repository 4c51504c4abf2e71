-- name: setup_script_latest
SELECT {columns:setup_script} FROM setup_script
WHERE namespace = :namespace AND agent = :agent ORDER BY number DESC LIMIT 1

-- name: setup_script_by_number
SELECT {columns:setup_script} FROM setup_script
WHERE namespace = :namespace AND agent = :agent AND number = :number

-- name: setup_scripts_below
SELECT {columns:setup_script} FROM setup_script
WHERE namespace = :namespace AND agent = :agent AND number < :before ORDER BY number DESC LIMIT :limit

-- name: setup_scripts_after
SELECT {columns:setup_script} FROM setup_script
WHERE namespace = :namespace AND (agent, number) > (:agent, :number) ORDER BY agent, number LIMIT :limit

-- name: setup_script_put
INSERT INTO setup_script {insert:setup_script} {update:setup_script}

-- name: setup_scripts_drop
DELETE FROM setup_script WHERE namespace = :namespace AND agent = :agent AND number <= :last

-- name: script_draft
SELECT text FROM script_draft WHERE namespace = :namespace AND proposal = :proposal

-- name: script_draft_put
INSERT INTO script_draft (namespace, proposal, text) VALUES (:namespace, :proposal, :text)
ON CONFLICT (namespace, proposal) DO UPDATE SET text = excluded.text

-- name: script_draft_drop
DELETE FROM script_draft WHERE namespace = :namespace AND proposal = :id
