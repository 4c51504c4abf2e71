-- name: session
SELECT {columns:session} FROM session WHERE namespace = :namespace AND agent = :agent AND id = :id

-- name: sessions_since
SELECT {columns:session} FROM session WHERE namespace = :namespace AND updated_at >= :since
ORDER BY updated_at DESC, agent, id LIMIT :limit

-- name: session_put
INSERT INTO session {insert:session} {update:session}

-- name: sessions_prune
DELETE FROM session WHERE namespace = :namespace AND (agent, id) IN (
  SELECT agent, id FROM (
    SELECT agent, id, updated_at, rank() OVER (PARTITION BY agent ORDER BY updated_at DESC) AS place
    FROM session WHERE namespace = :namespace) AS placed
  WHERE updated_at < :at OR place > :keep ORDER BY updated_at LIMIT :limit)

-- name: handover_by_id
SELECT {columns:handover}
FROM handover WHERE namespace = :namespace AND id = :id

-- name: handovers_due
SELECT {columns:handover}
FROM handover WHERE namespace = :namespace AND state = :waiting AND not_before <= :now ORDER BY at, id LIMIT :limit

-- name: handovers_after
SELECT {columns:handover}
FROM handover WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit

-- name: handover_counts
SELECT state, COUNT(*) FROM handover WHERE namespace = :namespace GROUP BY state

-- name: handover_put
INSERT INTO handover {insert:handover} {update:handover}

-- name: handovers_prune
DELETE FROM handover WHERE namespace = :namespace AND id IN (
  SELECT id FROM handover WHERE namespace = :namespace AND state IN (:done, :failed) AND not_before < :before LIMIT :limit)
