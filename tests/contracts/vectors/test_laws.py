"""Every vector engine answers as exact search does, whatever happened."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import View
from support.laws import examples
from support.memories import ADA, a_memory
from support.small_world import filters, inhabitants
from support.stores import law
from support.vector_engines import (
    EAST,
    NORTH,
    SETTINGS,
    Library,
    NewLibrary,
    assert_right,
    batched,
    clustered,
    follow,
    near,
)

compared = pytest.mark.parametrize(
    "setting", [setting for setting in SETTINGS if setting[0] != "exact"], ids="-".join, indirect=True
)
"""Every engine but the one that the others are compared with."""

few = settings(law, max_examples=examples(20))
"""For laws that nine engines have to keep."""

PALETTE = [NORTH, EAST, *clustered(6, seed=9, clusters=2, spread=0.1)]
"""Few enough that many are equal and all are near another."""

vectors = st.sampled_from(PALETTE)
several = st.lists(vectors, max_size=4)


kinds_of_data = st.sampled_from([0.0, 1e-3, 0.05, 0.5, 20.0])
"""Spread of vectors around their centre: all equal, tight clusters, wide clusters, or anywhere."""


def add(library: Library, data: st.DataObject) -> None:
    library.keep(data.draw(st.lists(st.tuples(inhabitants(), several), max_size=5)))


def forget(library: Library, data: st.DataObject) -> None:
    library.forget(data.draw(st.sampled_from(library.keys())))


def edit(library: Library, data: st.DataObject) -> None:
    library.edit(data.draw(st.sampled_from(library.keys())), *data.draw(several))


def embed(library: Library, data: st.DataObject) -> None:
    library.embed(data.draw(st.sampled_from(library.keys())), data.draw(several))


def relabel(library: Library, data: st.DataObject) -> None:
    other = data.draw(inhabitants())
    library.relabel(
        data.draw(st.sampled_from(library.keys())),
        owner=other.owner,
        scope=other.scope,
        project=other.project,
        tags=other.tags,
        category=other.category,
        expires_at=other.expires_at,
        operational=other.operational,
        subject=other.subject,
        valid_from=other.valid_from,
        valid_until=other.valid_until,
    )


def look(library: Library, data: st.DataObject) -> None:
    with library.store.read() as view:
        check(library, view, data)


def check(library: Library, view: View, data: st.DataObject) -> None:
    also = data.draw(st.lists(st.sampled_from([*library.keys(), DocumentKey(10**9)]), max_size=3))
    assert_right(library.index, view, data.draw(vectors), data.draw(filters()), data.draw(st.integers(1, 12)), also)


def happen(library: Library, data: st.DataObject, times: int) -> None:
    for _ in range(times):
        possible = [add, look, forget, edit, embed, relabel] if library.keys() else [add, look]
        data.draw(st.sampled_from(possible))(library, data)


@compared
@few
@given(data=st.data())
def test_whatever_happens_the_answer_is_that_of_exact_search(new_library: NewLibrary, data: st.DataObject) -> None:
    with new_library() as library:
        happen(library, data, data.draw(st.integers(1, 8)))
        look(library, data)


@compared
@few
@given(data=st.data())
def test_whatever_happens_after_a_snapshot_is_not_in_its_answers(new_library: NewLibrary, data: st.DataObject) -> None:
    with new_library() as library:
        happen(library, data, 4)
        with library.store.read() as old:
            follow(library.index, old)
            happen(library, data, 4)
            look(library, data)
            check(library, old, data)


@compared
@few
@given(
    size=st.integers(1, 300),
    seed=st.integers(0, 99),
    clusters=st.integers(1, 8),
    spread=kinds_of_data,
    of_a_document=st.integers(1, 5),
    limit=st.integers(1, 40),
)
def test_random_clustered_and_equal_vectors_are_found_as_exact_search_finds_them(
    new_library: NewLibrary, size: int, seed: int, clusters: int, spread: float, of_a_document: int, limit: int
) -> None:
    rows = clustered(size, seed=seed, clusters=clusters, spread=spread)
    with new_library() as library:
        keys = library.keep([(a_memory(), vectors) for vectors in batched(rows, of_a_document)])
        with library.store.read() as view:
            for query in (rows[0], *clustered(2, seed=seed + 100)):
                assert_right(library.index, view, query, limit=limit, also=keys[:2])


@compared
@settings(law, max_examples=examples(10))
@given(
    degrees=st.floats(0, 60),
    where=st.sampled_from([Filter(visibility=Visibility(own=ADA, swarm=swarm)) for swarm in (True, False)]),
    limit=st.integers(1, 50),
)
def test_5_000_nearer_ones_of_others_change_no_answer(
    crowd: Library, degrees: float, where: Filter, limit: int
) -> None:
    """The one that Ada has alone is behind 5,000 of Bob's, wherever one looks from."""
    with crowd.store.read() as view:
        assert_right(crowd.index, view, near(degrees), where, limit)
