"""Finding the best few of very many scores without putting them in order."""

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLE = 4_096
_SLACK = 8


def at_least(scores: NDArray[np.floating[Any]], take: int) -> NDArray[np.intp]:
    """Where the best ``take`` are, and all that are as good as the last of them, ascending.

    A threshold is guessed from a sample, so that only what lies above it is partitioned: scores that are mostly
    equal, as where few chunks have a word, take long to partition.
    """
    if take >= len(scores):
        return np.arange(len(scores))
    at = _above_a_guess(scores, take)
    among = scores if at is None else scores[at]
    last = np.partition(among, len(among) - take)[len(among) - take]
    best = np.flatnonzero(among >= last)
    return best if at is None else at[best]


def _above_a_guess(scores: NDArray[np.floating[Any]], take: int) -> NDArray[np.intp] | None:
    """At least ``take`` places, which the best are among; None where guessing is of no use."""
    step = len(scores) // _SAMPLE
    if step < 2:
        return None
    sample = scores[::step]
    rank = min(2 * ceil(take / step) + _SLACK, len(sample))
    at = np.flatnonzero(scores >= np.partition(sample, len(sample) - rank)[len(sample) - rank])
    return at if len(at) >= take else None
