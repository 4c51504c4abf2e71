"""Every store: fact keys, valid times and superseding memories."""

from collections.abc import Callable
from contextlib import closing

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexing.model import ChangeKind
from hivelore.memories.model import Memory, MemoryId, Scope, Topic
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, BOB, a_memory, instant, next_version
from support.stores import add, change, forget, history, present

PORT = Clean("db.port")


def a_fact(minute: float, content: str = "The port is 5432.", project: str | None = None) -> Memory:
    named = None if project is None else Clean(project)
    return a_memory(content, subject=PORT, project=named, valid_from=instant(minute))


def neighbours(store: MemoryStore, key: DocumentKey) -> tuple[MemoryId | None, MemoryId | None]:
    with store.read() as view:
        before, after = view.adjacent_facts(key)
    return _id(before), _id(after)


def at(store: MemoryStore, topic: Topic, minute: float | None) -> MemoryId | None:
    with store.read() as view:
        return _id(view.fact_at(topic, None if minute is None else instant(minute)))


def _id(stored: Stored | None) -> MemoryId | None:
    return None if stored is None else stored.memory.id


def link(store: MemoryStore, key: DocumentKey, minute: float | None, supersedes: MemoryId | None = None) -> None:
    store.write(lambda tx: tx.set_validity(key, None if minute is None else instant(minute), supersedes))


def test_facts_of_a_key_are_ordered_by_valid_time(store: MemoryStore) -> None:
    third, first, second = (add(store, a_fact(minute)) for minute in (3, 1, 2))
    topic = Topic(ADA, None, PORT)
    assert neighbours(store, second.key) == (first.memory.id, third.memory.id)
    assert neighbours(store, first.key) == (None, second.memory.id)
    assert neighbours(store, third.key) == (second.memory.id, None)
    assert [at(store, topic, minute) for minute in (0.9, 1, 2.5, 9)] == [
        None,
        first.memory.id,
        second.memory.id,
        third.memory.id,
    ]
    assert at(store, topic, None) == third.memory.id


def test_facts_of_the_same_time_are_in_order_of_insertion(store: MemoryStore) -> None:
    one, other, last = (add(store, a_fact(1)) for _ in range(3))
    assert neighbours(store, other.key) == (one.memory.id, last.memory.id)
    assert at(store, Topic(ADA, None, PORT), 1) == last.memory.id


def test_a_fact_without_a_valid_time_is_valid_since_its_creation(store: MemoryStore) -> None:
    dated, undated = add(store, a_fact(5)), add(store, a_memory(subject=PORT, created_at=instant(4)))
    assert neighbours(store, dated.key) == (undated.memory.id, None)


@pytest.mark.parametrize(
    "other",
    [
        {"owner": BOB},
        {"scope": Scope.SWARM},
        {"project": Clean("hive")},
        {"project": Clean("")},
        {"subject": Clean("db.port ")},
        {"subject": None},
    ],
    ids=str,
)
def test_another_scope_project_or_subject_is_another_fact_key(store: MemoryStore, other: dict[str, Clean]) -> None:
    fact, elsewhere = a_fact(1), replace(a_fact(2), **other)
    stored = add(store, fact)
    assert neighbours(store, add(store, elsewhere).key) == (None, None)
    assert neighbours(store, stored.key) == (None, None)
    assert at(store, Topic(ADA, None, PORT), None) == fact.id


def test_shared_facts_of_several_owners_have_one_key(store: MemoryStore) -> None:
    one = add(store, replace(a_fact(1), scope=Scope.SWARM))
    other = add(store, replace(a_fact(2), scope=Scope.SWARM, owner=BOB))
    assert neighbours(store, other.key) == (one.memory.id, None)


def test_superseding_a_memory_sets_its_end_without_a_version(store: MemoryStore) -> None:
    one, other = add(store, a_fact(1)), add(store, a_fact(2))
    with store.read() as view:
        before = view.change_cursor()
    link(store, one.key, 2)
    link(store, other.key, None, one.memory.id)
    assert present(store, one.memory).memory == replace(one.memory, valid_until=instant(2))
    assert present(store, other.memory).memory == replace(other.memory, supersedes=one.memory.id)
    assert len(history(store, one.key)) == 1
    with store.read() as view:
        changes = [(each.kind, each.document) for _, batch in view.changes(before) for each in batch]
        assert [stored.memory.id for stored in view.successors_of(one.memory.id)] == [other.memory.id]
        assert not view.successors_of(other.memory.id)
        known = view.attributes([one.key, other.key])
        assert (known[one.key].superseded, known[other.key].superseded) == (True, False)
    assert changes == [(ChangeKind.ATTRIBUTES, one.key), (ChangeKind.ATTRIBUTES, other.key)]
    link(store, one.key, None)
    link(store, other.key, None)
    assert present(store, one.memory).memory == one.memory
    assert present(store, other.memory).memory == other.memory


def test_superseding_a_missing_memory_is_ignored(store: MemoryStore) -> None:
    stored = add(store, a_fact(1))
    forget(store, stored.key)
    link(store, stored.key, 2)
    assert at(store, Topic(ADA, None, PORT), None) is None


def test_a_version_has_the_subject_and_the_valid_time(store: MemoryStore) -> None:
    stored = add(store, a_fact(1))
    change(store, stored.key, next_version(stored.memory, subject=Clean("cache.port"), valid_from=None))
    past = [(version.subject, version.valid_from) for version in history(store, stored.key)]
    assert past == [(PORT, instant(1)), (Clean("cache.port"), None)]
    with store.read() as view:
        assert list(view.histories([stored.key])[stored.key]) == list(history(store, stored.key))
    assert at(store, Topic(ADA, None, PORT), None) is None
    assert at(store, Topic(ADA, None, Clean("cache.port")), None) == stored.memory.id


def test_valid_times_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        one, other = add(store, a_fact(1)), add(store, a_fact(2))
        link(store, one.key, 2)
        link(store, other.key, None, one.memory.id)
    with closing(open_durable()) as store:
        assert present(store, one.memory).memory.valid_until == instant(2)
        assert neighbours(store, other.key) == (one.memory.id, None)
        with store.read() as view:
            assert [stored.memory.id for stored in view.successors_of(one.memory.id)] == [other.memory.id]
