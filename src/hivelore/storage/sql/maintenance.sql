-- name: job_by_id
SELECT {columns:job} FROM job WHERE namespace = :namespace AND id = :id

-- name: jobs
SELECT {columns:job} FROM job
WHERE namespace = :namespace ORDER BY created_at DESC, id DESC

-- name: jobs_of_kind
SELECT {columns:job} FROM job
WHERE namespace = :namespace AND kind = :kind ORDER BY created_at DESC, id DESC

-- name: job_put
INSERT INTO job {insert:job} {update:job}
