"""The scanning engine on very many passages: what looking at signs first leaves of the answer, and when it does so."""

from collections.abc import Generator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.indexes.arrays import SUPERSEDED, CodeBook
from hivelore.indexes.vectors import scan
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexes.vectors.scan import Admitted, Look, Quantised, Rows, ScanVectors, Slabs, by_bytes, by_signs
from hivelore.search.model import Filter, Visibility
from support.clocks import SteppingClock
from support.laws import examples
from support.memories import ADA, BOB, EVERYTHING, a_memory
from support.reference.store import ReferenceStore
from support.vector_engines import MODEL, Library, assert_right, batched, clustered, follow

DIMENSION = 384
SIZE = 4_000
FROM = 1_000
ROWS = clustered(SIZE + 20, DIMENSION, clusters=60, spread=0.7)
QUERIES = ROWS[SIZE:]
MINE = Filter(visibility=Visibility(own=ADA, swarm=False))


@pytest.fixture(scope="module")
def store() -> Generator[ReferenceStore]:
    """4,000 passages about 60 subjects. One in fifty belongs to Ada."""
    with closing(ReferenceStore(SteppingClock())) as store:
        library = Library(store, ExactVectors(MODEL, DIMENSION), dimension=DIMENSION)
        rows = batched(ROWS[:SIZE], 5)
        library.keep([(a_memory(owner=ADA if at % 50 == 0 else BOB), vectors) for at, vectors in enumerate(rows)])
        yield store


@pytest.fixture
def index() -> ScanVectors:
    return ScanVectors(MODEL, DIMENSION, slab_size=900, signs_from=FROM, least_depth=200)


def depths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """At how many passages the signs have let searches look, from now on."""
    noted: list[int] = []

    def noting(admitted: Admitted, query: Quantised, depth: int) -> Look:
        noted.append(depth)
        return by_signs(admitted, query, depth)

    monkeypatch.setattr(scan, "by_signs", noting)
    return noted


def test_99_in_100_of_the_ten_nearest_are_found(
    store: ReferenceStore, index: ScanVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = depths(monkeypatch)
    exact = ExactVectors(MODEL, DIMENSION)
    found = 0
    with store.read() as view:
        follow(index, view)
        for query in QUERIES:
            right = {near.document for near in exact.nearest(view, query, EVERYTHING, 10).nearest}
            found += len(right & {near.document for near in index.nearest(view, query, EVERYTHING, 10).nearest})
    assert found >= 0.99 * 10 * len(QUERIES)
    assert len(noted) == len(QUERIES)
    assert max(noted) < SIZE / 3


def test_where_a_filter_admits_few_their_bytes_are_compared(
    store: ReferenceStore, index: ScanVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = depths(monkeypatch)
    with store.read() as view:
        for query in clustered(3, DIMENSION, seed=6):
            assert_right(index, view, query, MINE)
            assert_right(index, view, query, MINE, limit=100)
    assert not noted


def test_a_small_index_does_not_look_at_signs(store: ReferenceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = depths(monkeypatch)
    index = ScanVectors(MODEL, DIMENSION, signs_from=SIZE + 1)
    with store.read() as view:
        assert_right(index, view, clustered(1, DIMENSION, seed=7)[0])
    assert not noted


def test_a_document_with_very_many_passages_is_looked_past() -> None:
    rows = clustered(600, DIMENSION, clusters=1, spread=0.2)
    others = clustered(5, DIMENSION, seed=8)
    with closing(ReferenceStore(SteppingClock())) as store:
        index = ScanVectors(MODEL, DIMENSION, slab_size=100, signs_from=10, least_depth=20)
        library = Library(store, index, dimension=DIMENSION)
        flood = library.add(*rows)
        keys = library.add_all(others)
        assert {*library.found(rows[0], limit=4)} <= {flood, *keys}
        assert len(library.found(rows[0], limit=4)) == 4


def held(rows: np.ndarray, dimension: int) -> Slabs:
    made = Rows.empty(len(rows), dimension)
    made.vectors.put(slice(None), Quantised.of(rows))
    made.keys[:] = np.arange(len(rows))
    made.labels.put(
        slice(None),
        type(made.labels)(np.zeros((SUPERSEDED + 1, len(rows)), np.int32), np.zeros((2, len(rows)), np.int64)),
    )
    return Slabs(dimension, 1_000).added(made)


@settings(max_examples=examples(30))
@given(
    seed=st.integers(0, 999),
    size=st.integers(300, 20_000),
    clusters=st.sampled_from([1, 3, 50]),
    spread=st.sampled_from([0.2, 0.7, 20.0]),
)
def test_the_estimated_spread_is_within_a_hundredth(
    store: ReferenceStore, seed: int, size: int, clusters: int, spread: float
) -> None:
    slabs = held(clustered(size, 64, seed=seed, clusters=clusters, spread=spread), 64)
    query = Quantised.of(clustered(1, 64, seed=seed + 1_000, clusters=clusters, spread=spread))
    with store.read() as view:
        admitted = Admitted(slabs, view, EVERYTHING, CodeBook())
    estimate, exact = by_signs(admitted, query, 100).spread, by_bytes(admitted, query).spread
    assert estimate.count == exact.count == size
    assert abs(estimate.mean - exact.mean) < 0.01
    assert abs(estimate.deviation - exact.deviation) < 0.01


def test_of_equally_many_signs_as_many_are_taken_as_were_asked_for(store: ReferenceStore) -> None:
    slabs = held(np.repeat(clustered(1, 64), 5_000, axis=0), 64)
    with store.read() as view:
        admitted = Admitted(slabs, view, EVERYTHING, CodeBook())
    look = by_signs(admitted, Quantised.of(clustered(1, 64, seed=1)), 150)
    assert look.at is not None
    assert look.at.tolist() == list(range(150))
    assert look.spread.deviation < 1e-6
