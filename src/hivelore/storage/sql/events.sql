-- name: event_insert
INSERT INTO event {insert:event} ON CONFLICT (namespace, id) DO NOTHING

-- name: events
SELECT {columns:event e}, m.id
FROM event e LEFT JOIN memory m ON m.namespace = e.namespace AND m.key = e.document
WHERE e.namespace = :namespace {event_filter} ORDER BY e.at DESC, e.id DESC LIMIT :limit

-- name: event_services
-- Skips from each spelling to the next.
WITH RECURSIVE found (service) AS (
  SELECT MIN(e.service) FROM event e WHERE e.namespace = :namespace AND e.service > ''
  UNION ALL
  SELECT (SELECT MIN(e.service) FROM event e WHERE e.namespace = :namespace AND e.service > found.service)
  FROM found WHERE found.service IS NOT NULL)
SELECT service FROM found WHERE service IS NOT NULL

-- name: events_repeated
SELECT {columns:event e}, NULL
FROM event e WHERE e.namespace = :namespace AND e.session = :session AND e.at > :after AND e.at < :before
  AND e.level = :level AND e.text = :text AND e.document IS NULL
ORDER BY CASE WHEN COALESCE(e.service, '') = :service THEN 0 ELSE 1 END, e.at, e.id LIMIT :limit

-- name: event_drop
DELETE FROM event WHERE namespace = :namespace AND id = :id

-- name: events_delete
DELETE FROM event WHERE namespace = :namespace AND document = :document

-- name: event_nth
SELECT at, id FROM event WHERE namespace = :namespace ORDER BY at DESC, id DESC LIMIT 1 OFFSET :newer

-- name: events_prune
DELETE FROM event WHERE namespace = :namespace AND id IN (
  SELECT id FROM event WHERE namespace = :namespace AND at <= :at AND (at, id) < (:at, :id)
  ORDER BY at, id LIMIT :limit)

-- name: events_about
SELECT {columns:event e}, m.id
FROM event e JOIN memory m ON m.namespace = e.namespace AND m.key = e.document
WHERE e.namespace = :namespace AND e.document = :document ORDER BY e.at DESC, e.id DESC

-- name: cooldowns
SELECT {columns:cooldown}
FROM cooldown WHERE namespace = :namespace AND until > :at ORDER BY service, action

-- name: cooldown_put
INSERT INTO cooldown {insert:cooldown} {update:cooldown}

-- name: cooldown_drop
DELETE FROM cooldown WHERE namespace = :namespace AND service = :service AND action = :action

-- name: cooldowns_prune
DELETE FROM cooldown WHERE namespace = :namespace AND (service, action) IN (
  SELECT service, action FROM cooldown WHERE namespace = :namespace AND until <= :at ORDER BY until LIMIT :limit)
