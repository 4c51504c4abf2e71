-- name: repo_by_id
SELECT {columns:repo} FROM repo WHERE namespace = :namespace AND id = :id

-- name: repo_by_name
SELECT {columns:repo} FROM repo WHERE namespace = :namespace AND name_key = :name_key

-- name: repos
SELECT {repo_columns} FROM repo
WHERE namespace = :namespace AND name_key > :after {repo_filter} ORDER BY name_key LIMIT :limit

-- name: repo_count
SELECT COUNT(*) FROM repo WHERE namespace = :namespace

-- name: repo_ids
SELECT id FROM repo WHERE namespace = :namespace AND id >= :first AND id < :end ORDER BY id LIMIT :limit

-- name: repo_put
INSERT INTO repo {insert:repo} {update:repo}

-- name: repo_drop
DELETE FROM repo WHERE namespace = :namespace AND id = :repo

-- name: repo_reports
SELECT {report_columns} FROM repo_report
WHERE namespace = :namespace AND repo {any:repos} AND owner IN ('', :owner) ORDER BY repo, owner

-- name: repo_reports_after
SELECT {columns:repo_report} FROM repo_report
WHERE namespace = :namespace AND (repo, owner) > (:repo, :owner) ORDER BY repo, owner LIMIT :limit

-- name: repo_report_put
INSERT INTO repo_report {insert:repo_report} {update:repo_report}

-- name: repo_report_drop
DELETE FROM repo_report WHERE namespace = :namespace AND repo = :repo AND owner = :owner

-- name: repo_reports_drop
DELETE FROM repo_report WHERE namespace = :namespace AND repo = :repo

-- name: repo_changes
SELECT {columns:repo_change} FROM repo_change WHERE namespace = :namespace AND batch = :batch ORDER BY repo

-- name: repo_change_put
INSERT INTO repo_change {insert:repo_change} {update:repo_change}

-- name: repo_changes_drop
DELETE FROM repo_change WHERE namespace = :namespace AND batch = :id
