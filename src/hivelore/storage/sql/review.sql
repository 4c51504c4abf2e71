-- name: proposal_by_id
SELECT {columns:proposal}
FROM proposal WHERE namespace = :namespace AND id = :id

-- name: proposals
SELECT {columns:proposal pr}
FROM proposal pr WHERE pr.namespace = :namespace AND NOT EXISTS (
  SELECT 1 FROM concerned co WHERE co.namespace = pr.namespace AND co.proposal = pr.id AND NOT EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = co.namespace AND m.key = co.document {where})) {proposal_filter}
ORDER BY pr.at DESC, pr.id DESC LIMIT :limit

-- name: proposals_about
SELECT {columns:proposal pr}
FROM concerned co JOIN proposal pr ON pr.namespace = co.namespace AND pr.id = co.proposal
WHERE co.namespace = :namespace AND co.document = :document ORDER BY pr.at DESC, pr.id DESC

-- name: contradictions_about
SELECT {columns:proposal pr}
FROM proposal pr WHERE pr.namespace = :namespace AND pr.kind = :kind AND pr.id IN (
  SELECT proposal FROM concerned WHERE namespace = :namespace AND document {any:documents})
ORDER BY pr.at DESC, pr.id DESC

-- name: script_proposals
SELECT {columns:proposal pr}
FROM proposal pr WHERE pr.namespace = :namespace AND pr.script_agent = :agent
ORDER BY pr.at DESC, pr.id DESC LIMIT :limit

-- name: proposals_open_count
SELECT COUNT(*) FROM proposal WHERE namespace = :namespace AND actor = :actor AND how = 0 AND kind {any:kinds}

-- name: proposals_open_count_without_agent
SELECT COUNT(*) FROM proposal WHERE namespace = :namespace AND actor IS NULL AND how = 0 AND kind {any:kinds}

-- name: proposals_open_count_by_owner
SELECT COUNT(*) FROM proposal pr WHERE pr.namespace = :namespace AND pr.how = 0 AND pr.kind = :kind AND (
  SELECT m.owner FROM concerned co JOIN memory m ON m.namespace = :namespace AND m.key = co.document
  WHERE co.namespace = :namespace AND co.proposal = pr.id
  ORDER BY m.updated_at DESC, m.key DESC LIMIT 1) IS NOT DISTINCT FROM :owner

-- name: contradictions_outdated
SELECT {columns:proposal pr}
FROM proposal pr WHERE pr.namespace = :namespace AND pr.how = 0 AND pr.kind = :kind AND EXISTS (
  SELECT 1 FROM concerned co JOIN memory m ON m.namespace = co.namespace AND m.key = co.document
  WHERE co.namespace = pr.namespace AND co.proposal = pr.id AND (m.version <> co.version OR m.valid_until IS NOT NULL))
ORDER BY pr.at, pr.id LIMIT :limit

-- name: proposal_put
INSERT INTO proposal {insert:proposal}

-- name: proposal_drop
DELETE FROM proposal WHERE namespace = :namespace AND id = :id

-- name: proposals_old
SELECT id FROM proposal WHERE namespace = :namespace AND at < :before AND decided_at < :before
ORDER BY at, id LIMIT :limit

-- name: proposals_delete
DELETE FROM proposal WHERE namespace = :namespace
  AND id IN (SELECT proposal FROM concerned WHERE namespace = :namespace AND document = :document)

-- name: concerned_put
INSERT INTO concerned (namespace, proposal, position, document, version)
VALUES (:namespace, :id, :position, :document, :version)

-- name: concerned_drop
DELETE FROM concerned WHERE namespace = :namespace AND proposal = :id

-- name: concerned_delete
DELETE FROM concerned WHERE namespace = :namespace
  AND proposal IN (SELECT proposal FROM concerned WHERE namespace = :namespace AND document = :document)
