"""Samples of very many vectors: what they tell, and how long they are kept."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hivelore.indexes.arrays import spread
from hivelore.indexes.vectors.pgvector import Sample, Samples, draw_sample
from support.laws import examples
from support.vector_engines import clustered

DIMENSION = 32


class Crowd:
    """Vectors by their keys, ascending."""

    def __init__(self, keys: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        self.keys = keys
        self.vectors = vectors
        self.read = 0
        self.looks = 0

    def look(self, starts: Sequence[int], width: int) -> NDArray[np.float32]:
        place = np.searchsorted(np.array(starts), self.keys, side="right") - 1
        found = self.vectors[self.keys < np.array(starts)[place] + width]
        self.looks += 1
        self.read += len(found)
        return found


def crowd(size: int, every: int, seed: int, spread: float = 0.7) -> Crowd:
    """One key in ``every`` or so is there."""
    random = np.random.default_rng(seed)
    keys = np.sort(random.choice(np.arange(7, 7 + size * every), size, replace=False))
    return Crowd(keys, clustered(size, DIMENSION, seed=seed, clusters=40, spread=spread))


def sampled(passages_of: Crowd, size: int, least: int) -> Sample | None:
    return draw_sample(passages_of.look, int(passages_of.keys[0]), int(passages_of.keys[-1]), size, least)


@settings(max_examples=examples(30))
@given(
    size=st.integers(2_000, 60_000),
    every=st.sampled_from([1, 3, 50]),
    seed=st.integers(0, 99),
    spread_=st.sampled_from([0.3, 1.0, 20.0]),
)
def test_a_sample_tells_count_mean_and_deviation(size: int, every: int, seed: int, spread_: float) -> None:
    passages_of = crowd(size, every, seed, spread_)
    query = clustered(1, DIMENSION, seed=seed, clusters=40)[0]
    sample = sampled(passages_of, 4_000, 10)
    assert sample is not None
    estimate, right = sample.spread(query), spread(passages_of.vectors @ query)
    assert estimate.count == pytest.approx(size, rel=0.1)
    assert estimate.mean == pytest.approx(right.mean, abs=5 * right.deviation / np.sqrt(2_000))
    assert estimate.deviation == pytest.approx(right.deviation, abs=0.02)
    assert passages_of.read <= 10 * 4_000


def test_of_few_a_sample_is_all_there_is() -> None:
    passages_of = crowd(300, 2, 1)
    sample = sampled(passages_of, 2_000, 300)
    assert sample is not None
    assert sample.count == len(sample.vectors) == 300
    assert sampled(passages_of, 2_000, 301) is None


def test_a_small_table_is_not_sampled() -> None:
    passages_of = crowd(2_000, 500, 2)
    assert sampled(passages_of, 2_000, 200_000) is None
    assert passages_of.looks == 1


@pytest.mark.parametrize("number", [91, 109])
def test_a_sample_is_kept_for_some_transactions(number: int) -> None:
    samples, sample = Samples(DIMENSION, age=10), Sample(1, np.zeros((1, DIMENSION), np.float16))
    samples.keep("all", 100, sample)
    assert samples.known("all", number) == (sample,)
    assert samples.known("all", number + (10 if number > 100 else -10)) is None
    assert samples.known("others", number) is None


def test_that_there_are_few_is_kept_too() -> None:
    samples = Samples(DIMENSION)
    samples.keep("all", 1, None)
    assert samples.known("all", 1) == (None,)


def test_samples_are_limited_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.indexes.vectors.pgvector.KEPT_BYTES", 2 * 100 * DIMENSION * 2)
    samples = Samples(DIMENSION, 100)
    for of in ("first", "second", "third"):
        samples.keep(of, 1, None)
    assert samples.known("first", 1) is None
    assert samples.known("second", 1) is not None
    assert samples.known("third", 1) is not None
