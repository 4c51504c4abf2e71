"""Every store: a memory is replaced by its next version; what did not change keeps its keys and vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.memories.model import Action, Memory, Provenance, Scope, Version
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import MemoryStore
from support.memories import (
    ADA,
    BOB,
    EVERYTHING,
    a_memory,
    instant,
    memories,
    next_version,
    whole,
)
from support.stores import Fresh, add, change, forget, history, law, listed, present

PATH = Clean("/memory/build.md")


# The next version.


@law
@given(first=memories(), other=memories())
def test_a_change_replaces_all_fields_except_access_counts(fresh: Fresh, first: Memory, other: Memory) -> None:
    second = replace(other, id=first.id, version=2)
    with fresh() as store:
        stored = add(store, first)
        change(store, stored.key, second, whole(second.content))
        found = present(store, first)
        passed = listed(store)
    expected = replace(second, access_count=first.access_count, accessed_at=first.accessed_at)
    assert found.key == stored.key
    assert found.memory == expected
    assert passed == [expected]


def test_accesses_counted_since_a_memory_was_read_survive_its_change(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    store.write(lambda tx: tx.count_reads({stored.key: (2, instant(3))}))
    change(store, stored.key, next_version(stored.memory))
    now = present(store, stored.memory).memory
    assert (now.access_count, now.accessed_at) == (2, instant(3))


def test_a_previous_state_of_a_memory_can_be_dropped(store: MemoryStore) -> None:
    stored, other = add(store, a_memory()), add(store, a_memory("Another one."))
    second = next_version(stored.memory, "New")
    change(store, stored.key, second, whole(second.content))
    third = next_version(second)
    change(store, stored.key, third)
    change(store, other.key, next_version(other.memory))
    for key, number in ((stored.key, 2), (stored.key, 3), (stored.key, 9), (DocumentKey(99), 1)):
        store.write(lambda tx, key=key, number=number: tx.drop_version(key, number))
    assert [one.number for one in history(store, stored.key)] == [1, 3]
    assert [one.number for one in history(store, other.key)] == [1, 2]
    change(store, stored.key, next_version(third))
    assert [one.number for one in history(store, stored.key)] == [1, 3, 4]


def test_filters_apply_to_the_new_version_only(store: MemoryStore) -> None:
    stored = add(store, a_memory(tags=(Clean("old"), Clean("kept")), category=Clean("old")))
    change(store, stored.key, next_version(stored.memory, tags=(Clean("new"), Clean("kept")), category=Clean("new")))
    everyone = EVERYTHING.visibility
    for tag, count in (("old", 0), ("new", 1), ("kept", 1)):
        assert len(listed(store, Filter(visibility=everyone, tag=Clean(tag)))) == count
    assert listed(store, Filter(visibility=everyone, categories=frozenset({Clean("old")}))) == []
    assert len(listed(store, Filter(visibility=everyone, categories=frozenset({Clean("new")})))) == 1


def test_a_promoted_memory_is_seen_by_others_and_a_demoted_one_no_longer(store: MemoryStore) -> None:
    seen_by_bob = Filter(visibility=Visibility(own=BOB, swarm=True))
    stored = add(store, a_memory())
    assert listed(store, seen_by_bob) == []
    shared = next_version(stored.memory, scope=Scope.SWARM)
    change(store, stored.key, shared, action=Action.PROMOTED)
    assert listed(store, seen_by_bob) == [shared]
    change(store, stored.key, next_version(shared, scope=Scope.AGENT), action=Action.DEMOTED)
    assert listed(store, seen_by_bob) == []


def test_an_unknown_memory_cannot_be_changed(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    forget(store, stored.key)
    with pytest.raises(NotFound):
        change(store, stored.key, next_version(stored.memory))
    assert listed(store) == []


@pytest.mark.parametrize("version", [1, 2, 4, 5])
def test_a_wrong_version_number_is_refused(store: MemoryStore, version: int) -> None:
    stored = add(store, a_memory())
    second = next_version(stored.memory)
    change(store, stored.key, second)
    with pytest.raises(Stale) as error:
        change(store, stored.key, next_version(second, "Overwritten.", version=version), whole("Overwritten."))
    assert error.value.current == 2
    assert listed(store) == [second]
    assert len(history(store, stored.key)) == 2


# What only one may have.


@pytest.mark.parametrize("field", ["source_path", "external_id"])
@pytest.mark.parametrize(
    ("taken_by", "before", "after"), [(BOB, Scope.AGENT, Scope.SWARM), (ADA, Scope.SWARM, Scope.AGENT)]
)
def test_a_change_of_scope_may_not_take_a_used_name(
    store: MemoryStore, field: str, taken_by: str, before: Scope, after: Scope
) -> None:
    mine = replace(a_memory(scope=before), **{field: "n"})
    stored = add(store, mine)
    add(store, replace(a_memory(scope=after), owner=taken_by, **{field: "n"}))
    all_before = listed(store)
    with pytest.raises(Conflict):
        change(store, stored.key, next_version(mine, scope=after), whole(mine.content), Action.PROMOTED)
    assert listed(store) == all_before
    assert [version.number for version in history(store, stored.key)] == [1]


def test_a_change_may_not_take_the_path_of_another_memory(store: MemoryStore) -> None:
    add(store, a_memory(source_path=PATH))
    stored = add(store, a_memory())
    with pytest.raises(Conflict):
        change(store, stored.key, next_version(stored.memory, source_path=PATH))
    assert present(store, stored.memory) == stored


def test_a_memory_may_keep_its_own_unique_fields(store: MemoryStore) -> None:
    stored = add(store, a_memory(source_path=PATH, external_id=Clean("x")))
    change(store, stored.key, next_version(stored.memory))
    with store.read() as view:
        there = view.get(stored.memory.id)
        assert (
            list(view.memories_at_path(ADA, PATH)) == list(view.memories_with_external_id(ADA, Clean("x"))) == [there]
        )


def test_a_released_path_can_be_used_again(store: MemoryStore) -> None:
    stored = add(store, a_memory(source_path=PATH))
    moved = next_version(stored.memory, source_path=Clean("/elsewhere"))
    change(store, stored.key, moved)
    heir = add(store, a_memory(source_path=PATH))
    with store.read() as view:
        assert list(view.memories_at_path(ADA, PATH)) == [heir]
        assert list(view.memories_at_path(ADA, Clean("/elsewhere"))) == [view.get(moved.id)]
    change(store, stored.key, next_version(moved, source_path=None, scope=Scope.SWARM))
    with store.read() as view:
        assert not view.memories_at_path(ADA, Clean("/elsewhere"))


# History.


def test_the_history_has_every_version_with_its_author_oldest_first(store: MemoryStore) -> None:
    first = a_memory(
        "one", provenance=Provenance(actor=None, interface=Interface.CLI), tags=(Clean("t"),), project=Clean("p")
    )
    stored = add(store, first)
    second = next_version(first, "two", name=Clean("Renamed"), expires_at=instant(9), tags=())
    change(store, stored.key, second, whole("two"), Action.EDITED)
    third = next_version(second, scope=Scope.SWARM, provenance=Provenance(actor=ADA, interface=Interface.HOOK))
    change(store, stored.key, third, None, Action.PROMOTED)
    assert list(history(store, stored.key)) == [
        Version(
            number=1,
            at=first.updated_at,
            action=Action.CREATED,
            actor=None,
            interface=Interface.CLI,
            reason=None,
            scope=Scope.AGENT,
            name=first.name,
            content=Clean("one"),
            summary=first.summary,
            category=first.category,
            tags=(Clean("t"),),
            project=Clean("p"),
            expires_at=None,
            subject=None,
            valid_from=None,
        ),
        Version(
            number=2,
            at=second.updated_at,
            action=Action.EDITED,
            actor=BOB,
            interface=Interface.REST,
            reason=Clean("it was wrong"),
            scope=Scope.AGENT,
            name=Clean("Renamed"),
            content=Clean("two"),
            summary=first.summary,
            category=first.category,
            tags=(),
            project=Clean("p"),
            expires_at=instant(9),
            subject=None,
            valid_from=None,
        ),
        Version(
            number=3,
            at=third.updated_at,
            action=Action.PROMOTED,
            actor=ADA,
            interface=Interface.HOOK,
            reason=None,
            scope=Scope.SWARM,
            name=Clean("Renamed"),
            content=Clean("two"),
            summary=first.summary,
            category=first.category,
            tags=(),
            project=Clean("p"),
            expires_at=instant(9),
            subject=None,
            valid_from=None,
        ),
    ]


@law
@given(states=st.lists(memories(), min_size=1, max_size=4), action=st.sampled_from([Action.EDITED, Action.DEMOTED]))
def test_later_versions_do_not_alter_earlier_ones(fresh: Fresh, states: list[Memory], action: Action) -> None:
    versions = [replace(state, id=states[0].id, version=number) for number, state in enumerate(states, 1)]
    with fresh() as store:
        stored = add(store, versions[0])
        for later in versions[1:]:
            change(store, stored.key, later, whole(later.content), action)
        past = history(store, stored.key)
    assert [version.action for version in past] == [Action.CREATED] + [action] * (len(versions) - 1)
    shared = {*Version.__struct_fields__} & {*Memory.__struct_fields__}
    for version, memory in zip(past, versions, strict=True):
        assert {name: getattr(version, name) for name in shared} == {name: getattr(memory, name) for name in shared}
        assert (version.number, version.at) == (memory.version, memory.updated_at)
        provenance = memory.provenance
        assert (version.actor, version.interface, version.reason) == (
            provenance.actor,
            provenance.interface,
            provenance.reason,
        )


def test_each_memory_has_a_history_of_its_own(store: MemoryStore) -> None:
    one, other = add(store, a_memory("one")), add(store, a_memory("other"))
    change(store, one.key, next_version(one.memory, "changed"), whole("changed"))
    assert [version.content for version in history(store, one.key)] == ["one", "changed"]
    assert [version.content for version in history(store, other.key)] == ["other"]


def test_reading_makes_no_version(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    store.write(lambda tx: tx.count_reads({stored.key: (1, instant(1))}))
    assert len(history(store, stored.key)) == 1
    assert present(store, stored.memory).memory.updated_at == stored.memory.updated_at


# What is not a version.


def test_a_renewal_changes_the_expiry_without_a_version(store: MemoryStore) -> None:
    memory = a_memory(expires_at=instant(1))
    stored = add(store, memory)
    other = add(store, a_memory(expires_at=instant(1)))
    store.write(lambda tx: tx.set_expiry(stored.key, instant(5)))
    renewed = replace(memory, expires_at=instant(5))
    assert present(store, memory).memory == renewed
    assert present(store, other.memory) == other
    (version,) = history(store, stored.key)
    assert (version.number, version.at, version.expires_at) == (1, memory.updated_at, instant(5))
    live = Filter(visibility=EVERYTHING.visibility, live_at=instant(3))
    assert listed(store, live) == [renewed]
    store.write(lambda tx: tx.set_expiry(stored.key, None))
    assert present(store, memory).memory == replace(memory, expires_at=None)


def test_access_counts_add_up_and_the_latest_time_is_stored(store: MemoryStore) -> None:
    one, other = add(store, a_memory()), add(store, a_memory())
    unknown = DocumentKey(other.key + 1_000)
    store.write(
        lambda tx: tx.count_reads({one.key: (2, instant(5)), other.key: (1, instant(1)), unknown: (7, instant(9))})
    )
    store.write(lambda tx: tx.count_reads({one.key: (3, instant(4))}))
    for stored, expected in ((one, (5, instant(5))), (other, (1, instant(1)))):
        now = present(store, stored.memory).memory
        assert (now.access_count, now.accessed_at) == expected
        assert replace(now, access_count=0, accessed_at=None) == stored.memory
