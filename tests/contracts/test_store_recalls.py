"""Every store: the log of recalls."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.feedback.recalls import Recall, RecallFilter
from hivelore.memories.model import MemoryId, Scope
from hivelore.search.model import RecallId, Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import ADA, BOB, a_memory, instant, memory_id
from support.recalls import ALL_RECALLS, a_recall, log, logged, recalls
from support.stores import Fresh, add, change, forget, law

MEMORIES = [memory_id(number) for number in (901, 902, 903)]


def given_ids(recall: Recall) -> list[MemoryId]:
    return [hit.memory for hit in recall.hits]


@law
@given(written=st.lists(recalls(MEMORIES), max_size=4))
def test_a_recall_is_read_as_it_was_logged(fresh: Fresh, written: list[Recall]) -> None:
    with fresh() as store:
        for memory in MEMORIES:
            add(store, a_memory(id=memory))
        log(store, *written)
        assert list(logged(store)) == sorted(written, key=lambda one: (one.at, one.id), reverse=True)


def test_dropped_recalls_are_gone_if_they_are_recent(store: MemoryStore) -> None:
    old, first, second, kept = (a_recall(at=instant(minute)) for minute in (0, 5, 6, 7))
    log(store, old, first, second, kept)
    store.write(lambda tx: tx.drop_recalls([old.id, first.id, second.id, RecallId("r-unknown")], instant(5)))
    assert list(logged(store)) == [kept, old]
    store.write(lambda tx: tx.drop_recalls([], instant(0)))
    assert list(logged(store)) == [kept, old]


def test_the_recall_log_is_empty_at_first(store: MemoryStore) -> None:
    log(store)
    assert list(logged(store)) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_hold_every_recall_once_newest_first(store: MemoryStore, limit: int) -> None:
    written = [a_recall(at=instant(minute)) for minute in (3, 1, 2, 2, 2, 0)]
    log(store, *written[:3])
    log(store, *written[3:])
    found: list[Recall] = []
    after: tuple[datetime, RecallId] | None = None
    while True:
        with store.read() as view:
            page = view.recalls(ALL_RECALLS, after, limit)
        found += page
        if len(page) < limit:
            break
        after = page[-1].at, page[-1].id
    assert sorted(found, key=lambda one: one.id) == written
    assert all((one.at, one.id) > (next_one.at, next_one.id) for one, next_one in pairwise(found))


def test_recalls_are_filtered_by_agent(store: MemoryStore) -> None:
    written = {agent: a_recall(agent=agent) for agent in (ADA, BOB, None)}
    log(store, *written.values())
    everybody = ALL_RECALLS
    agents = replace(everybody, operators=False)
    assert set(logged(store, everybody)) == set(written.values())
    assert set(logged(store, agents)) == {written[ADA], written[BOB]}
    for where in (everybody, agents):
        assert list(logged(store, replace(where, agent=BOB))) == [written[BOB]]


def test_invisible_hits_are_counted_and_the_others_keep_their_ranks(store: MemoryStore) -> None:
    hidden = add(store, a_memory(owner=ADA)).memory
    shared = add(store, a_memory(owner=ADA, scope=Scope.SWARM)).memory
    own = add(store, a_memory(owner=BOB)).memory
    log(store, a_recall(hidden.id, shared.id, own.id))
    (seen,) = logged(store, replace(ALL_RECALLS, seen=Visibility(own=BOB, swarm=True)))
    assert [(hit.rank, hit.memory) for hit in seen.hits] == [(2, shared.id), (3, own.id)]
    assert seen.withheld == 1
    (whole,) = logged(store)
    assert (given_ids(whole), whole.withheld) == ([hidden.id, shared.id, own.id], 0)


def test_deleting_a_memory_removes_it_from_recalls(store: MemoryStore) -> None:
    kept, doomed = add(store, a_memory()), add(store, a_memory())
    log(store, a_recall(doomed.memory.id, kept.memory.id))
    forget(store, doomed.key)
    (recall,) = logged(store)
    assert [(hit.rank, hit.memory) for hit in recall.hits] == [(2, kept.memory.id)]
    assert recall.withheld == 1
    assert list(logged(store, replace(ALL_RECALLS, memory=doomed.memory.id))) == []


def test_a_memory_deleted_before_its_recall_is_logged_is_left_out(
    store: MemoryStore,
) -> None:
    doomed = add(store, a_memory())
    written = a_recall(doomed.memory.id)
    forget(store, doomed.key)
    log(store, written)
    add(store, doomed.memory)
    assert [(one.hits, one.withheld) for one in logged(store)] == [((), 1)]


def test_a_restored_memory_does_not_return_to_earlier_recalls(store: MemoryStore) -> None:
    first = add(store, a_memory())
    log(store, a_recall(first.memory.id))
    forget(store, first.key)
    add(store, first.memory)
    log(store, a_recall(first.memory.id))
    assert [len(one.hits) for one in logged(store)] == [1, 0]
    assert len(logged(store, replace(ALL_RECALLS, memory=first.memory.id))) == 1


def test_an_edited_memory_stays_in_the_log(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    log(store, a_recall(stored.memory.id))
    edited = replace(stored.memory, version=2, scope=Scope.SWARM)
    change(store, stored.key, edited)
    (recall,) = logged(store, replace(ALL_RECALLS, seen=Visibility(own=BOB, swarm=True)))
    assert given_ids(recall) == [stored.memory.id]


def test_recalls_are_filtered_by_memory(store: MemoryStore) -> None:
    # More than ten, so that a key begins as another one is.
    memories = [add(store, a_memory()).memory for _ in range(25)]
    written = [a_recall(*(one.id for one in memories[first : first + 3])) for first in range(23)]
    log(store, *written)
    for memory in memories:
        expected = {one.id for one in written if memory.id in given_ids(one)}
        assert {one.id for one in logged(store, replace(ALL_RECALLS, memory=memory.id))} == expected
    assert list(logged(store, replace(ALL_RECALLS, memory=memory_id(999)))) == []


def test_recalls_cannot_be_filtered_by_an_invisible_memory(store: MemoryStore) -> None:
    hidden = add(store, a_memory(owner=ADA)).memory
    log(store, a_recall(hidden.id))
    where = RecallFilter(seen=Visibility(own=BOB, swarm=True), operators=True, memory=hidden.id)
    assert list(logged(store, where)) == []


@law
@given(
    minutes=st.lists(st.integers(0, 5), max_size=8),
    before=st.integers(-1, 6),
    keep=st.integers(1, 9),
    limit=st.integers(1, 9),
)
def test_pruning_deletes_the_oldest_beyond_age_or_number(
    fresh: Fresh, minutes: list[int], before: int, keep: int, limit: int
) -> None:
    written = sorted((a_recall(at=instant(minute)) for minute in minutes), key=lambda one: (one.at, one.id))
    doomed = [one for place, one in enumerate(written) if one.at < instant(before) or len(written) - place > keep][
        :limit
    ]
    with fresh() as store:
        log(store, *written)
        assert store.write(lambda tx: tx.prune_recalls(instant(before), keep, limit)) == len(doomed)
        assert list(logged(store)) == [one for one in reversed(written) if one not in doomed]


def test_a_failed_transaction_logs_nothing(store: MemoryStore) -> None:
    def work(tx: Transaction) -> None:
        tx.log_recalls([a_recall()])
        raise LookupError

    with pytest.raises(LookupError):
        store.write(work)
    assert list(logged(store)) == []


def test_recalls_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        memory = add(store, a_memory()).memory
        log(store, written := a_recall(memory.id))
    with closing(open_durable()) as store:
        assert list(logged(store)) == [written]


def test_the_times_of_recalls_are_found_by_document(store: MemoryStore) -> None:
    first, second, third = (add(store, a_memory()) for _ in range(3))
    log(
        store,
        a_recall(first.memory.id, second.memory.id, at=instant(3)),
        a_recall(first.memory.id, at=instant(2), agent=BOB),
        a_recall(first.memory.id, at=instant(4), agent=None),
        a_recall(second.memory.id, at=instant(0)),
        a_recall(at=instant(5)),
    )
    both = {first.key: [instant(3), instant(2)], second.key: [instant(3)]}
    with store.read() as view:
        assert view.recall_times([first.key, second.key, third.key], instant(1), 10) == both
        assert view.recall_times([second.key], instant(0), 10) == {second.key: [instant(3), instant(0)]}
        assert view.recall_times([first.key], instant(0), 2) == {first.key: [instant(3)]}
        assert view.recall_times([], instant(0), 10) == {}
