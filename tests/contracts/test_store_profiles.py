"""Every store: profiles of agents, their versions, and their changes in batches."""

from collections.abc import Callable
from contextlib import closing

from hypothesis import given

from hivelore.core.agents import AgentId
from hivelore.core.values import replace
from hivelore.identity.profile import ProfileChange, ProfileVersion
from hivelore.storage.ports import MemoryStore
from support.batches import a_batch
from support.memories import ADA, BOB
from support.profiles import a_head, a_version, put, versions, versions_of
from support.stores import Fresh, law


@law
@given(written=versions())
def test_a_version_is_read_as_it_was_written(fresh: Fresh, written: ProfileVersion) -> None:
    with fresh() as store:
        put(store, a_head(), written)
        assert versions_of(store) == [written]
        with store.read() as view:
            assert view.profile_version(ADA, written.number) == written
            assert view.profile_version_sizes(ADA) == [(written.number, written.content.size)]


def test_profiles_are_listed_by_agent_and_replaced(store: MemoryStore) -> None:
    adas, bobs = a_head(), a_head(BOB, version=2, last=3, capabilities=("x", "y"))
    put(store, replace(bobs, version=1), adas, bobs)
    with store.read() as view:
        assert list(view.profiles()) == [adas, bobs]
        assert view.profile(BOB) == bobs
        assert view.profile(AgentId("nobody")) is None
        assert view.profile_version(BOB, 1) is None


def test_versions_are_read_in_pages_newest_first(store: MemoryStore) -> None:
    written = [a_version(number, soul=f"soul {number}") for number in range(1, 6)]
    put(store, *written, a_version(9, BOB))
    with store.read() as view:
        first = view.profile_versions(ADA, 6, 2)
        assert list(first) == [written[4], written[3]]
        assert list(view.profile_versions(ADA, first[-1].number, 9)) == [written[2], written[1], written[0]]
        assert [number for number, _ in view.profile_version_sizes(ADA)] == [5, 4, 3, 2, 1]


def test_early_versions_are_dropped(store: MemoryStore) -> None:
    put(store, *map(a_version, range(1, 5)), a_version(1, BOB))
    for _ in range(2):
        store.write(lambda tx: tx.drop_profile_versions(ADA, 2, 4))
    assert [one.number for one in versions_of(store)] == [4, 3]
    store.write(lambda tx: tx.drop_profile_versions(ADA, 4, 3))
    assert [one.number for one in versions_of(store)] == [3]
    assert len(versions_of(store, BOB)) == 1


def test_the_changes_of_a_batch_are_deleted_with_it(store: MemoryStore) -> None:
    first, second = a_batch(), a_batch()
    changes = [ProfileChange(BOB, 1, 2), ProfileChange(ADA, 3, 4)]
    store.write(lambda tx: [(tx.put_batch(one), tx.put_profile_changes(one.id, changes)) for one in (first, second)])
    with store.read() as view:
        assert list(view.profile_changes(first.id)) == sorted(changes, key=lambda one: one.agent)
    store.write(lambda tx: (tx.put_batch(first), tx.drop_batch(second.id)))
    with store.read() as view:
        assert len(view.profile_changes(first.id)) == 2
        assert list(view.profile_changes(second.id)) == []


def test_profiles_are_counted(store: MemoryStore) -> None:
    put(store, a_head(), a_head(BOB), *map(a_version, range(1, 4)))
    with store.read() as view:
        assert (view.counts().profiles, view.counts().profile_versions) == (2, 3)


def test_profiles_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        put(store, a_head(), a_version())
    with closing(open_durable()) as store:
        assert versions_of(store) == [a_version()]
