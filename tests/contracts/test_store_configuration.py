"""Every store: configuration entries, their versions, and their changes in batches."""

from collections.abc import Callable
from contextlib import closing
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.configuration.decisions import may_see
from hivelore.configuration.model import (
    ConfigChange,
    ConfigEntry,
    ConfigId,
    ConfigScope,
    ConfigVersion,
    EnvLine,
    Place,
)
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.batches import a_batch
from support.configuration import (
    ADAS,
    ALL_SEEN,
    GLOBAL,
    REPO,
    a_line,
    a_secret,
    a_version,
    an_entry,
    config_id,
    entries,
    pruned,
    put,
    versions,
    versions_of,
)
from support.memories import ADA, BOB, instant
from support.stores import Fresh, law

BOBS = Place(ConfigScope.AGENT, BOB)
PLACES = [GLOBAL, ADAS, BOBS, REPO]


@law
@given(written=versions())
def test_a_version_is_read_as_it_was_written(fresh: Fresh, written: ConfigVersion) -> None:
    with fresh() as store:
        put(store, an_entry(version=written.number), written)
        assert versions_of(store) == [written]
        with store.read() as view:
            assert view.config_version(written.entry, written.number) == written
        assert [one.content for one in entries(store)] == [written]


def test_an_entry_is_found_by_its_id_and_its_place(store: MemoryStore) -> None:
    written = [an_entry(number, place, key="SAME") for number, place in enumerate(PLACES, start=1)]
    put(store, *written)
    with store.read() as view:
        assert [view.config_entry(one.id) for one in written] == written
        assert [view.config_entry_at(one.place, "SAME") for one in written] == written
        assert view.config_entry_at(GLOBAL, "OTHER") is None
        assert view.config_entry(config_id(99)) is None
        assert view.config_version(config_id(1), 1) is None


def test_writing_an_entry_again_replaces_it(store: MemoryStore) -> None:
    first = an_entry()
    for one in (first, replace(first, version=None, updated_at=instant(4)), first):
        put(store, one)
        with store.read() as view:
            assert view.config_entry(first.id) == one


def test_two_entries_of_one_place_cannot_have_the_same_key(store: MemoryStore) -> None:
    put(store, an_entry(1, key="SAME"))
    with pytest.raises(Conflict):
        put(store, an_entry(2, key="SAME"))
    put(store, an_entry(2, ADAS, key="SAME"))


def test_entries_are_listed_by_scope_owner_and_key_without_deleted_ones(store: MemoryStore) -> None:
    for number, (place, key) in enumerate(product(reversed(PLACES), ("B", "A")), start=1):
        put(store, an_entry(number, place, key=key), a_version(entry=number))
    put(store, an_entry(99, key="GONE", version=None), a_version(entry=99))
    listed = [(one.entry.place, one.entry.key) for one in entries(store)]
    assert listed == [(place, key) for place in PLACES for key in ("A", "B")]
    assert [one.entry.key for one in entries(store, place=REPO)] == ["A", "B"]


def test_the_entries_of_a_place_are_counted_with_deleted_ones(store: MemoryStore) -> None:
    put(store, an_entry(1, ADAS), an_entry(2, ADAS, version=None), an_entry(3))
    with store.read() as view:
        assert [view.count_config_entries(place) for place in (ADAS, GLOBAL, REPO)] == [2, 1, 0]


def test_a_list_has_the_current_versions(store: MemoryStore) -> None:
    put(store, an_entry(version=2), a_version(1), a_version(2, value="two"), a_version(3, value="three"))
    assert [one.content.value for one in entries(store)] == ["two"]
    assert [one.number for one in versions_of(store)] == [1, 2, 3]


@pytest.mark.parametrize(
    "seen",
    [
        Visibility(own=own, swarm=swarm, others=others)
        for own in (None, ADA)
        for swarm, others in product((True, False), repeat=2)
    ],
)
def test_entries_of_agents_are_private_and_others_shared(store: MemoryStore, seen: Visibility) -> None:
    for number, place in enumerate(PLACES, start=1):
        put(store, an_entry(number, place), a_version(entry=number))
    expected = [place for place in PLACES if may_see(seen, place)]
    assert [one.entry.place for one in entries(store, seen)] == expected
    for place in PLACES:
        assert [one.entry.place for one in entries(store, seen, place)] == [one for one in expected if one == place]
    with store.read() as view:
        for scope in ConfigScope:
            found = view.config_entries(seen, 9, scope=scope)
            assert [one.entry.place for one in found] == [one for one in expected if one.scope is scope]
        ids = [config_id(1 + PLACES.index(one)) for one in expected]
        assert list(view.config_ids_from(seen, "00000000-0000", 9)) == ids
        assert list(view.config_ids_from(seen, config_id(1), 9)) == [one for one in ids if one == config_id(1)]
        assert list(view.config_ids_from(seen, "00000000-0000", 1)) == ids[:1]


def test_entries_are_listed_in_pages(store: MemoryStore) -> None:
    for number, (place, key) in enumerate(product(reversed(PLACES), ("B", "A")), start=1):
        put(store, an_entry(number, place, key=key), a_version(entry=number))
    with store.read() as view:
        whole = view.config_entries(ALL_SEEN, 99)
        for place in range(len(whole)):
            found = view.config_entries(ALL_SEEN, 3, after=whole[place].entry)
            assert found == whole[place + 1 : place + 4]
        assert view.config_entries(ALL_SEEN, 9, place=REPO, after=whole[-2].entry) == whole[-1:]


def test_the_entries_of_a_file_are_those_that_are_there_now(store: MemoryStore) -> None:
    put(store, an_entry(1, version=2), a_version(1, env_path=".env"), a_version(2))
    put(store, an_entry(2, ADAS), a_version(entry=2, env_path=".env"))
    put(store, an_entry(3, version=None), a_version(entry=3, env_path=".env"))
    put(store, an_entry(4, BOBS), a_secret(entry=4, env_path=".env"), an_entry(5), a_version(entry=5, env_path="b.env"))
    with store.read() as view:
        assert [one.entry.id for one in view.config_entries_in_file(".env", 9)] == [config_id(2), config_id(4)]
        assert len(view.config_entries_in_file(".env", 1)) == 1
        assert list(view.config_entries_in_file("none.env", 9)) == []


LINES = [
    a_line("a.env", "A", revision=2, written=2),
    a_line("a.env", "B", problem=Clean("a link"), since=instant(3)),
    a_line("b.env", "A", due_at=instant(4), is_begun=True, is_in_own_file=True),
    a_line("a.env", "A", workspace="x", problem=Clean("gone"), revision=5, written=4, owner=ADA),
]


def put_lines(store: MemoryStore) -> None:
    def work(tx: Transaction) -> None:
        for one in LINES:
            tx.put_env_line(one)

    store.write(work)


def test_lines_are_read_by_file_workspace_and_state(store: MemoryStore) -> None:
    put_lines(store)
    with store.read() as view:
        assert list(view.env_lines("w", "a.env", 9)) == LINES[:2]
        assert list(view.env_lines("w", "a.env", 1)) == LINES[:1]
        assert list(view.due_env_lines("w", 9)) == [LINES[2], LINES[1]]
        assert list(view.due_env_lines("x", 9)) == [LINES[3]]
        for number, late in ((4, [LINES[1], LINES[3]]), (5, LINES[1:])):
            assert list(view.late_env_lines(ALL_SEEN, instant(number), 9)) == late
            assert list(view.late_env_lines(ALL_SEEN, instant(number), 1)) == late[:1]
        for seen, expected in (
            (Visibility(own=ADA, swarm=True), [LINES[1], LINES[3]]),
            (Visibility(own=BOB, swarm=True), [LINES[1]]),
            (Visibility(own=ADA, swarm=False), [LINES[3]]),
        ):
            assert list(view.late_env_lines(seen, instant(0), 9)) == expected
        assert list(view.other_env_lines("w", "a.env", "A", 9)) == [LINES[3]]
        assert list(view.other_env_lines("", "a.env", "A", 1)) == [LINES[0]]
        found: list[EnvLine] = []
        while page := view.env_lines_after(
            (found[-1].workspace, found[-1].path, found[-1].key) if found else ("", "", ""), 2
        ):
            found += page
        assert found == LINES


def test_a_changed_file_makes_its_lines_due_in_all_workspaces(store: MemoryStore) -> None:
    put_lines(store)
    store.write(lambda tx: tx.touch_env_file("a.env", instant(7)))
    with store.read() as view:
        assert [(one.revision, one.written, one.due_at) for one in view.env_lines_after(("", "", ""), 9)] == [
            (3, 2, instant(7)),
            (2, 0, None),
            (1, 0, instant(4)),
            (6, 4, None),
        ]


def test_a_line_is_replaced_and_dropped(store: MemoryStore) -> None:
    put_lines(store)
    fresh = replace(LINES[1], problem=None, since=None, written=1)
    store.write(lambda tx: (tx.put_env_line(fresh), tx.drop_env_line("w", "a.env", "A")))
    store.write(lambda tx: tx.drop_env_line("w", "a.env", "A"))
    with store.read() as view:
        assert list(view.env_lines_after(("", "", ""), 9)) == [fresh, *LINES[2:]]


def test_the_latest_versions_are_read(store: MemoryStore) -> None:
    put(store, *map(a_version, range(1, 6)))
    with store.read() as view:
        assert [one.number for one in view.config_versions(config_id(1), 2)] == [4, 5]


def test_all_entries_are_read_in_pages(store: MemoryStore) -> None:
    written = [an_entry(number, version=None if number % 2 else 1) for number in range(1, 6)]
    put(store, *written)
    found: list[ConfigEntry] = []
    with store.read() as view:
        while page := view.config_entries_after(found[-1].id if found else ConfigId(""), 2):
            found += page
    assert found == written


def test_secrets_of_other_keys_are_read_in_pages(store: MemoryStore) -> None:
    put(store, a_secret(1, key="old"), a_secret(2, key="new"), a_secret(1, 2, key="older"), a_secret(2, 2, key="old"))
    put(store, a_version(1, 3), a_secret(1, 4, sealed=None))
    with store.read() as view:
        first = view.sealed_with_other_keys("new", (ConfigId(""), 0), 2)
        assert [(one.entry, one.number) for one in first] == [(config_id(1), 1), (config_id(2), 1)]
        after = view.sealed_with_other_keys("new", (first[-1].entry, first[-1].number), 2)
        assert [(one.entry, one.number) for one in after] == [(config_id(2), 2)]


def test_early_versions_are_dropped(store: MemoryStore) -> None:
    put(store, *map(a_version, range(1, 5)), a_version(1, 2))
    store.write(lambda tx: tx.drop_config_versions(config_id(1), 2))
    assert [one.number for one in versions_of(store)] == [3, 4]
    assert len(versions_of(store, 2)) == 1


def test_a_dropped_entry_leaves_nothing(store: MemoryStore) -> None:
    put(store, an_entry(1), a_version(), an_entry(2), a_version(entry=2))
    batch = a_batch()
    changes = [ConfigChange(config_id(1), None, 1), ConfigChange(config_id(2), 1, None)]
    store.write(lambda tx: (tx.put_batch(batch), tx.put_config_changes(batch.id, changes)))
    for _ in range(2):
        store.write(lambda tx: tx.drop_config_entry(config_id(1)))
    assert [one.entry.id for one in entries(store)] == [config_id(2)]
    assert versions_of(store, 1) == []
    with store.read() as view:
        assert list(view.config_changes(batch.id)) == changes[1:]


def test_the_changes_of_a_batch_are_deleted_with_it(store: MemoryStore) -> None:
    first, second = a_batch(), a_batch()
    changes = [ConfigChange(config_id(2), 1, 2), ConfigChange(config_id(1), None, 1)]
    store.write(lambda tx: [(tx.put_batch(one), tx.put_config_changes(one.id, changes)) for one in (first, second)])
    with store.read() as view:
        assert list(view.config_changes(first.id)) == sorted(changes, key=lambda one: one.entry)
    store.write(lambda tx: (tx.put_batch(first), tx.drop_batch(second.id)))
    with store.read() as view:
        assert len(view.config_changes(first.id)) == 2
        assert list(view.config_changes(second.id)) == []


def test_old_secrets_are_erased_and_their_versions_stay(store: MemoryStore) -> None:
    kept = [a_secret(3), a_secret(4, replaced_at=instant(5)), a_version(5, replaced_at=instant(1))]
    put(store, an_entry(version=3), a_secret(1, replaced_at=instant(1)), a_secret(2, replaced_at=instant(2)), *kept)
    assert pruned(store, instant(5), 1) == 1
    assert pruned(store, instant(5), 2) == 1
    assert pruned(store, instant(5)) == 0
    assert [one.sealed is None for one in versions_of(store)] == [True, True, False, False, True]
    assert versions_of(store)[2:] == kept


def test_entries_deleted_long_ago_are_dropped(store: MemoryStore) -> None:
    for number, at in enumerate((1, 2, 3, 9), start=1):
        put(store, an_entry(number, version=None, updated_at=instant(at)), a_version(entry=number))
    put(store, an_entry(5, updated_at=instant(1)), a_version(entry=5))
    assert pruned(store, instant(5), 2) == 2
    assert pruned(store, instant(5), 2) == 1
    assert pruned(store, instant(5), 2) == 0
    left = [number for number in range(1, 6) if versions_of(store, number)]
    assert left == [4, 5]


def test_configuration_survives_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        put(store, an_entry(), a_secret())
    with closing(open_durable()) as store:
        assert [one.content for one in entries(store)] == [a_secret()]


@law
@given(keys=st.lists(st.sampled_from("ABC"), unique=True))
def test_counts_include_entries_and_versions(fresh: Fresh, keys: list[str]) -> None:
    with fresh() as store:
        for number, key in enumerate(keys, start=1):
            put(store, an_entry(number, key=key), a_version(1, number), a_version(2, number))
        with store.read() as view:
            assert (view.counts().config_entries, view.counts().config_versions) == (len(keys), 2 * len(keys))
