-- name: link_put
INSERT INTO link {insert:link} {update:link}

-- name: link_drop
DELETE FROM link WHERE namespace = :namespace AND source = :source AND target = :target AND kind = :kind

-- name: links_delete
DELETE FROM link WHERE namespace = :namespace AND (source = :document OR target = :document)

-- name: uncompared
SELECT m.key FROM memory m LEFT JOIN compared c ON c.namespace = m.namespace AND c.document = m.key
WHERE m.namespace = :namespace AND (c.version IS NULL OR c.version <> m.version OR c.model <> :model)
ORDER BY m.key DESC LIMIT :limit

-- name: uncompared_count
SELECT COUNT(*) FROM memory m LEFT JOIN compared c ON c.namespace = m.namespace AND c.document = m.key
WHERE m.namespace = :namespace AND (c.version IS NULL OR c.version <> m.version OR c.model <> :model)

-- name: compared_put
INSERT INTO compared (namespace, document, version, model) VALUES (:namespace, :document, :version, :model)
ON CONFLICT (namespace, document) DO UPDATE SET version = excluded.version, model = excluded.model

-- name: compared_delete
DELETE FROM compared WHERE namespace = :namespace AND document = :document
