"""Every store: units of work, snapshots, threads, deadlines, the end."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, Event

import numpy as np
import pytest

from hivelore.core.agents import Agent, Role
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Expired
from hivelore.indexing.model import ModelKey
from hivelore.memories.model import Action, Memory
from hivelore.memories.stored import Stored
from hivelore.storage.ports import MemoryStore, Transaction, View
from support.clocks import START, SteppingClock
from support.memories import ADA, EVERYTHING, a_memory, instant, next_version, whole
from support.stores import add, change, forget, listed, present, read_changes

PATIENCE = 60.0
"""Seconds after which a test that hangs fails."""


def contents(view: View) -> set[str]:
    return {memory.content for memory in view.page(EVERYTHING, None, 10_000)}


# All or nothing.


class Refused(Exception):
    """Raised inside a transaction to roll it back."""


def test_write_returns_the_result_of_its_function(store: MemoryStore) -> None:
    answer = object()
    assert store.write(lambda tx: answer) is answer
    assert store.write(lambda tx: None) is None


def test_an_error_rolls_back_the_transaction(store: MemoryStore) -> None:
    kept = add(store, a_memory("kept", tags=(Clean("t"),)))
    model = store.write(lambda tx: tx.register_model("m", 1))
    error = Refused()

    def work(tx: Transaction) -> None:
        tx.add(a_memory("new", source_path=Clean("/p")), whole("new"))
        tx.change(kept.key, next_version(kept.memory, "changed"), whole("changed"), Action.EDITED)
        tx.count_reads({kept.key: (3, instant(1))})
        tx.set_expiry(kept.key, instant(1))
        (chunk,) = tx.chunks(kept.key)
        tx.put_vectors(model, {chunk.passages[0]: np.ones(1, dtype=np.float32)})
        tx.register_model("another", 2)
        tx.set_setting("name", "value")
        tx.put_agent(Agent(id=ADA, name="ada", role=Role.LEAD, created_at=START))
        raise error

    with store.read() as view:
        before, newest = view.chunks(kept.key), view.change_cursor()
    with pytest.raises(Refused) as raised:
        store.write(work)
    assert raised.value is error
    with store.read() as view:
        assert view.get(kept.memory.id) == kept
        assert contents(view) == {"kept"}
        assert view.chunks(kept.key) == before
        assert len(view.history(kept.key)) == 1
        assert view.count_pending(model) == 1
        assert view.model_key("another") is None
        assert view.setting("name") is None
        assert view.agent(ADA) is None
        assert not view.memories_at_path(ADA, Clean("/p"))
        assert read_changes(view, newest) == []


def test_a_failed_transaction_does_not_block_the_next(store: MemoryStore) -> None:
    with pytest.raises(Refused):
        store.write(refuse)
    assert add(store, a_memory("kept")) == present(store, listed(store)[0])


def refuse(tx: Transaction) -> None:
    raise Refused


def test_a_handled_conflict_keeps_the_rest_of_the_transaction(store: MemoryStore) -> None:
    taken = a_memory("taken", source_path=Clean("/p"))
    add(store, taken)

    def work(tx: Transaction) -> Stored:
        stored = tx.add(a_memory("before"), whole("before"))
        for rival in (a_memory("rival", source_path=Clean("/p")), a_memory("rival", id=taken.id)):
            with pytest.raises(Conflict):
                tx.add(rival, whole("rival"))
        with pytest.raises(Conflict):
            tx.change(stored.key, next_version(stored.memory, source_path=Clean("/p")), None, Action.EDITED)
        assert tx.get(stored.memory.id) == stored
        assert len(tx.history(stored.key)) == 1
        tx.add(a_memory("after"), whole("after"))
        return stored

    stored = store.write(work)
    with store.read() as view:
        assert contents(view) == {"taken", "before", "after"}
        assert view.get(stored.memory.id) == stored
        assert len(read_changes(view)) == 3


def test_a_transaction_sees_its_own_writes(store: MemoryStore) -> None:
    def work(tx: Transaction) -> ModelKey:
        memory = a_memory("new", source_path=Clean("/p"), session=Clean("s"))
        stored = tx.add(memory, whole("new"))
        follower = tx.add(a_memory("next", session=Clean("s")), whole("next"))
        model = tx.register_model("m", 1)
        assert tx.get(memory.id) == stored
        assert list(tx.memories_at_path(ADA, Clean("/p"))) == [stored]
        assert tx.matching_keys(EVERYTHING)
        assert set(tx.memories_of([stored.key], EVERYTHING)) == {stored.key}
        assert [one.key for one in tx.later_in_session(stored.key, 5)] == [follower.key]
        assert [one.key for one in tx.earlier_in_session(follower.key, 5)] == [stored.key]
        assert tx.count_pending(model) == len(tx.queued_passages(model, START, 10)) == 2
        assert len(read_changes(tx)) == 2
        assert tx.stats(EVERYTHING, model, START).total == 2
        (passage,) = tx.chunks(stored.key)[0].passages
        tx.put_vectors(model, {passage: np.ones(1, dtype=np.float32)})
        assert set(tx.vectors(model, [passage])) == {passage}
        assert tx.count_pending(model) == 1
        changed = next_version(memory, "changed")
        tx.change(stored.key, changed, whole("changed"), Action.EDITED)
        assert tx.get(memory.id) == Stored(stored.key, changed)
        assert [version.content for version in tx.history(stored.key)] == ["new", "changed"]
        assert tx.vectors(model, [passage]) == {}
        tx.forget(stored.key)
        assert tx.get(memory.id) is None
        tx.set_setting("name", "value")
        assert tx.setting("name") == "value"
        return model

    model = store.write(work)
    with store.read() as view:
        assert contents(view) == {"next"}
        assert view.model_key("m") == model


# Snapshots.


def test_a_snapshot_does_not_see_later_writes(store: MemoryStore) -> None:
    kept = add(store, a_memory("kept"))
    doomed = add(store, a_memory("doomed"))
    with store.read() as view:
        change(store, kept.key, next_version(kept.memory, "changed"), whole("changed"))
        forget(store, doomed.key)
        add(store, a_memory("new"))
        store.write(lambda tx: tx.set_setting("name", "value"))
        assert contents(view) == {"kept", "doomed"}
        assert view.get(kept.memory.id) == kept
        assert [chunk.document for chunk in view.chunks(doomed.key)] == [doomed.key]
        assert [version.number for version in view.history(kept.key)] == [1]
        assert len(read_changes(view)) == 2
        assert view.stats(EVERYTHING, None, START).total == 2
        assert view.setting("name") is None
    with store.read() as view:
        assert contents(view) == {"changed", "new"}
        assert view.setting("name") == "value"


def test_a_snapshot_does_not_change_while_others_open_and_close(store: MemoryStore) -> None:
    add(store, a_memory("one"))
    with store.read() as outer:
        add(store, a_memory("two"))
        with store.read() as inner:
            add(store, a_memory("three"))
            assert contents(outer) == {"one"}
            assert contents(inner) == {"one", "two"}
        assert contents(outer) == {"one"}


def test_an_error_in_a_snapshot_affects_no_other(store: MemoryStore) -> None:
    def look_and_fail() -> None:
        with store.read() as view:
            contents(view)
            raise Refused

    for _ in range(30):
        with pytest.raises(Refused):
            look_and_fail()
    add(store, a_memory("one"))
    with store.read() as view:
        assert contents(view) == {"one"}


def test_readers_neither_wait_for_a_writer_nor_see_partial_writes(store: MemoryStore) -> None:
    add(store, a_memory("before"))
    halfway, looked = Event(), Event()

    def work(tx: Transaction) -> None:
        tx.add(a_memory("half"), whole("half"))
        halfway.set()
        assert looked.wait(PATIENCE)
        tx.add(a_memory("whole"), whole("whole"))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store.write, work)
        assert halfway.wait(PATIENCE)
        with store.read() as view:
            assert contents(view) == {"before"}
        looked.set()
        writing.result(PATIENCE)
    with store.read() as view:
        assert contents(view) == {"before", "half", "whole"}


# Threads.


def test_concurrent_writers_see_their_own_writes_at_once(store: MemoryStore) -> None:
    start = Barrier(8)

    def write(thread: int) -> list[Memory]:
        start.wait(PATIENCE)
        written: list[Memory] = []
        for number in range(12):
            memory = a_memory(f"{thread}/{number}")
            if number % 4 == 3:
                with pytest.raises(Refused):
                    store.write(lambda tx, memory=memory: refuse_after(tx, memory))
            else:
                stored = add(store, memory)
                written.append(memory)
                assert present(store, memory) == stored
        return written

    with ThreadPoolExecutor(8) as pool:
        written = [memory for memories in pool.map(write, range(8)) for memory in memories]
    with store.read() as view:
        assert contents(view) == {memory.content for memory in written}
        changes = read_changes(view)
    assert len(written) == 72
    assert len({one.document for one in changes}) == len(changes) == 72
    assert len({one.seq for one in changes}) == 72


def refuse_after(tx: Transaction, memory: Memory) -> None:
    tx.add(memory, whole(memory.content))
    raise Refused


def test_no_update_is_lost(store: MemoryStore) -> None:
    start = Barrier(8)

    def count_on(tx: Transaction) -> None:
        tx.set_setting("count", str(int(tx.setting("count") or 0) + 1))

    def write() -> None:
        start.wait(PATIENCE)
        for _ in range(15):
            store.write(count_on)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write) for _ in range(8)]:
            done.result(PATIENCE)
    with store.read() as view:
        assert view.setting("count") == "120"


def test_one_of_two_concurrent_writes_of_the_same_path_is_refused(store: MemoryStore) -> None:
    start = Barrier(8)

    def write(number: int) -> bool:
        start.wait(PATIENCE)
        with suppress(Conflict):
            add(store, a_memory(str(number), source_path=Clean("/p")))
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 1
    assert len(listed(store)) == 1


def test_concurrent_readers_see_complete_transactions_only(store: MemoryStore) -> None:
    done = Event()

    def add_pair(tx: Transaction) -> None:
        for half in "ab":
            tx.add(a_memory(half), ())
        tx.set_setting("pairs", str(int(tx.setting("pairs") or 0) + 1))

    def write() -> None:
        for _ in range(10):
            store.write(add_pair)

    def watch() -> int:
        looks = 0
        while not done.is_set():
            with store.read() as view:
                pairs = int(view.setting("pairs") or 0)
                assert view.stats(EVERYTHING, None, START).total == 2 * pairs
                assert len(read_changes(view)) == 2 * pairs
                assert len(view.matching_keys(EVERYTHING)) == 2 * pairs
            looks += 1
        return looks

    with ThreadPoolExecutor(6) as pool:
        implicit_feedback = [pool.submit(watch) for _ in range(2)]
        try:
            for writing in [pool.submit(write) for _ in range(4)]:
                writing.result(PATIENCE)
        finally:
            done.set()
        assert all(watch.result(PATIENCE) for watch in implicit_feedback)
    with store.read() as view:
        assert view.setting("pairs") == "40"


# Deadlines, the end.


def test_a_call_whose_deadline_has_passed_is_refused(store: MemoryStore, clock: SteppingClock) -> None:
    past = clock.monotonic() - 1.0
    ran: list[Transaction] = []
    with pytest.raises(Expired), store.read(past) as view:
        contents(view)
    with pytest.raises(Expired):
        store.write(ran.append, past)
    assert not ran


def test_a_call_within_its_deadline_is_done(store: MemoryStore, clock: SteppingClock) -> None:
    soon = clock.monotonic() + 60.0
    store.write(lambda tx: tx.add(a_memory("new"), ()), soon)
    with store.read(soon) as view:
        assert contents(view) == {"new"}


def test_a_write_past_its_deadline_is_refused_without_effect(store: MemoryStore, clock: SteppingClock) -> None:
    busy, go_on = Event(), Event()

    def hold(tx: Transaction) -> None:
        tx.set_setting("late", "no")
        busy.set()
        assert go_on.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(store.write, hold)
        assert busy.wait(PATIENCE)
        late = pool.submit(store.write, lambda tx: tx.set_setting("late", "yes"), clock.monotonic() + 0.05)
        clock.advance(timedelta(seconds=1))
        go_on.set()
        holding.result(PATIENCE)
        with pytest.raises(Expired):
            late.result(PATIENCE)
    with store.read() as view:
        assert view.setting("late") == "no"


def test_a_store_has_a_name_and_passes_its_check(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    change(store, stored.key, next_version(stored.memory))
    assert store.name.strip()
    assert list(store.check()) == []


def test_a_store_can_be_closed_twice(store: MemoryStore) -> None:
    add(store, a_memory())
    store.close()
    store.close()
