"""Selection of the best few among very many scores, without sorting them all."""

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAMPLE = 2_048
_SLACK = 8


def at_least(scores: NDArray[np.floating[Any]], take: int) -> NDArray[np.intp]:
    """Returns the positions of the best ``take`` scores and of all ties with the last of them, ascending.

    A threshold is estimated from a sample, and only scores above it are sorted. They are not partitioned, because
    ``numpy.partition`` takes up to a hundred times as long if most scores are equal, as when few chunks have a word.
    """
    if take >= len(scores):
        return np.arange(len(scores))
    guess = _threshold(scores, take)
    if guess is None:
        return np.flatnonzero(scores >= _last(scores, take))
    above = np.flatnonzero(scores > guess)
    if len(above) >= take:
        among = scores[above]
        return above[among >= _last(among, take)]
    # If only ties with the threshold make up the number, they are the last of the best.
    found = np.flatnonzero(scores >= guess)
    return found if len(found) >= take else np.flatnonzero(scores >= _last(scores, take))


def _last(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any]:
    return np.sort(scores)[len(scores) - take]


def _threshold(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any] | None:
    """Estimates a score that about twice ``take`` scores reach; None if there are too few for a sample."""
    step = len(scores) // _SAMPLE
    if step < 2:
        return None
    sample = scores[::step]
    return _last(sample, min(2 * ceil(take / step) + _SLACK, len(sample)))
