"""Every store that lies on a disk: closing and opening it keeps everything."""

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given

from hivelore.core.agents import Agent, ApiKey, Interface, KeyId, Role
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.memories.model import Action, Memory, Scope
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import START
from support.memories import ADA, BOB, EVERYTHING, a_memory, document, instant, memories, next_version
from support.observed import observed
from support.stores import add, change, chunks, forget, law, listed, present, read_changes

Reopen = Callable[[], MemoryStore]


def fill(tx: Transaction) -> None:
    content, pieces = document("first part", "second part", "third part", passage=5)
    thread = [tx.add(a_memory(content, session=Clean("s"), tags=(Clean("t"),)), pieces) for _ in range(3)]
    edited, pieces = document("first part", "second, changed", "third part", passage=5)
    tx.change(thread[0].key, next_version(thread[0].memory, edited, scope=Scope.SWARM), pieces, Action.PROMOTED)
    tx.count_reads({thread[1].key: (4, instant(3))})
    tx.set_expiry(thread[2].key, instant(99))
    model, other = tx.register_model("m", 2), tx.register_model("other", 1)
    keys = [key for stored in thread for chunk in tx.chunks(stored.key) for key in chunk.passages]
    tx.put_vectors(model, {key: np.array([key, 0.1], dtype=np.float32) for key in keys[::2]})
    tx.put_vectors(other, {key: np.array([-key], dtype=np.float32) for key in keys[:1]})
    tx.embedding_failed(model, keys[1], Clean("too long"), instant(30))
    tx.embedding_failed(model, keys[3], Clean("busy"), instant(60))
    tx.put_agent(Agent(id=ADA, name="ada", role=Role.LEAD, created_at=START))
    tx.put_api_key(ApiKey(id=KeyId("k"), agent=ADA, role=Role.LEAD, digest=b"\0\xff" * 16, created_at=START))
    tx.revoke_api_key(KeyId("k"), instant(5))
    memory = thread[0].memory.id
    tx.record_audit(AuditEntry(at=START, actor=ADA, interface=Interface.MCP, action=Action.PROMOTED, memory=memory))
    job = Job(id=JobId("j"), kind="re-embed", state=JobState.RUNNING, created_at=START, updated_at=START, total=3)
    tx.put_job(job)
    tx.set_setting("model.serving", "m")


def test_all_data_survives_reopening(open_durable: Reopen) -> None:
    with closing(open_durable()) as store:
        store.write(fill)
        with store.read() as view:
            before = observed(view, ("m", "other"))
            changes, incarnation = read_changes(view), view.setting("incarnation")
    with closing(open_durable()) as store:
        with store.read() as view:
            assert observed(view, ("m", "other")) == before
            assert read_changes(view) == changes
            assert view.setting("incarnation") == incarnation
            assert view.setting("model.serving") == "m"
        assert list(store.check()) == []


@law
@given(memory=memories())
def test_any_memory_survives_reopening(open_durable: Reopen, memory: Memory) -> None:
    with closing(open_durable()) as store:
        for old in listed(store):
            forget(store, present(store, old).key)
        stored = add(store, memory)
    with closing(open_durable()) as store:
        assert present(store, memory) == stored
        assert listed(store) == [memory]


def test_numbers_continue_after_reopening(open_durable: Reopen) -> None:
    keys: list[tuple[int, int, int]] = []
    seqs: list[int] = []
    for _ in range(3):
        with closing(open_durable()) as store:
            stored = add(store, a_memory())
            (chunk,) = chunks(store, stored.key)
            keys.append((stored.key, chunk.key, chunk.passages[0]))
            with store.read() as view:
                seqs.append(view.change_cursor().number)
            forget(store, stored.key)
    for numbers in zip(*keys, strict=True):
        assert len(set(numbers)) == 3
    assert seqs == sorted(set(seqs))


def test_rolled_back_and_deleted_memories_do_not_return(open_durable: Reopen) -> None:
    memory = a_memory("The secret plan.", source_path=Clean("/p"))
    with closing(open_durable()) as store:
        stored = add(store, memory)
        change(store, stored.key, next_version(memory, "The public plan."), ())
        forget(store, stored.key)
        taken = a_memory("kept")
        add(store, taken)
        with pytest.raises(Conflict):
            store.write(lambda tx: (tx.add(a_memory("undone"), ()), tx.add(taken, ())))
    with closing(open_durable()) as store:
        assert listed(store) == [taken]
        add(store, replace(memory, id=a_memory().id))
        with store.read() as view:
            assert view.get(memory.id) is None
            assert view.stats(EVERYTHING, None, START).total == 2


def test_unique_fields_stay_taken_after_reopening(open_durable: Reopen) -> None:
    ada = Agent(id=ADA, name="ada", role=Role.LEAD, created_at=START)
    with closing(open_durable()) as store:
        add(store, a_memory(source_path=Clean("/p")))
        store.write(lambda tx: tx.put_agent(ada))
    with closing(open_durable()) as store:
        with pytest.raises(Conflict):
            add(store, a_memory(source_path=Clean("/p")))
        with pytest.raises(Conflict):
            store.write(lambda tx: tx.put_agent(replace(ada, id=BOB)))
