"""Every vector engine: what was written before a snapshot is in its answers, and nothing else."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexes.ports import VectorIndex
from hivelore.indexing.model import Vector
from hivelore.memories.model import Scope
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Visibility
from support.memories import ADA, BOB, EVERYTHING, instant, operational
from support.vector_engines import MANY, NORTH, Library, ask, assert_right, clustered, follow, in_memory, near
from support.wrong_vectors import KeepsTheForgotten, LooksOnce

FOR_ADA = Filter(visibility=Visibility(own=ADA, swarm=True))


def test_a_write_is_seen_after_following(library: Library) -> None:
    assert library.found(NORTH) == []
    keys: list[DocumentKey] = []
    for degrees in range(90):
        keys.append(library.add(near(degrees)))
        assert library.found(NORTH, limit=1) == keys[:1]
    assert library.found(NORTH, limit=50) == keys[:50]


def test_a_forgotten_document_is_not_found(library: Library) -> None:
    gone, kept = library.add(near(0)), library.add(near(10))
    assert library.found(NORTH) == [gone, kept]
    library.forget(gone)
    answer = library.nearest(NORTH, also=[gone])
    assert [found.document for found in answer.nearest] == [kept]
    assert answer.spread.count == 1


def test_added_again_it_is_found_again(library: Library) -> None:
    first = library.add(near(0))
    library.found(NORTH)
    library.forget(first)
    assert library.found(NORTH) == []
    again = library.add(near(0))
    assert library.found(NORTH) == [again]


def test_after_an_edit_the_old_vector_is_gone(library: Library) -> None:
    edited, other = library.add(near(0), near(90)), library.add(near(30))
    assert library.found(NORTH) == [edited, other]
    library.edit(edited, near(60))
    answer = library.nearest(NORTH)
    assert [found.document for found in answer.nearest] == [other, edited]
    assert answer.spread.count == 2


def test_another_vector_for_the_same_passage_takes_its_place(library: Library) -> None:
    key = library.add(near(170))
    others = library.add_all(near(degrees) for degrees in np.linspace(20, 40, MANY))
    assert library.found(NORTH, limit=1) == others[:1]
    library.embed(key, [near(10)])
    assert library.found(NORTH, limit=1) == [key]
    assert library.nearest(NORTH).spread.count == MANY + 1


def test_vectors_that_come_later_are_found_then(library: Library) -> None:
    key = library.add(near(40))
    waiting = library.add()
    library.edit(key, near(40), near(30), near(20))
    library.edit(waiting)
    assert library.found(NORTH) == [key]
    with library.store.read() as view:
        assert ask(library.index, view, NORTH).spread.count == 3


def test_what_is_promoted_is_found_by_others_after_following(library: Library) -> None:
    key = library.add(near(0), owner=BOB)
    assert library.found(NORTH, FOR_ADA) == []
    library.relabel(key, scope=Scope.SWARM)
    assert library.found(NORTH, FOR_ADA) == [key]
    library.relabel(key, scope=Scope.AGENT)
    assert library.found(NORTH, FOR_ADA) == []


def test_a_changed_expiry_counts_after_following(library: Library) -> None:
    key = library.add(near(0))
    alive = replace(EVERYTHING, live_at=instant(10))
    assert library.found(NORTH, alive) == [key]
    library.relabel(key, expires_at=instant(5))
    assert library.found(NORTH, alive) == []
    library.relabel(key, expires_at=instant(10) + timedelta(microseconds=1))
    assert library.found(NORTH, alive) == [key]


def test_a_renewed_expiry_counts_after_following(library: Library) -> None:
    key = library.add(near(0), expires_at=instant(5))
    alive = replace(EVERYTHING, live_at=instant(10))
    assert library.found(NORTH, alive) == []
    library.store.write(lambda tx: tx.set_expiry(key, None))
    assert library.found(NORTH, alive) == [key]


def test_a_service_is_filtered_by(library: Library) -> None:
    plain = library.add(near(0))
    running = library.add(near(60), operational=operational("jellyfin"))
    assert library.found(NORTH, replace(EVERYTHING, services=frozenset({Clean("jellyfin")}))) == [running]
    assert library.found(NORTH, replace(EVERYTHING, operational=False)) == [plain]
    library.relabel(running, operational=None)
    assert library.found(NORTH, replace(EVERYTHING, services=frozenset({Clean("jellyfin")}))) == []


def test_a_tag_is_filtered_by(library: Library) -> None:
    library.add_all([near(degrees) for degrees in np.linspace(0, 30, MANY)])
    tagged = library.add(near(60), tags=(Clean("java"),))
    where = replace(EVERYTHING, tag=Clean("java"))
    assert library.found(NORTH, where) == [tagged]
    library.relabel(tagged, tags=())
    assert library.found(NORTH, where) == []


def test_many_changes_at_once_are_followed(library: Library) -> None:
    rows = clustered(1_300, seed=6)
    library.found(NORTH)
    keys = library.add_all(rows)
    for key in keys[::50]:
        library.forget(key)
    with library.store.read() as view:
        assert_right(library.index, view, NORTH, limit=50)


def test_an_index_that_comes_late_finds_the_same(library: Library, new_index: Callable[[], VectorIndex]) -> None:
    keys = library.add_all(clustered(MANY, seed=7))
    library.found(NORTH)
    for key in keys[: MANY // 2 : 2]:
        library.edit(key, near(float(key)))
    for key in keys[1::3]:
        library.forget(key)
    with library.store.read() as view:
        assert ask(library.index, view, NORTH, limit=50).nearest == ask(new_index(), view, NORTH, limit=50).nearest


def test_an_older_snapshot_is_answered_as_of_then(library: Library) -> None:
    gone, edited, promoted, expired, kept = (library.add(near(degrees)) for degrees in (0, 10, 20, 30, 40))
    library.relabel(promoted, owner=BOB)
    for_ada = replace(FOR_ADA, live_at=instant(10))
    before = [gone, edited, expired, kept]
    with library.store.read() as old:
        assert [found.document for found in ask(library.index, old, NORTH, for_ada).nearest] == before
        library.forget(gone)
        library.edit(edited, near(90))
        library.relabel(promoted, scope=Scope.SWARM)
        library.relabel(expired, expires_at=instant(5))
        new = library.add_all([near(1)] * MANY)
        assert library.found(NORTH, for_ada, limit=50) == new[:50]
        for answer in (library.index.nearest(old, NORTH, for_ada, 10), ask(library.index, old, NORTH, for_ada)):
            assert [found.document for found in answer.nearest] == before
            assert answer.spread.count == 4
        assert_right(library.index, old, NORTH, for_ada, also=[gone, promoted])
    assert library.found(NORTH, for_ada, limit=2 * MANY) == [*new, promoted, kept, edited]


def test_a_store_of_another_incarnation_is_read_anew(library: Library) -> None:
    key = library.add(near(0))
    assert library.found(NORTH) == [key]
    other = library.add(near(10))
    # A store that learns of it itself refuses to go on, so the last thing that it does is to read.
    library.store.write(lambda tx: tx.set_setting("incarnation", "another"))
    with library.store.read() as view:
        library.index.follow(view)
        follow(library.index, view)
        assert library.index.ready
        assert_right(library.index, view, NORTH)
    assert library.found(NORTH) == [key, other]


def test_many_threads_follow_and_ask_while_another_writes(library: Library) -> None:
    rows = clustered(60, seed=8)
    library.add_all(rows[:20])
    library.found(NORTH)
    done = Event()

    def write() -> None:
        try:
            keys = [library.add(row, owner=BOB) for row in rows[20:]]
            for key in keys[::2]:
                library.forget(key)
            for key in keys[1::4]:
                library.relabel(key, scope=Scope.SWARM)
        finally:
            done.set()

    def read(query: Vector) -> int:
        rounds = 0
        while not done.is_set() or not rounds:
            with library.store.read() as view:
                assert_right(library.index, view, query, FOR_ADA, limit=5)
            rounds += 1
        return rounds

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read, query) for query in rows[:3]]
        threads.submit(write).result()
        assert all(reader.result() for reader in readers)
    with library.store.read() as view:
        assert_right(library.index, view, NORTH, limit=50)


@in_memory
def test_an_engine_that_keeps_the_forgotten_is_found_out(library: Library) -> None:
    library.index = KeepsTheForgotten()
    with pytest.raises(AssertionError):
        test_a_forgotten_document_is_not_found(library)


@in_memory
def test_an_engine_that_follows_nothing_is_found_out(library: Library) -> None:
    library.index = LooksOnce()
    with pytest.raises(AssertionError):
        test_a_write_is_seen_after_following(library)
