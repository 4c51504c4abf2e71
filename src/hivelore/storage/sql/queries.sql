-- Statements shared by all dialects. {where} is a condition of filters.py. {vectors} is the table of vectors; on PostgreSQL
-- it cannot be called "vector", because pgvector has a type of that name. {given} allows an insert with an explicit key.
-- {operational} joins the confidence of operational memories.

-- name: memory_by_id
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.id = :id

-- name: memory_by_key
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.key = :key

-- name: memory_at_shared_path
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 2 AND m.source_path = :path
ORDER BY m.key

-- name: memory_at_private_path
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.owner = :home AND m.scope = 1 AND m.source_path = :path
ORDER BY m.key

-- name: memory_with_shared_external
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.scope = 2 AND m.external_id = :external_id
ORDER BY m.key

-- name: memory_with_private_external
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.owner = :home AND m.scope = 1 AND m.external_id = :external_id
ORDER BY m.key

-- name: memory_with_statement
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.statement = :statement
  AND m.scope = :scope AND m.project IS NOT DISTINCT FROM :project AND m.session IS NOT DISTINCT FROM :session
ORDER BY m.created_at DESC, m.id DESC LIMIT 1

-- name: fact_last
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.topic = :topic
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_until
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) <= :at
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_before
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) <= :at
  AND (COALESCE(m.valid_from, m.created_at), m.key) < (:at, :key)
ORDER BY COALESCE(m.valid_from, m.created_at) DESC, m.key DESC LIMIT 1

-- name: fact_after
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.topic = :topic AND COALESCE(m.valid_from, m.created_at) >= :at
  AND (COALESCE(m.valid_from, m.created_at), m.key) > (:at, :key)
ORDER BY COALESCE(m.valid_from, m.created_at), m.key LIMIT 1

-- name: superseding
SELECT {memory} FROM memory m {operational} WHERE m.namespace = :namespace AND m.supersedes = :memory ORDER BY m.key

-- name: memory_page
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace {where}
ORDER BY m.created_at DESC, m.id DESC LIMIT :limit

-- name: memory_keys
SELECT m.key FROM memory m WHERE m.namespace = :namespace {where}

-- name: memory_before
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.session = :session AND m.owner IS :owner AND m.scope = :scope AND m.key < :key
ORDER BY m.key DESC LIMIT :limit

-- name: memory_after
SELECT {memory} FROM memory m {operational}
WHERE m.namespace = :namespace AND m.session = :session AND m.owner IS :owner AND m.scope = :scope AND m.key > :key
ORDER BY m.key LIMIT :limit

-- name: memory_counts
SELECT m.source, m.scope, COUNT(*), SUM(CASE WHEN m.expires_at <= :now THEN 1 ELSE 0 END)
FROM memory m WHERE m.namespace = :namespace {where}
GROUP BY m.source, m.scope

-- name: memory_insert
INSERT INTO memory (namespace, id, owner, scope, source, name, content, summary, category, tags, project, session, author,
  source_task_id, source_path, external_id, metadata, created_at, updated_at, expires_at, accessed_at, access_count,
  version, action, actor, door, trust, reason, statement, subject, topic, valid_from, valid_until, supersedes)
VALUES (:namespace, :id, :owner, :scope, :source, :name, :content, :summary, :category, :tags, :project, :session, :author,
  :source_task_id, :source_path, :external_id, :metadata, :created_at, :updated_at, :expires_at, :accessed_at, :access_count,
  :version, :action, :actor, :door, :trust, :reason, :statement, :subject, :topic, :valid_from, :valid_until, :supersedes)
RETURNING key

-- name: memory_move_in
INSERT INTO memory (namespace, key, id, owner, scope, source, name, content, summary, category, tags, project, session, author,
  source_task_id, source_path, external_id, metadata, created_at, updated_at, expires_at, accessed_at, access_count,
  version, action, actor, door, trust, reason, statement, subject, topic, valid_from, valid_until, supersedes)
{given} VALUES (:namespace, :key, :id, :owner, :scope, :source, :name, :content, :summary, :category, :tags, :project,
  :session, :author, :source_task_id, :source_path, :external_id, :metadata, :created_at, :updated_at, :expires_at,
  :accessed_at, :access_count, :version, :action, :actor, :door, :trust, :reason, :statement, :subject, :topic, :valid_from,
  :valid_until, :supersedes)

-- name: memory_update
UPDATE memory SET owner = :owner, scope = :scope, source = :source, name = :name, content = :content, summary = :summary,
  category = :category, tags = :tags, project = :project, session = :session, author = :author,
  source_task_id = :source_task_id, source_path = :source_path, external_id = :external_id, metadata = :metadata,
  created_at = :created_at, updated_at = :updated_at, expires_at = :expires_at, version = :version, action = :action,
  actor = :actor, door = :door, trust = :trust, reason = :reason, statement = :statement, subject = :subject, topic = :topic,
  valid_from = :valid_from, valid_until = :valid_until, supersedes = :supersedes
WHERE namespace = :namespace AND key = :key

-- name: memory_touch
UPDATE memory SET access_count = access_count + :count, accessed_at = MAX(COALESCE(accessed_at, :at), :at)
WHERE namespace = :namespace AND key = :key

-- name: memory_renew
UPDATE memory SET expires_at = :expires_at WHERE namespace = :namespace AND key = :key

-- name: memory_link
UPDATE memory SET valid_until = :valid_until, supersedes = :supersedes WHERE namespace = :namespace AND key = :key

-- name: memory_delete
DELETE FROM memory WHERE namespace = :namespace AND key = :key

-- name: memory_exists
SELECT 1 FROM memory WHERE namespace = :namespace AND key = :key

-- name: tag_insert
INSERT INTO memory_tag (namespace, tag, document) VALUES (:namespace, :tag, :document) ON CONFLICT DO NOTHING

-- name: tag_seen
SELECT COUNT(*) FROM (SELECT 1 FROM memory_tag WHERE namespace = :namespace AND tag = :tag LIMIT :limit) AS seen

-- name: tags_delete
DELETE FROM memory_tag WHERE namespace = :namespace AND document = :document

-- name: version_keep
INSERT INTO version (namespace, document, number, at, action, actor, door, reason, scope, name, content, summary, category,
  tags, project, expires_at, subject, valid_from)
SELECT namespace, key, version, updated_at, action, actor, door, reason, scope, name, content, summary, category, tags,
  project, expires_at, subject, valid_from
FROM memory WHERE namespace = :namespace AND key = :key

-- name: versions
SELECT number, at, action, actor, door, reason, scope, name, content, summary, category, tags, project, expires_at, subject,
  valid_from
FROM version WHERE namespace = :namespace AND document = :document
UNION ALL
SELECT version, updated_at, action, actor, door, reason, scope, name, content, summary, category, tags, project, expires_at,
  subject, valid_from
FROM memory WHERE namespace = :namespace AND key = :document
ORDER BY 1

-- name: version_move_in
INSERT INTO version (namespace, document, number, at, action, actor, door, reason, scope, name, content, summary, category,
  tags, project, expires_at, subject, valid_from)
VALUES (:namespace, :document, :number, :at, :action, :actor, :door, :reason, :scope, :name, :content, :summary, :category,
  :tags, :project, :expires_at, :subject, :valid_from)

-- name: versions_delete
DELETE FROM version WHERE namespace = :namespace AND document = :document

-- name: operational_put
INSERT INTO operational (namespace, document, service, tier, persistent, confidence, confident_at, is_off)
VALUES (:namespace, :document, :service, :tier, :persistent, :confidence, :confident_at, :is_off)
ON CONFLICT (namespace, document) DO UPDATE SET service = excluded.service, tier = excluded.tier,
  persistent = excluded.persistent, confidence = excluded.confidence, confident_at = excluded.confident_at,
  is_off = excluded.is_off

-- name: operational_hold
UPDATE operational SET confidence = :confidence, confident_at = :confident_at, is_off = :is_off
WHERE namespace = :namespace AND document = :document

-- name: operational_delete
DELETE FROM operational WHERE namespace = :namespace AND document = :document

-- name: observation_insert
INSERT INTO observation (namespace, document, number, at, kind, actor, door, session, text, confidence)
SELECT :namespace, :document, COALESCE(MAX(number), 0) + 1, :at, :kind, :actor, :door, :session, :text,
  CAST(:confidence AS DOUBLE PRECISION)
FROM observation WHERE namespace = :namespace AND document = :document

-- name: observations_delete
DELETE FROM observation WHERE namespace = :namespace AND document = :document

-- name: evidence_put
INSERT INTO evidence (namespace, document, agent, session, aspect, sign, at, recall)
VALUES (:namespace, :document, :agent, :session, :aspect, :sign, :at, :recall)
ON CONFLICT (namespace, document, agent, session, aspect) DO UPDATE SET sign = excluded.sign, at = excluded.at,
  recall = excluded.recall

-- name: evidence_drop
DELETE FROM evidence
WHERE namespace = :namespace AND document = :document AND agent = :agent AND session = :session AND aspect = :aspect

-- name: evidence_delete
DELETE FROM evidence WHERE namespace = :namespace AND document = :document

-- name: usefulness_put
INSERT INTO usefulness (namespace, document, unused, repeated, opened, cited, applied, useless, useful, failed, succeeded)
VALUES (:namespace, :document, :unused, :repeated, :opened, :cited, :applied, :useless, :useful, :failed, :succeeded)
ON CONFLICT (namespace, document) DO UPDATE SET unused = excluded.unused, repeated = excluded.repeated,
  opened = excluded.opened, cited = excluded.cited, applied = excluded.applied, useless = excluded.useless,
  useful = excluded.useful, failed = excluded.failed, succeeded = excluded.succeeded

-- name: usefulness_delete
DELETE FROM usefulness WHERE namespace = :namespace AND document = :document

-- name: chunk_insert
INSERT INTO chunk (namespace, document, position, start, stop, headings)
VALUES (:namespace, :document, :position, :start, :stop, :headings) RETURNING key

-- name: chunk_move_in
INSERT INTO chunk (namespace, key, document, position, start, stop, headings)
{given} VALUES (:namespace, :key, :document, :position, :start, :stop, :headings)

-- name: chunk_move
UPDATE chunk SET position = :position, start = :start, stop = :stop WHERE namespace = :namespace AND key = :key

-- name: chunk_delete
DELETE FROM chunk WHERE namespace = :namespace AND key = :key

-- name: chunks_delete
DELETE FROM chunk WHERE namespace = :namespace AND document = :document

-- name: passage_insert
INSERT INTO passage (namespace, document, chunk, position, start, stop)
VALUES (:namespace, :document, :chunk, :position, :start, :stop)

-- name: passage_move_in
INSERT INTO passage (namespace, key, document, chunk, position, start, stop)
{given} VALUES (:namespace, :key, :document, :chunk, :position, :start, :stop)

-- name: passage_move
UPDATE passage SET start = :start, stop = :stop WHERE namespace = :namespace AND key = :key

-- name: chunk_vectors_delete
DELETE FROM {vectors} WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_tokens_delete
DELETE FROM token_vectors WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_failures_delete
DELETE FROM embedding_failure WHERE namespace = :namespace
  AND passage IN (SELECT key FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk)
  AND model IN (SELECT key FROM model WHERE namespace = :namespace)

-- name: chunk_passages_delete
DELETE FROM passage WHERE namespace = :namespace AND document = :document AND chunk = :chunk

-- name: model_insert
INSERT INTO model (namespace, key, fingerprint, dimension)
SELECT :namespace, COALESCE(MAX(key), 0) + 1, :fingerprint, :dimension FROM model WHERE namespace = :namespace
RETURNING key

-- name: model_dimension
SELECT dimension FROM model WHERE namespace = :namespace AND key = :model

-- name: vector_put
INSERT INTO {vectors} (namespace, model, passage, vector) VALUES (:namespace, :model, :passage, :vector)
ON CONFLICT (namespace, model, passage) DO UPDATE SET vector = excluded.vector

-- name: tokens_put
INSERT INTO token_vectors (namespace, model, passage, codes) VALUES (:namespace, :model, :passage, :codes)
ON CONFLICT (namespace, model, passage) DO UPDATE SET codes = excluded.codes

-- name: passage_embedded
UPDATE passage SET model = :model, again = CASE WHEN again = :model THEN 0 ELSE again END, leased_until = 0
WHERE namespace = :namespace AND key = :passage RETURNING document

-- name: passages_adopt
UPDATE passage SET model = :model WHERE model <> :model AND key IN (
  SELECT v.passage FROM {vectors} v WHERE v.namespace = :namespace AND v.model = :model AND v.passage > :after
  ORDER BY v.passage LIMIT :limit)

-- name: vectors_behind
SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model AND passage > :after
ORDER BY passage LIMIT :limit

-- name: passages_unqueue
UPDATE passage SET again = 0 WHERE namespace = :namespace AND again = :model AND again <> 0 AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = passage.namespace AND v.model = :model AND v.passage = passage.key)

-- name: passages_unmark
UPDATE passage SET model = 0 WHERE namespace = :namespace AND model = :model AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = passage.namespace AND v.model = :model AND v.passage = passage.key)

-- name: models
SELECT key FROM model WHERE namespace = :namespace

-- name: failure_put
INSERT INTO embedding_failure (namespace, model, passage, attempts, not_before, error)
SELECT namespace, :model, key, 1, :not_before, :error FROM passage WHERE namespace = :namespace AND key = :passage
ON CONFLICT (namespace, model, passage) DO UPDATE
SET attempts = embedding_failure.attempts + 1, not_before = excluded.not_before, error = excluded.error

-- name: waiting
-- A failure without not_before is one that an earlier release gave up; it is tried again.
SELECT p.key, p.document, p.start, p.stop, m.content, m.author FROM passage p
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue} {free} AND (f.passage IS NULL OR COALESCE(f.not_before, 0) <= :now)
ORDER BY p.key {order} LIMIT :limit {locked}

-- name: passage_release
UPDATE passage SET leased_until = 0 WHERE namespace = :namespace AND key = :passage AND leased_until <> 0

-- name: lease
INSERT INTO lease (namespace, name, holder, until) VALUES (:namespace, :name, :holder, {now} + :lease)
ON CONFLICT (namespace, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
  WHERE lease.until <= {now} OR lease.holder = excluded.holder
RETURNING 1

-- name: pending
-- Counts the queued passages that have not failed, and those that have.
SELECT COUNT(*) - COUNT(f.passage), COUNT(f.passage) FROM passage p
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue}

-- name: pending_visible
SELECT COUNT(*) - COUNT(f.passage), COUNT(f.passage) FROM passage p
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
LEFT JOIN embedding_failure f ON f.namespace = p.namespace AND f.model = :model AND f.passage = p.key
WHERE p.namespace = :namespace AND {queue} {where}

-- name: lost_vectors
SELECT COUNT(*) FROM passage p WHERE p.namespace = :namespace AND p.model <> 0 AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = p.model AND v.passage = p.key)

-- name: passages_requeue
UPDATE passage SET model = 0 WHERE namespace = :namespace AND key IN (
  SELECT p.key FROM passage p WHERE p.namespace = :namespace AND p.model <> 0 AND NOT EXISTS (
    SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = p.model AND v.passage = p.key)
  LIMIT :limit)

-- name: documents_below
SELECT key FROM memory WHERE namespace = :namespace AND key < :below ORDER BY key DESC LIMIT :limit

-- name: queue_new
p.model = :other AND NOT EXISTS (
  SELECT 1 FROM {vectors} v WHERE v.namespace = p.namespace AND v.model = :model AND v.passage = p.key)

-- name: queue_again
p.again = :model AND p.again <> 0

-- name: failures_clear
DELETE FROM embedding_failure WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM embedding_failure WHERE namespace = :namespace AND model = :model LIMIT :limit)

-- name: attempts
SELECT attempts FROM embedding_failure WHERE namespace = :namespace AND model = :model AND passage = :passage

-- name: tokens_drop
DELETE FROM token_vectors WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model ORDER BY passage LIMIT :limit)

-- name: vectors_drop
DELETE FROM {vectors} WHERE namespace = :namespace AND model = :model
  AND passage IN (SELECT passage FROM {vectors} WHERE namespace = :namespace AND model = :model ORDER BY passage LIMIT :limit)

-- name: embedded_all
SELECT m.key, m.owner, m.scope, m.source, m.project, m.session, m.category, m.created_at, m.expires_at,
  m.valid_until IS NOT NULL, p.chunk, p.key, v.vector
FROM passage p
JOIN {vectors} v ON v.namespace = p.namespace AND v.model = :model AND v.passage = p.key
JOIN memory m ON m.namespace = p.namespace AND m.key = p.document
WHERE p.namespace = :namespace

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

-- name: agent_by_id
SELECT id, name, role, created_at FROM agent WHERE namespace = :namespace AND id = :id

-- name: agent_by_name
SELECT id, name, role, created_at FROM agent WHERE namespace = :namespace AND name = :name

-- name: agents
SELECT id, name, role, created_at FROM agent WHERE namespace = :namespace ORDER BY name

-- name: agent_put
INSERT INTO agent (namespace, id, name, role, created_at) VALUES (:namespace, :id, :name, :role, :created_at)
ON CONFLICT (namespace, id) DO UPDATE SET name = excluded.name, role = excluded.role

-- name: api_key_by_id
SELECT id, agent, role, digest, created_at, expires_at, revoked_at FROM api_key
WHERE namespace = :namespace AND id = :id

-- name: api_keys
SELECT id, agent, role, digest, created_at, expires_at, revoked_at FROM api_key
WHERE namespace = :namespace ORDER BY created_at, id

-- name: api_key_put
INSERT INTO api_key (namespace, id, agent, role, digest, created_at, expires_at, revoked_at)
VALUES (:namespace, :id, :agent, :role, :digest, :created_at, :expires_at, :revoked_at)
ON CONFLICT (namespace, id) DO UPDATE SET agent = excluded.agent, role = excluded.role, digest = excluded.digest,
  expires_at = excluded.expires_at, revoked_at = excluded.revoked_at

-- name: api_key_revoke
UPDATE api_key SET revoked_at = :at WHERE namespace = :namespace AND id = :id AND revoked_at IS NULL RETURNING id

-- name: audit_insert
INSERT INTO audit (namespace, at, actor, door, action, memory, detail)
VALUES (:namespace, :at, :actor, :door, :action, :memory, :detail)

-- name: audit_move_in
INSERT INTO audit (namespace, key, at, actor, door, action, memory, detail)
{given} VALUES (:namespace, :key, :at, :actor, :door, :action, :memory, :detail)

-- name: audit_after
SELECT key, at, actor, door, action, memory, detail FROM audit
WHERE namespace = :namespace AND key > :after ORDER BY key LIMIT :limit

-- name: audit_newest
SELECT at, actor, door, action, memory, detail FROM audit WHERE namespace = :namespace ORDER BY key DESC LIMIT :limit

-- name: audit_of
SELECT at, actor, door, action, memory, detail FROM audit
WHERE namespace = :namespace AND memory = :memory ORDER BY key DESC LIMIT :limit

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
  (SELECT COUNT(*) FROM batch WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM preimage WHERE namespace = :namespace),
  (SELECT COUNT(*) FROM job WHERE namespace = :namespace)

-- name: recall_insert
INSERT INTO recall (namespace, id, at, agent, role, door, project, session, question, path, candidates, documents, parts)
VALUES (:namespace, :id, :at, :agent, :role, :door, :project, :session, :question, :path, :candidates, :documents, :parts)

-- name: recalls
SELECT r.id, r.at, r.agent, r.role, r.door, r.project, r.session, r.question, r.path, r.candidates, r.documents, r.parts
FROM recall r WHERE r.namespace = :namespace {asked} ORDER BY r.at DESC, r.id DESC LIMIT :limit

-- name: recall_gave
position(:having IN r.documents) > 0

-- name: recall_nth
SELECT at, id FROM recall WHERE namespace = :namespace ORDER BY at DESC, id DESC LIMIT 1 OFFSET :newer

-- name: recalls_prune
DELETE FROM recall WHERE namespace = :namespace AND key IN (
  SELECT key FROM recall WHERE namespace = :namespace AND at <= :at AND (at, id) < (:at, :id)
  ORDER BY at, id LIMIT :limit)

-- name: event_insert
INSERT INTO event (namespace, id, at, level, text, actor, door, service, session, document)
VALUES (:namespace, :id, :at, :level, :text, :actor, :door, :service, :session, :document)
ON CONFLICT (namespace, id) DO NOTHING

-- name: events
SELECT e.id, e.at, e.level, e.text, e.actor, e.door, e.service, e.session, m.id
FROM event e LEFT JOIN memory m ON m.namespace = e.namespace AND m.key = e.document
WHERE e.namespace = :namespace {narrowed} ORDER BY e.at DESC, e.id DESC LIMIT :limit

-- name: event_same
SELECT e.id, e.at, e.level, e.text, e.actor, e.door, e.service, e.session, NULL
FROM event e WHERE e.namespace = :namespace AND e.session = :session AND e.at > :after AND e.at < :before
  AND e.level = :level AND COALESCE(e.service, '') = :service AND e.text = :text AND e.document IS NULL
ORDER BY e.at, e.id LIMIT 1

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

-- name: cooldowns
SELECT service, action, until, set_at, actor, door, session, reason, count
FROM cooldown WHERE namespace = :namespace AND until > :at ORDER BY service, action

-- name: cooldown
SELECT service, action, until, set_at, actor, door, session, reason, count
FROM cooldown WHERE namespace = :namespace AND service = :service AND action = :action

-- name: cooldown_put
INSERT INTO cooldown (namespace, service, action, until, set_at, actor, door, session, reason, count)
VALUES (:namespace, :service, :action, :until, :set_at, :actor, :door, :session, :reason, :count)
ON CONFLICT (namespace, service, action) DO UPDATE SET until = excluded.until, set_at = excluded.set_at,
  actor = excluded.actor, door = excluded.door, session = excluded.session, reason = excluded.reason,
  count = excluded.count

-- name: cooldown_drop
DELETE FROM cooldown WHERE namespace = :namespace AND service = :service AND action = :action

-- name: cooldowns_prune
DELETE FROM cooldown WHERE namespace = :namespace AND (service, action) IN (
  SELECT service, action FROM cooldown WHERE namespace = :namespace AND until <= :at ORDER BY until LIMIT :limit)

-- name: session
SELECT agent, id, updated_at, state FROM session WHERE namespace = :namespace AND agent = :agent AND id = :id

-- name: session_put
INSERT INTO session (namespace, agent, id, updated_at, state) VALUES (:namespace, :agent, :id, :updated_at, :state)
ON CONFLICT (namespace, agent, id) DO UPDATE SET updated_at = excluded.updated_at, state = excluded.state

-- name: sessions_prune
DELETE FROM session WHERE namespace = :namespace AND (agent, id) IN (
  SELECT agent, id FROM (
    SELECT agent, id, updated_at, rank() OVER (PARTITION BY agent ORDER BY updated_at DESC) AS place
    FROM session WHERE namespace = :namespace) AS placed
  WHERE updated_at < :at OR place > :keep ORDER BY updated_at LIMIT :limit)

-- name: files_behind
SELECT place, path, mark, digest, memory FROM file
WHERE namespace = :namespace AND (place, path) > (:place, :path) ORDER BY place, path LIMIT :limit

-- name: file_put
INSERT INTO file (namespace, place, path, mark, digest, memory) VALUES (:namespace, :place, :path, :mark, :digest, :memory)
ON CONFLICT (namespace, place, path) DO UPDATE SET mark = excluded.mark, digest = excluded.digest, memory = excluded.memory

-- name: file_drop
DELETE FROM file WHERE namespace = :namespace AND place = :place AND path = :path

-- name: job_by_id
SELECT id, kind, state, created_at, updated_at, done, total, error FROM job WHERE namespace = :namespace AND id = :id

-- name: jobs
SELECT id, kind, state, created_at, updated_at, done, total, error FROM job
WHERE namespace = :namespace ORDER BY created_at DESC, id DESC

-- name: jobs_of_kind
SELECT id, kind, state, created_at, updated_at, done, total, error FROM job
WHERE namespace = :namespace AND kind = :kind ORDER BY created_at DESC, id DESC

-- name: job_put
INSERT INTO job (namespace, id, kind, state, created_at, updated_at, done, total, error)
VALUES (:namespace, :id, :kind, :state, :created_at, :updated_at, :done, :total, :error)
ON CONFLICT (namespace, id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at, done = excluded.done,
  total = excluded.total, error = excluded.error

-- name: handover_by_id
SELECT id, at, program, session, said, agent, role, door, acting, state, attempts, not_before
FROM handover WHERE namespace = :namespace AND id = :id

-- name: handovers_due
SELECT id, at, program, session, said, agent, role, door, acting, state, attempts, not_before
FROM handover WHERE namespace = :namespace AND state = :waiting AND not_before <= :now ORDER BY at, id LIMIT :limit

-- name: handovers_behind
SELECT id, at, program, session, said, agent, role, door, acting, state, attempts, not_before
FROM handover WHERE namespace = :namespace AND id > :after ORDER BY id LIMIT :limit

-- name: handover_counts
SELECT state, COUNT(*) FROM handover WHERE namespace = :namespace GROUP BY state

-- name: handover_put
INSERT INTO handover (namespace, id, at, program, session, said, agent, role, door, acting, state, attempts, not_before)
VALUES (:namespace, :id, :at, :program, :session, :said, :agent, :role, :door, :acting, :state, :attempts, :not_before)
ON CONFLICT (namespace, id) DO UPDATE SET said = excluded.said, state = excluded.state, attempts = excluded.attempts,
  not_before = excluded.not_before

-- name: handovers_prune
DELETE FROM handover WHERE namespace = :namespace AND id IN (
  SELECT id FROM handover WHERE namespace = :namespace AND state IN (:done, :failed) AND not_before < :before LIMIT :limit)

-- name: proposal_by_id
SELECT id, kind, wanted, why, actor, door, session, at, how, decided_at, decided_by, decided_door, reason
FROM proposal WHERE namespace = :namespace AND id = :id

-- name: proposals
SELECT pr.id, pr.kind, pr.wanted, pr.why, pr.actor, pr.door, pr.session, pr.at, pr.how, pr.decided_at, pr.decided_by,
  pr.decided_door, pr.reason
FROM proposal pr WHERE pr.namespace = :namespace AND NOT EXISTS (
  SELECT 1 FROM concerned co WHERE co.namespace = pr.namespace AND co.proposal = pr.id AND NOT EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = co.namespace AND m.key = co.document {where})) {proposed}
ORDER BY pr.at DESC, pr.id DESC LIMIT :limit

-- name: proposals_about
SELECT pr.id, pr.kind, pr.wanted, pr.why, pr.actor, pr.door, pr.session, pr.at, pr.how, pr.decided_at, pr.decided_by,
  pr.decided_door, pr.reason
FROM concerned co JOIN proposal pr ON pr.namespace = co.namespace AND pr.id = co.proposal
WHERE co.namespace = :namespace AND co.document = :document ORDER BY pr.at DESC, pr.id DESC

-- name: proposals_open
SELECT COUNT(*) FROM proposal WHERE namespace = :namespace AND actor = :actor AND how = 0

-- name: proposals_open_of_nobody
SELECT COUNT(*) FROM proposal WHERE namespace = :namespace AND actor IS NULL AND how = 0

-- name: proposals_waiting
SELECT pr.id, pr.kind, pr.wanted, pr.why, pr.actor, pr.door, pr.session, pr.at, pr.how, pr.decided_at, pr.decided_by,
  pr.decided_door, pr.reason
FROM proposal pr WHERE pr.namespace = :namespace AND pr.actor = :actor AND pr.how = 0 ORDER BY pr.at DESC, pr.id DESC

-- name: proposals_waiting_of_nobody
SELECT pr.id, pr.kind, pr.wanted, pr.why, pr.actor, pr.door, pr.session, pr.at, pr.how, pr.decided_at, pr.decided_by,
  pr.decided_door, pr.reason
FROM proposal pr WHERE pr.namespace = :namespace AND pr.actor IS NULL AND pr.how = 0 ORDER BY pr.at DESC, pr.id DESC

-- name: proposal_put
INSERT INTO proposal (namespace, id, kind, wanted, why, actor, door, session, at, how, decided_at, decided_by, decided_door,
  reason)
VALUES (:namespace, :id, :kind, :wanted, :why, :actor, :door, :session, :at, :how, :decided_at, :decided_by, :decided_door,
  :reason)

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

-- name: events_about
SELECT e.id, e.at, e.level, e.text, e.actor, e.door, e.service, e.session, m.id
FROM event e JOIN memory m ON m.namespace = e.namespace AND m.key = e.document
WHERE e.namespace = :namespace AND e.document = :document ORDER BY e.at DESC, e.id DESC

-- name: batch_by_id
SELECT id, kind, at, actor, door, reason, changes, private, undoes, undone_at, undone_by
FROM batch WHERE namespace = :namespace AND id = :id

-- name: batches
SELECT b.id, b.kind, b.at, b.actor, b.door, b.reason, b.changes, b.private, b.undoes, b.undone_at, b.undone_by
FROM batch b WHERE b.namespace = :namespace {batched} ORDER BY b.at DESC, b.id DESC LIMIT :limit

-- name: batch_put
INSERT INTO batch (namespace, id, kind, at, actor, door, reason, changes, private, undoes, undone_at, undone_by)
VALUES (:namespace, :id, :kind, :at, :actor, :door, :reason, :changes, :private, :undoes, :undone_at, :undone_by)
ON CONFLICT (namespace, id) DO UPDATE SET kind = excluded.kind, at = excluded.at, actor = excluded.actor,
  door = excluded.door, reason = excluded.reason, changes = excluded.changes, private = excluded.private,
  undoes = excluded.undoes, undone_at = excluded.undone_at, undone_by = excluded.undone_by

-- name: batch_drop
DELETE FROM batch WHERE namespace = :namespace AND id = :id

-- name: batches_old
SELECT id FROM batch WHERE namespace = :namespace AND at < :before ORDER BY at, id LIMIT :limit

-- name: preimages
SELECT document, memory, before, after, owner FROM preimage WHERE namespace = :namespace AND batch = :batch
ORDER BY document

-- name: preimage_of
SELECT document, memory, before, after, owner FROM preimage
WHERE namespace = :namespace AND batch = :batch AND document = :document

-- name: preimage_last
SELECT pi.document, pi.memory, pi.before, pi.after, pi.owner
FROM preimage pi JOIN batch b ON b.namespace = pi.namespace AND b.id = pi.batch
WHERE pi.namespace = :namespace AND pi.memory = :memory AND pi.before IS NOT NULL
ORDER BY b.at DESC, b.id DESC LIMIT 1

-- name: preimage_put
INSERT INTO preimage (namespace, batch, document, memory, before, after, owner)
VALUES (:namespace, :batch, :document, :memory, :before, :after, :owner)
ON CONFLICT (namespace, batch, document) DO UPDATE SET memory = excluded.memory, before = excluded.before,
  after = excluded.after, owner = excluded.owner

-- name: preimages_drop
DELETE FROM preimage WHERE namespace = :namespace AND batch = :id

-- name: decided_with
WITH RECURSIVE together (document) AS (
    SELECT CAST(:document AS BIGINT)
    UNION
    SELECT other.document FROM together
    JOIN preimage pi ON pi.namespace = :namespace AND pi.document = together.document
    JOIN batch b ON b.namespace = pi.namespace AND b.id = pi.batch AND b.kind = :decided
    JOIN preimage other ON other.namespace = pi.namespace AND other.batch = pi.batch)

-- name: preimages_delete
DELETE FROM preimage WHERE namespace = :namespace AND document IN ({decided_with} SELECT document FROM together)

-- name: batches_silence
UPDATE batch SET reason = NULL WHERE namespace = :namespace AND reason IS NOT NULL AND id IN ({decided_with}
  SELECT pi.batch FROM preimage pi WHERE pi.namespace = :namespace AND pi.document IN (SELECT document FROM together))
