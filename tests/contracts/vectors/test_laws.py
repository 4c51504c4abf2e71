"""Every vector engine answers as exact search does, whatever happened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.domain.index import DocumentKey
from hivelore.ports import View
from support.small_world import filters, inhabitants
from support.stores import law
from support.vector_engines import EAST, NORTH, SETTINGS, Library, NewLibrary, assert_right, clustered, follow

compared = pytest.mark.parametrize(
    "setting", [setting for setting in SETTINGS if setting[0] != "exact"], ids="-".join, indirect=True
)
"""Every engine but the one that the others are compared with."""

PALETTE = [NORTH, EAST, *clustered(6, seed=9, clusters=2, spread=0.1)]
"""Few enough that many are equal and all are near another."""

vectors = st.sampled_from(PALETTE)
several = st.lists(vectors, max_size=4)


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
@law
@given(data=st.data())
def test_whatever_happens_the_answer_is_that_of_exact_search(new_library: NewLibrary, data: st.DataObject) -> None:
    with new_library() as library:
        happen(library, data, data.draw(st.integers(1, 8)))
        look(library, data)


@compared
@law
@given(data=st.data())
def test_whatever_happens_after_a_snapshot_is_not_in_its_answers(new_library: NewLibrary, data: st.DataObject) -> None:
    with new_library() as library:
        happen(library, data, 4)
        with library.store.read() as old:
            follow(library.index, old)
            happen(library, data, 4)
            look(library, data)
            check(library, old, data)
