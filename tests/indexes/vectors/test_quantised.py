"""Vectors in one byte per dimension: how far off their cosines are, and that they find what exact ones find."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hivelore.core.vectors import normalize
from hivelore.indexes.vectors import scan
from hivelore.indexes.vectors.scan import Quantised, tolerance
from hivelore.indexing.model import Vector
from support.vector_engines import clustered


@pytest.fixture(params=["simsimd", "numpy"])
def multiplier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(scan, "simsimd", None)
    return request.param


def spiky(size: int, dimension: int) -> Vector:
    """Nearly all weight on one coordinate: the least that codes can tell of the others."""
    rows = np.random.default_rng(1).standard_normal((size, dimension))
    rows[np.arange(size), np.arange(size) % dimension] *= 20
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def coarse_cosines(rows: Vector, query: Vector) -> Vector:
    return Quantised.of(rows).cosines(Quantised.of(query[np.newaxis]))


@pytest.mark.usefixtures("multiplier")
@pytest.mark.parametrize("dimension", [1, 3, 16, 384, 1536])
def test_the_error_of_a_cosine_is_within_its_tolerance(dimension: int) -> None:
    for rows in (clustered(500, dimension), spiky(500, dimension)):
        codes = Quantised.of(rows)
        for query in rows[:5]:
            coarse = Quantised.of(query[np.newaxis])
            assert (np.abs(codes.cosines(coarse) - rows @ query) <= tolerance(codes.off, coarse) + 1e-6).all()


def test_the_tolerance_leaves_few_exact_comparisons() -> None:
    rows = clustered(500, 384)
    assert tolerance(Quantised.of(rows).off, Quantised.of(rows[:1])).max() < 0.005


@given(
    rows=arrays(np.float32, (5, 7), elements=st.floats(-1, 1, width=32)).filter(
        lambda rows: bool((np.linalg.norm(rows, axis=1) > 1e-3).all())
    )
)
def test_codes_stay_within_their_tolerance(rows: Vector) -> None:
    rows = normalize(rows)
    codes = Quantised.of(rows)
    estimate = codes.codes * codes.shrink[:, np.newaxis]
    for query in range(5):
        off = np.abs(estimate @ estimate[query] - rows @ rows[query])
        assert (off <= tolerance(codes.off, codes.take(slice(query, query + 1))) + 1e-6).all()


@pytest.mark.usefixtures("multiplier")
def test_a_distance_counts_the_signs_that_differ() -> None:
    rows, query = Quantised.of(clustered(300, 20)), Quantised.of(clustered(1, 20, seed=1))
    expected = ((rows.codes > 0) != (query.codes > 0)).sum(axis=1)
    assert rows.distances(query).tolist() == expected.tolist()


@pytest.mark.usefixtures("multiplier")
def test_equal_vectors_have_equal_cosines() -> None:
    row, query = clustered(2, 384)
    assert len(set(coarse_cosines(np.tile(row, (20_001, 1)), query).tolist())) == 1


@pytest.mark.usefixtures("multiplier")
def test_no_vectors_have_no_cosines() -> None:
    assert coarse_cosines(np.empty((0, 8), np.float32), clustered(1, 8)[0]).shape == (0,)


@pytest.mark.usefixtures("multiplier")
def test_the_ten_nearest_are_among_the_fifty_nearest_by_codes() -> None:
    rows = clustered(2_000, 384, clusters=80, spread=0.7)
    found = [
        len({*np.argsort(-(rows @ query))[:10].tolist()} & {*np.argsort(-coarse_cosines(rows, query))[:50].tolist()})
        for query in clustered(20, 384, seed=1, clusters=80, spread=0.7)
    ]
    assert sum(found) / (10 * len(found)) >= 0.99
