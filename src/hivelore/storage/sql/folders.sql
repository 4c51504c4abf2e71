-- name: files_after
SELECT {columns:file} FROM file
WHERE namespace = :namespace AND (place, path) > (:place, :path) ORDER BY place, path LIMIT :limit

-- name: file_put
INSERT INTO file {insert:file} {update:file}

-- name: file_drop
DELETE FROM file WHERE namespace = :namespace AND place = :place AND path = :path
