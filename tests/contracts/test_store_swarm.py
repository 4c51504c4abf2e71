"""Every store: agents, keys, audit, jobs and settings."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Agent, AgentId, ApiKey, Interface, KeyId, Role
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.memories.model import Action
from hivelore.storage.ports import MemoryStore
from support.clocks import START
from support.memories import ADA, BOB, a_memory, agents, filled_texts, instant, instants, memory_id, texts
from support.stores import Fresh, add, forget, law

ANNA = Agent(id=AgentId("1"), name="anna", role=Role.LEAD, created_at=START)
ZOE = Agent(id=AgentId("2"), name="zoe", role=Role.WORKER, created_at=instant(-5))


def put_agent(store: MemoryStore, agent: Agent) -> None:
    store.write(lambda tx: tx.put_agent(agent))


def put_key(store: MemoryStore, key: ApiKey) -> None:
    store.write(lambda tx: tx.put_api_key(key))


def put_job(store: MemoryStore, job: Job) -> None:
    store.write(lambda tx: tx.put_job(job))


# Agents.

any_agent = st.builds(Agent, id=agents, name=filled_texts, role=st.sampled_from(Role), created_at=instants)


@law
@given(agent=any_agent)
def test_an_agent_is_read_as_it_was_written(fresh: Fresh, agent: Agent) -> None:
    with fresh() as store:
        put_agent(store, agent)
        with store.read() as view:
            assert view.agent(agent.id) == view.agent_named(agent.name) == agent
            assert list(view.agents()) == [agent]


def test_an_unknown_agent_is_none(store: MemoryStore) -> None:
    put_agent(store, ANNA)
    with store.read() as view:
        assert view.agent(ZOE.id) is None
        assert view.agent_named("zoe") is None
        assert view.agent_named("Anna") is None


def test_agents_are_listed_by_name(store: MemoryStore) -> None:
    middle = replace(ANNA, id=AgentId("0"), name="mia")
    for agent in (ZOE, ANNA, middle):
        put_agent(store, agent)
    with store.read() as view:
        assert list(view.agents()) == [ANNA, middle, ZOE]


def test_a_name_belongs_to_one_agent(store: MemoryStore) -> None:
    put_agent(store, ANNA)
    with pytest.raises(Conflict):
        put_agent(store, replace(ZOE, name="anna"))
    put_agent(store, ZOE)
    with pytest.raises(Conflict):
        put_agent(store, replace(ZOE, name="anna"))
    with store.read() as view:
        assert list(view.agents()) == [ANNA, ZOE]


def test_an_agent_can_change_its_role_and_release_its_name(store: MemoryStore) -> None:
    put_agent(store, ANNA)
    put_agent(store, replace(ANNA, role=Role.WORKER))
    renamed = replace(ANNA, name="anne", role=Role.WORKER)
    put_agent(store, renamed)
    heir = replace(ZOE, name="anna")
    put_agent(store, heir)
    with store.read() as view:
        assert list(view.agents()) == [heir, renamed]


# Keys.

any_key = st.builds(
    ApiKey,
    id=filled_texts.map(lambda text: KeyId(text)),
    agent=st.none() | agents,
    role=st.sampled_from(Role),
    digest=st.binary(min_size=32, max_size=32),
    created_at=instants,
    expires_at=st.none() | instants,
    revoked_at=st.none() | instants,
)


def a_key(name: str, minute: float = 0) -> ApiKey:
    return ApiKey(id=KeyId(name), agent=ANNA.id, role=Role.LEAD, digest=bytes(32), created_at=instant(minute))


@law
@given(key=any_key)
def test_a_key_is_read_as_it_was_written(fresh: Fresh, key: ApiKey) -> None:
    with fresh() as store:
        put_key(store, key)
        with store.read() as view:
            assert view.api_key(key.id) == key
            assert view.api_key(KeyId(key.id + "x")) is None
            assert list(view.api_keys()) == [key]


def test_keys_are_listed_oldest_first(store: MemoryStore) -> None:
    keys = [a_key("b", 2), a_key("c", 1), a_key("a", 3)]
    for key in keys:
        put_key(store, key)
    with store.read() as view:
        assert [key.id for key in view.api_keys()] == ["c", "b", "a"]


def test_a_key_is_revoked_once(store: MemoryStore) -> None:
    put_key(store, a_key("k"))
    put_key(store, a_key("other"))
    assert store.write(lambda tx: tx.revoke_api_key(KeyId("k"), instant(1)))
    assert not store.write(lambda tx: tx.revoke_api_key(KeyId("k"), instant(2)))
    assert not store.write(lambda tx: tx.revoke_api_key(KeyId("unknown"), instant(2)))
    with store.read() as view:
        assert view.api_key(KeyId("k")) == replace(a_key("k"), revoked_at=instant(1))
        assert view.api_key(KeyId("other")) == a_key("other")


# Audit.

entries = st.builds(
    AuditEntry,
    at=instants,
    actor=st.none() | agents,
    interface=st.sampled_from(Interface),
    action=st.sampled_from(Action),
    memory=st.integers(1, 3).map(memory_id),
    detail=st.none() | texts,
)


@law
@given(written=st.lists(entries, max_size=6), limit=st.integers(1, 7))
def test_the_audit_trail_is_listed_newest_first_by_memory(fresh: Fresh, written: list[AuditEntry], limit: int) -> None:
    written.sort(key=lambda entry: entry.at)
    with fresh() as store:
        for entry in written:
            store.write(lambda tx, entry=entry: tx.record_audit(entry))
        with store.read() as view:
            assert list(view.audit(limit)) == written[::-1][:limit]
            for memory in map(memory_id, (1, 2, 3)):
                of_this = [entry for entry in reversed(written) if entry.memory == memory]
                assert list(view.audit(limit, memory)) == of_this[:limit]


def test_audit_entries_of_the_same_time_are_in_reverse_order_of_recording(store: MemoryStore) -> None:
    written = [
        AuditEntry(at=START, actor=actor, interface=Interface.REST, action=Action.READ, memory=memory_id(1))
        for actor in (BOB, ADA, None, ADA)
    ]
    store.write(lambda tx: [tx.record_audit(entry) for entry in written])
    with store.read() as view:
        assert list(view.audit(10)) == written[::-1]


def test_the_audit_trail_survives_the_memory(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    entry = AuditEntry(at=START, actor=ADA, interface=Interface.CLI, action=Action.FORGOTTEN, memory=stored.memory.id)
    store.write(lambda tx: tx.record_audit(entry))
    forget(store, stored.key)
    with store.read() as view:
        assert list(view.audit(10, stored.memory.id)) == [entry]


# Jobs.

any_job = st.builds(
    Job,
    id=filled_texts.map(lambda text: JobId(text)),
    kind=filled_texts,
    state=st.sampled_from(JobState),
    created_at=instants,
    updated_at=instants,
    done=st.integers(0, 2**31),
    total=st.integers(0, 2**31),
    error=st.none() | texts,
)


def a_job(name: str, kind: str, minute: float) -> Job:
    at = instant(minute)
    return Job(id=JobId(name), kind=kind, state=JobState.RUNNING, created_at=at, updated_at=at, total=9)


@law
@given(job=any_job)
def test_a_job_is_read_as_it_was_written(fresh: Fresh, job: Job) -> None:
    with fresh() as store:
        put_job(store, job)
        with store.read() as view:
            assert view.job(job.id) == job
            assert view.job(JobId(job.id + "x")) is None
            assert list(view.jobs()) == list(view.jobs(job.kind)) == [job]


def test_a_job_is_replaced_by_its_later_state(store: MemoryStore) -> None:
    job = a_job("j", "re-embed", 0)
    put_job(store, job)
    later = replace(job, state=JobState.FAILED, done=4, updated_at=instant(3), error=Clean("no answer"))
    put_job(store, later)
    with store.read() as view:
        assert view.job(job.id) == later
        assert list(view.jobs()) == [later]


def test_jobs_are_listed_newest_first_by_kind(store: MemoryStore) -> None:
    jobs = [a_job("a", "import", 2), a_job("b", "re-embed", 1), a_job("c", "import", 3)]
    for job in jobs:
        put_job(store, job)
    with store.read() as view:
        assert [job.id for job in view.jobs()] == ["c", "a", "b"]
        assert [job.id for job in view.jobs("import")] == ["c", "a"]
        assert list(view.jobs("Import")) == []


# Settings.


@law
@given(facts=st.lists(st.tuples(texts, texts), max_size=6))
def test_a_setting_has_its_last_value(fresh: Fresh, facts: list[tuple[str, str]]) -> None:
    with fresh() as store:
        for name, value in facts:
            store.write(lambda tx, name=name, value=value: tx.set_setting(name, value))
        with store.read() as view:
            assert {name: view.setting(name) for name, _ in facts} == dict(facts)
            assert view.setting("never set") is None


def test_times_are_in_utc(store: MemoryStore) -> None:
    put_agent(store, ANNA)
    put_key(store, replace(a_key("k"), expires_at=datetime.max.replace(tzinfo=UTC)))
    put_job(store, a_job("j", "import", 0))
    with store.read() as view:
        agent, key, job = view.agent(ANNA.id), view.api_key(KeyId("k")), view.job(JobId("j"))
    assert agent is not None
    assert key is not None
    assert job is not None
    for at in (agent.created_at, key.created_at, key.expires_at, job.created_at, job.updated_at):
        assert at is not None
        assert at.tzinfo is UTC
