"""Vectors in one byte per dimension: how far off their cosines are, and that they find what exact ones find."""

import numpy as np
import pytest

from hivelore.adapters.vectors import quantised
from hivelore.adapters.vectors.quantised import MARGIN, Quantised
from hivelore.domain.index import Vector
from support.vector_engines import clustered


@pytest.fixture(params=["simsimd", "numpy"])
def multiplier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(quantised, "simsimd", None)
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
def test_a_cosine_is_off_by_less_than_the_margin(dimension: int) -> None:
    for rows in (clustered(500, dimension), spiky(500, dimension)):
        for query in rows[:5]:
            assert np.abs(coarse_cosines(rows, query) - rows @ query).max() < MARGIN


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
