-- name: lease
INSERT INTO lease (namespace, name, holder, until) VALUES (:namespace, :name, :holder, {now} + :lease)
ON CONFLICT (namespace, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE lease.until <= {now} OR lease.holder = excluded.holder
RETURNING 1

-- name: change_insert
INSERT INTO change (namespace, kind, document) VALUES (:namespace, :kind, :document)

-- name: changes
SELECT seq, kind, document FROM change WHERE namespace = :namespace AND seq > :after ORDER BY seq LIMIT :limit

-- name: facts
SELECT name, value, NULL FROM meta WHERE namespace = :namespace
UNION ALL SELECT fingerprint, NULL, key FROM model WHERE namespace = :namespace

-- name: setting_put
INSERT INTO meta (namespace, name, value) VALUES (:namespace, :name, :value)
ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value

-- name: counts
SELECT
  (SELECT COUNT(*) FROM memory WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM version WHERE namespace = :namespace),
  (SELECT COALESCE(SUM(length(content)), 0) FROM memory WHERE namespace = :namespace),
  (SELECT COALESCE(SUM(length(content)), 0) FROM version WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM observation WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM evidence WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM passage WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM {vectors} WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM token_vectors WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM agent WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM api_key WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM audit WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM recall WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM event WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM cooldown WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM proposal WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM link WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM batch WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM preimage WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM config_entry WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM config_version WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM repo WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM repo_report WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM setup_script WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM script_draft WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM profile WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM profile_version WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM job WHERE namespace = :namespace)
