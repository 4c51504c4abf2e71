"""Every vector engine: the nearest passages of each document, among those that a filter admits."""

import numpy as np
import pytest

from hivelore.errors import Invalid
from hivelore.indexing.model import Neighbours, Vector
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Visibility
from support.memories import ADA, BOB, EVERYTHING, a_memory
from support.small_world import census, single_filters
from support.vector_engines import (
    DIMENSION,
    MANY,
    MODEL,
    NEARLY,
    NORTH,
    OTHER_MODEL,
    Library,
    assert_right,
    batched,
    clustered,
    follow,
    in_memory,
    near,
    towards,
)
from support.wrong_vectors import FiltersAfterwards, MixesModels

NOTHING = Neighbours()
FOR_ADA = Filter(visibility=Visibility(own=ADA, swarm=True))


def test_where_no_model_was_ever_used_nothing_is_found(library: Library) -> None:
    assert library.nearest(NORTH) == NOTHING


def test_where_there_is_no_vector_nothing_is_found(library: Library) -> None:
    library.add()
    assert library.nearest(NORTH) == NOTHING


def test_the_only_vector_is_found_with_its_cosine(library: Library) -> None:
    key = library.add(near(60))
    answer = library.nearest(NORTH)
    with library.store.read() as view:
        (chunk,) = view.chunks(key)
    (found,) = answer.nearest
    assert (found.document, found.chunk, found.passage) == (key, chunk.key, chunk.passages[0])
    assert found.cosine == pytest.approx(0.5, abs=1e-5)
    assert (answer.spread.count, answer.spread.deviation) == (1, 0.0)
    assert answer.spread.mean == pytest.approx(0.5, abs=0.01)


def test_nearest_first(library: Library) -> None:
    far, close, middle = (library.add(near(degrees)) for degrees in (80, 10, 45))
    assert library.found(NORTH) == [close, middle, far]


def test_a_limit_above_the_number_of_documents_finds_all(library: Library) -> None:
    keys = [library.add(near(degrees)) for degrees in (0, 30, 150)]
    assert library.found(NORTH, limit=1_000) == keys


def test_equally_near_ones_come_in_the_order_of_their_passages(library: Library) -> None:
    keys = library.add_all([near(45)] * MANY)
    assert library.found(NORTH, limit=5) == keys[:5]


def test_the_best_of_10_000_are_found(crowd: Library) -> None:
    with crowd.store.read() as view:
        for query in clustered(2, seed=2):
            assert_right(crowd.index, view, query)
        assert crowd.index.nearest(view, NORTH, EVERYTHING, 1).spread.count == 10_000


def test_a_filter_counts_before_the_nearest_are_taken(library: Library) -> None:
    mine = library.add(near(60), owner=ADA)
    library.add_all([near(degrees) for degrees in np.linspace(0, 30, MANY)], owner=BOB)
    assert library.found(NORTH, FOR_ADA, limit=3) == [mine]


def test_5_000_nearer_ones_of_another_do_not_hide_ones_own(crowd: Library) -> None:
    answer = crowd.nearest(NORTH, Filter(visibility=Visibility(own=ADA, swarm=False)))
    assert [found.cosine for found in answer.nearest] == [pytest.approx(0.5, abs=1e-5)]
    assert (answer.spread.count, answer.spread.deviation) == (1, 0.0)


@pytest.mark.parametrize("limit", [1, 50])
def test_a_filter_that_admits_half_is_answered_right(crowd: Library, limit: int) -> None:
    with crowd.store.read() as view:
        for query in (NORTH, clustered(1, seed=3)[0]):
            assert_right(crowd.index, view, query, FOR_ADA, limit)


def test_every_filter_of_proposals_is_applied(library: Library) -> None:
    memories = census()
    keys = library.keep([(memory, [NORTH]) for memory in memories])
    with library.store.read() as view:
        follow(library.index, view)
        for where in single_filters():
            admitted = [key for key, memory in zip(keys, memories, strict=True) if where.admits(memory)]
            answer = library.index.nearest(view, NORTH, where, len(memories))
            assert [found.document for found in answer.nearest] == admitted, where


def test_several_passages_of_one_document_count_as_their_best(library: Library) -> None:
    long = library.add(near(80), near(20), near(50))
    short = library.add(near(30))
    answer = library.nearest(NORTH)
    assert [found.document for found in answer.nearest] == [long, short]
    with library.store.read() as view:
        assert answer.nearest[0].passage == view.chunks(long)[0].passages[1]
    assert answer.spread.count == 4


def test_a_document_with_very_many_passages_leaves_room_for_others(library: Library) -> None:
    flood = library.add(*(near(degrees) for degrees in np.linspace(0, 5, 5 * MANY)))
    others = [library.add(near(degrees)) for degrees in (40, 50, 60)]
    assert library.found(NORTH, limit=3) == [flood, *others[:2]]
    far = [library.add(near(degrees)) for degrees in (100, 110, 120)]
    answer = library.nearest(NORTH, limit=3, also=far)
    assert [found.document for found in answer.nearest] == [flood, *others[:2], *far]


def test_of_passages_that_are_nearly_alike_the_best_is_found(library: Library) -> None:
    blurred = clustered(40 * 8, seed=10, clusters=1, spread=0.003)
    library.keep([(a_memory(), vectors) for vectors in batched(blurred, 8)])
    with library.store.read() as view:
        for query in blurred[:3]:
            assert_right(library.index, view, query, limit=40)


def test_a_document_asked_for_is_found_however_far_it_is(library: Library) -> None:
    far = library.add(near(170), near(150))
    close = library.add_all([near(degrees) for degrees in np.linspace(0, 30, MANY)])
    answer = library.nearest(NORTH, limit=2, also=[far, close[0]])
    assert [found.document for found in answer.nearest] == [*close[:2], far]
    assert answer.nearest[-1].cosine == pytest.approx(np.cos(np.radians(150)), abs=NEARLY)


def test_a_document_asked_for_must_pass_the_filter_and_have_a_vector(library: Library) -> None:
    seen = library.add(near(10), owner=ADA)
    hidden = library.add(near(0), owner=BOB)
    bare = library.add(owner=ADA)
    answer = library.nearest(NORTH, FOR_ADA, limit=1, also=[hidden, bare, DocumentKey(10**9)])
    assert [found.document for found in answer.nearest] == [seen]


def test_the_spread_of_all_admitted_cosines_is_told(library: Library) -> None:
    mine, others = clustered(MANY, seed=4), clustered(MANY, seed=5)
    library.keep([(a_memory(owner=ADA), [row, other]) for row, other in zip(mine[::2], mine[1::2], strict=True)])
    library.add_all(others, owner=BOB)
    answer = library.nearest(NORTH, FOR_ADA, limit=3)
    cosines = mine @ NORTH
    assert answer.spread.count == len(mine)
    assert answer.spread.mean == pytest.approx(cosines.mean(), abs=0.003)
    assert answer.spread.deviation == pytest.approx(cosines.std(), abs=0.003)


def test_two_models_of_one_dimension_are_never_compared(library: Library) -> None:
    both = library.add(near(60))
    other = library.add()
    library.embed(both, [near(0)], model=OTHER_MODEL)
    library.embed(other, [near(0)], model=OTHER_MODEL)
    answer = library.nearest(NORTH, also=[other])
    assert [(found.document, round(found.cosine, 3)) for found in answer.nearest] == [(both, 0.5)]
    assert answer.spread.count == 1


@pytest.mark.parametrize(
    "query",
    [
        towards(1, dimension=DIMENSION + 1),
        np.zeros(DIMENSION, np.float32),
        np.full(DIMENSION, np.nan, np.float32),
        np.full(DIMENSION, np.inf, np.float32),
        NORTH[np.newaxis],
    ],
    ids=["another dimension", "zero", "not a number", "infinite", "a stack"],
)
@pytest.mark.parametrize("empty", [True, False])
def test_what_is_no_direction_cannot_be_asked_for(library: Library, query: Vector, empty: bool) -> None:
    if not empty:
        library.add(NORTH)
    with pytest.raises(Invalid):
        library.nearest(query)


@in_memory
def test_an_engine_that_filters_afterwards_is_found_out(library: Library) -> None:
    library.index = FiltersAfterwards(MODEL, DIMENSION)
    with pytest.raises(AssertionError):
        test_a_filter_counts_before_the_nearest_are_taken(library)


@in_memory
def test_an_engine_that_mixes_models_is_found_out(library: Library) -> None:
    library.index = MixesModels()
    with pytest.raises(AssertionError):
        test_two_models_of_one_dimension_are_never_compared(library)
