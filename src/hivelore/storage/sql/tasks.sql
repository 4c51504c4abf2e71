-- name: lease_time
SELECT {now}

-- name: task_by_id
SELECT {columns:task} FROM task WHERE namespace = :namespace AND id = :id

-- name: task_by_client_id
SELECT {columns:task} FROM task WHERE namespace = :namespace AND creator_key = :creator AND client_id = :client_id

-- name: task_by_session
SELECT {columns:task ta} FROM task_session ts
JOIN task ta ON ta.namespace = ts.namespace AND ta.id = ts.task
WHERE ts.namespace = :namespace AND ts.session = :session AND ts.agent = :agent ORDER BY ts.at DESC, ts.task DESC LIMIT 1

-- name: task_list
SELECT {task_summary} FROM task ta
WHERE ta.namespace = :namespace AND ta.state = :state {task_filter}
ORDER BY ta.created_at DESC, ta.id DESC LIMIT :limit

-- name: tasks_failed
SELECT {task_summary} FROM task ta
WHERE ta.namespace = :namespace AND ta.state = 6 AND ta.finished_at > :since
ORDER BY ta.finished_at DESC, ta.id DESC LIMIT :limit

-- name: tasks_after
SELECT {columns:task} FROM task WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit

-- name: task_ids
SELECT ta.id FROM task ta WHERE ta.namespace = :namespace {task_filter} ORDER BY ta.id LIMIT :limit

-- name: task_count
SELECT COUNT(*) FROM (
  SELECT 1 FROM task WHERE namespace = :namespace AND creator_key = :creator AND state < 5 LIMIT :most) counted

-- name: task_held
SELECT COUNT(*) FROM (SELECT 1 FROM task
  WHERE namespace = :namespace AND lease_agent = :agent AND state = 3 AND lease_until > {now} LIMIT :most) counted

-- name: tasks_counts
SELECT state, COUNT(*) FROM task WHERE namespace = :namespace AND state < 5 GROUP BY state

-- name: task_candidates
-- The first tasks of each queue, and those whose lease ended first. Concurrent claims skip each other's rows.
SELECT id FROM (SELECT id FROM task WHERE namespace = :namespace AND queue = :own AND state = 1
  ORDER BY priority DESC, created_at, id LIMIT {claims_at_once}) own
UNION ALL SELECT id FROM (SELECT id FROM task WHERE namespace = :namespace AND queue = :pool AND state = 1
  ORDER BY priority DESC, created_at, id LIMIT {claims_at_once}) pool
UNION ALL SELECT id FROM (SELECT id FROM task WHERE namespace = :namespace AND queue = :own_of_workers AND state = 1
  ORDER BY priority DESC, created_at, id LIMIT {claims_at_once}) own_of_workers
UNION ALL SELECT id FROM (SELECT id FROM task WHERE namespace = :namespace AND queue = :pool_of_workers AND state = 1
  ORDER BY priority DESC, created_at, id LIMIT {claims_at_once}) pool_of_workers
UNION ALL SELECT id FROM (SELECT id FROM task WHERE namespace = :namespace AND state = 3 AND lease_until <= {now}
  AND failures + 1 < max_attempts AND queue IN (:own, :pool, :own_of_workers, :pool_of_workers)
  ORDER BY lease_until LIMIT 64) ended

-- name: task_claimable
SELECT id FROM ({task_candidates}) tc LIMIT 1

-- name: task_claim
UPDATE task SET failures = failures + CASE WHEN state = 3 THEN 1 ELSE 0 END, state = 3, attempt = attempt + 1,
  lease_token = :token, lease_agent = :agent, lease_runner = :runner, lease_until = {now} + :length,
  version = version + 1, updated_at = {now}
WHERE namespace = :namespace AND id = (
  SELECT ta.id FROM task ta WHERE ta.namespace = :namespace AND ta.id IN (SELECT tc.id FROM ({task_candidates}) tc)
  ORDER BY ta.priority DESC, ta.created_at, ta.id LIMIT 1 {skip_locked})
RETURNING {columns:task}

-- name: task_next_end
SELECT MIN(lease_until) FROM task
WHERE namespace = :namespace AND state = 3 AND lease_until > {now}
  AND queue IN (:own, :pool, :own_of_workers, :pool_of_workers)

-- name: tasks_exhausted
SELECT id FROM task
WHERE namespace = :namespace AND state = 3 AND lease_until <= {now} AND failures + 1 >= max_attempts
ORDER BY lease_until, id LIMIT :limit

-- name: task_renew
UPDATE task SET lease_until = {greatest}(lease_until, {now} + :length)
WHERE namespace = :namespace AND id = :id AND state = 3 AND lease_token = :token

-- name: task_leases_extend
UPDATE task SET lease_until = {now} + :length
WHERE namespace = :namespace AND state = 3 AND lease_until < {now} + :length

-- name: task_unmet
SELECT td.depends_on FROM task_dependency td
JOIN task ta ON ta.namespace = td.namespace AND ta.id = td.depends_on
WHERE td.namespace = :namespace AND td.task = :id AND ta.state <> 5 ORDER BY td.depends_on LIMIT :limit

-- name: tasks_waiting
SELECT td.task FROM task_dependency td
JOIN task ta ON ta.namespace = td.namespace AND ta.id = td.task
WHERE td.namespace = :namespace AND td.depends_on = :id AND ta.state = 2 AND td.task > :after ORDER BY td.task LIMIT :limit

-- name: task_needed
SELECT 1 FROM task_dependency td
JOIN task ta ON ta.namespace = td.namespace AND ta.id = td.task
WHERE td.namespace = :namespace AND td.depends_on = :id AND ta.state <> 5 LIMIT 1

-- name: task_open
UPDATE task SET state = 1, version = version + 1, updated_at = :at
WHERE namespace = :namespace AND id = :id AND state = 2 AND NOT EXISTS (
  SELECT 1 FROM task_dependency td JOIN task o ON o.namespace = td.namespace AND o.id = td.depends_on
  WHERE td.namespace = :namespace AND td.task = :id AND o.state <> 5)

-- name: task_add
INSERT INTO task {insert:task}

-- name: task_change
UPDATE task SET {set:task} WHERE namespace = :namespace AND id = :id

-- name: task_dependencies_delete
DELETE FROM task_dependency WHERE namespace = :namespace AND task = :id

-- name: task_dependency_put
INSERT INTO task_dependency (namespace, task, depends_on) VALUES (:namespace, :task, :depends_on)

-- name: task_progress
SELECT {columns:task_progress} FROM task_progress WHERE namespace = :namespace AND task = :id ORDER BY number

-- name: task_progress_put
INSERT INTO task_progress {insert:task_progress} {update:task_progress}

-- name: task_progress_trim
DELETE FROM task_progress WHERE namespace = :namespace AND task = :task AND kind = :kind AND number <= (
  SELECT number FROM task_progress WHERE namespace = :namespace AND task = :task AND kind = :kind
  ORDER BY number DESC LIMIT 1 OFFSET :keep)

-- name: task_progress_delete
DELETE FROM task_progress WHERE namespace = :namespace AND task = :id

-- name: task_sessions
SELECT {columns:task_session} FROM task_session WHERE namespace = :namespace AND task = :id ORDER BY number

-- name: task_session_put
INSERT INTO task_session {insert:task_session} {update:task_session}

-- name: task_session_trim
DELETE FROM task_session WHERE namespace = :namespace AND task = :task AND number <= :last

-- name: task_sessions_delete
DELETE FROM task_session WHERE namespace = :namespace AND task = :id

-- name: task_attempts
SELECT {columns:task_attempt} FROM task_attempt WHERE namespace = :namespace AND task = :id ORDER BY number

-- name: task_attempt_put
INSERT INTO task_attempt {insert:task_attempt} {update:task_attempt}

-- name: task_attempt_trim
DELETE FROM task_attempt WHERE namespace = :namespace AND task = :task AND number <= :last

-- name: task_attempts_delete
DELETE FROM task_attempt WHERE namespace = :namespace AND task = :id

-- name: task_changes
SELECT {columns:task_change} FROM task_change WHERE namespace = :namespace AND batch = :batch ORDER BY task

-- name: task_change_put
INSERT INTO task_change {insert:task_change} {update:task_change}

-- name: task_changes_drop
DELETE FROM task_change WHERE namespace = :namespace AND batch = :id

-- name: task_changes_delete
DELETE FROM task_change WHERE namespace = :namespace AND task = :id

-- name: task_costs
SELECT {columns:task_cost tc} FROM task_cost tc
WHERE tc.namespace = :namespace AND tc.task = :id {cost_filter} ORDER BY tc.attempt, tc.session, tc.day

-- name: task_cost_put
INSERT INTO task_cost {insert:task_cost} {update:task_cost}

-- name: task_costs_name
UPDATE task_cost SET session = :session
WHERE namespace = :namespace AND task = :id AND attempt = :attempt AND session = ''

-- name: task_costs_delete
DELETE FROM task_cost WHERE namespace = :namespace AND task = :id

-- name: cost_of_tasks
SELECT tc.task, {cost_sums} FROM task_cost tc
WHERE tc.namespace = :namespace AND tc.task {any:tasks} {cost_filter} GROUP BY tc.task ORDER BY tc.task

-- name: cost_sum
SELECT {cost_sums} FROM task_cost tc
WHERE tc.namespace = :namespace AND tc.day >= :first AND tc.day <= :last {cost_filter}

-- name: cost_groups
SELECT tc.{cost_key}, {cost_sums} FROM task_cost tc
WHERE tc.namespace = :namespace AND tc.day >= :first AND tc.day <= :last {cost_filter}
GROUP BY tc.{cost_key} ORDER BY {cost_order} LIMIT :limit

-- name: task_delete
DELETE FROM task WHERE namespace = :namespace AND id = :id

-- name: tasks_old
SELECT ta.id FROM task ta
WHERE ta.namespace = :namespace AND ta.finished_at < :before AND NOT EXISTS (
  SELECT 1 FROM task_dependency td JOIN task o ON o.namespace = td.namespace AND o.id = td.task
  WHERE td.namespace = ta.namespace AND td.depends_on = ta.id AND o.state <> 5)
ORDER BY ta.finished_at, ta.id LIMIT :limit
