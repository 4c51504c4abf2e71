"""Finding the best few of very many scores without putting them in order."""

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLE = 2_048
_SLACK = 8


def at_least(scores: NDArray[np.floating[Any]], take: int) -> NDArray[np.intp]:
    """Where the best ``take`` are, and all that are as good as the last of them, ascending.

    A threshold is guessed from a sample, so that only what lies above it is looked at closer. That is sorted, not
    partitioned: ``numpy.partition`` takes up to a hundred times as long where most scores are equal, as where few
    chunks have a word.
    """
    if take >= len(scores):
        return np.arange(len(scores))
    guess = _guessed(scores, take)
    if guess is None:
        return np.flatnonzero(scores >= _last(scores, take))
    above = np.flatnonzero(scores > guess)
    if len(above) >= take:
        among = scores[above]
        return above[among >= _last(among, take)]
    # Where there are enough only with those that are as good as the guess, these are the last of them.
    found = np.flatnonzero(scores >= guess)
    return found if len(found) >= take else np.flatnonzero(scores >= _last(scores, take))


def _last(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any]:
    return np.sort(scores)[len(scores) - take]


def _guessed(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any] | None:
    """What about twice as many as ``take`` are as good as; None where guessing is of no use."""
    step = len(scores) // _SAMPLE
    if step < 2:
        return None
    sample = scores[::step]
    return _last(sample, min(2 * ceil(take / step) + _SLACK, len(sample)))
