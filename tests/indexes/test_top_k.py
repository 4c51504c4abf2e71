"""The best of many scores, against putting all of them in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexes.arrays import at_least

SIZES = (1, 10, 5_000, 40_000)


@given(
    size=st.sampled_from(SIZES),
    take=st.integers(1, 1_200),
    different=st.sampled_from((1, 2, 7, 1_000_000)),
    empty=st.floats(0.0, 1.0),
    seed=st.integers(0, 1_000),
)
def test_all_ties_with_the_last_of_the_best_are_found(
    size: int, take: int, different: int, empty: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, different, size) / different
    scores[random.random(size) < empty] = 0.0
    least = np.sort(scores)[-min(take, size)]
    assert at_least(scores, take).tolist() == np.flatnonzero(scores >= least).tolist()


@pytest.mark.parametrize("place", [0, 1, 9_999, 20_000, 39_999])
def test_scores_outside_the_sample_are_found(place: int) -> None:
    scores = np.zeros(40_000)
    scores[place] = 1.0
    assert at_least(scores, 1).tolist() == [place]
