"""How the cosines of very many vectors lie, told from a sample of them that is kept for a while."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.vectors.cosines import spread
from hivelore.indexing.model import Vector
from hivelore.search.fusion import Spread

SIZE = 2_048
"""Vectors that tell a mean and a deviation: of cosines that deviate by 0.12 a mean to 0.003."""
WINDOWS = 1_024
"""Neighbouring passages are alike, as parts of one document are: so many places in all keys are looked at."""
LEAST_GROWTH, MOST_GROWTH = 2, 16
"""How much wider the windows get at a time where too few were found."""
KEPT_BYTES = 128_000_000
AGE = 10_000
"""So many transactions later a sample is drawn anew."""

Look = Callable[[Sequence[int], int], NDArray[np.float32]]
"""Those of the admitted vectors whose keys lie in windows: where each begins, and how many keys it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    count: int
    """Of how many it is, about."""
    vectors: NDArray[np.float16]

    def spread(self, query: Vector) -> Spread:
        told = spread(self.vectors.astype(np.float32) @ query)
        return Spread(count=self.count, mean=told.mean, deviation=told.deviation)


def drawn(look: Look, first: int, last: int, size: int, least: int) -> Sample | None:
    """A sample of about ``size`` of the vectors with keys from ``first`` to ``last``, evenly over these; None where
    there are fewer than ``least`` of them."""
    step = ceil((last - first + 1) / WINDOWS)
    starts = range(first, last + 1, step)
    width = 1
    while True:
        found = look(starts, width)
        share = width / step
        count = len(found) / share
        if share >= 1.0 or len(found) >= size / 2:
            return Sample(round(count), found.astype(np.float16)) if count >= least else None
        if count + (2 * sqrt(len(found)) + 4) / share < least:
            return None
        growth = min(max(size / max(len(found), 1), LEAST_GROWTH), MOST_GROWTH)
        width = min(ceil(width * growth), step)


class Samples:
    """Those that were drawn last, by what they are of. For many threads."""

    def __init__(self, dimension: int, size: int = SIZE, age: int = AGE) -> None:
        self._age = age
        self._most = max(KEPT_BYTES // (2 * size * dimension), 1)
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[int, Sample | None]] = OrderedDict()

    def known(self, of: Hashable, number: int) -> tuple[Sample | None] | None:
        """What ``keep`` was told not long before or after the transaction ``number``; None: nothing."""
        with self._lock:
            drawn_at, sample = self._kept.get(of, (None, None))
            return None if drawn_at is None or abs(number - drawn_at) >= self._age else (sample,)

    def keep(self, of: Hashable, number: int, sample: Sample | None) -> None:
        """None: that there are too few for one."""
        with self._lock:
            self._kept[of] = number, sample
            self._kept.move_to_end(of)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
