"""Search in memory: filter passages, preselect by signs or bytes, and compare the candidates exactly."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import CodeBook, Mask
from hivelore.indexes.top_k import at_least
from hivelore.indexes.vectors.cosines import best_per_document, cosines, order, spread
from hivelore.indexes.vectors.slabs import DOCUMENT, PASSAGE, Keys, Quantised, Slab, Slabs, Slots, tolerance
from hivelore.indexing.model import ModelKey, Neighbour, Vector
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.search.ranking import Spread
from hivelore.storage.ports import View

T = TypeVar("T", bound=np.generic)

Positions = NDArray[np.intp]
"""Positions among the admitted passages, counted from the first one in the first block."""
Distances = NDArray[np.uint16]
"""Number of signs in which each passage differs from the query."""

FEW = 0.25
"""Below this share of a slab, copying and scanning only the admitted rows is faster than scanning all of them."""
SIGNS_FROM = 50_000
"""From this number of passages on, an index compares signs first; docs/decisions/0010 has the measurements."""
SCATTERED = 0.1
"""Signs are not used if the filter admits less than this share of ``SIGNS_FROM``."""
DEPTH = 16.0
"""The number of passages to compare by bytes is this factor times the square root of the admitted ones."""
LEAST_DEPTH = 1_000
SAMPLE = 1_024

_GOLDEN = 0.6180339887498949


class _Part:
    """The admitted passages of one block."""

    def __init__(self, slab: Slab, where: Filter, codes: CodeBook, matching: NDArray[np.int64] | None) -> None:
        """``matching``: documents that the store admits, if the filter ``needs_store``."""
        present = slab.present
        if matching is None:
            mask = codes.admitted(where, present.labels)
        else:
            mask = np.isin(present.keys[DOCUMENT], matching)
        self.mask: Mask = mask & slab.living() if slab.dead else mask
        self.count = int(np.count_nonzero(self.mask))
        self._places: Slots | None = None if self.count == slab.used else np.flatnonzero(self.mask)
        self._is_scanned_whole = self.count >= FEW * slab.used
        self._rows = present.vectors

    def places(self, at: Positions) -> Slots:
        """Returns the slots within the block."""
        return at if self._places is None else self._places.take(at)

    def cosines(self, query: Quantised) -> NDArray[np.float32]:
        if self._places is None or not self._is_scanned_whole:
            return self._rows.cosines(query, slice(None) if self._places is None else self._places)
        return self._rows.cosines(query)[self._places]

    def cosines_at(self, at: Positions, query: Quantised) -> NDArray[np.float32]:
        """Returns the cosines at some positions."""
        return self._rows.cosines(query, self.places(at))

    def distances(self, query: Quantised) -> Distances:
        if self._places is None or not self._is_scanned_whole:
            return self._rows.distances(query, slice(None) if self._places is None else self._places)
        return self._rows.distances(query)[self._places]


class Admitted:
    """The passages that a filter admits."""

    def __init__(self, slabs: Slabs, view: View, where: Filter, codes: CodeBook) -> None:
        self.slabs = slabs
        matching = np.array(view.matching_keys(where), np.int64) if where.needs_store else None
        self._parts = [_Part(slab, where, codes, matching) for slab in slabs.blocks]
        self._starts = np.cumsum([0, *[part.count for part in self._parts]])
        self.count = int(self._starts[-1])

    def slots(self, at: Positions) -> Slots:
        """Returns the slots at ascending positions."""
        size = self.slabs.size
        return _joined([part.places(here) + number * size for number, part, here in self._split(at)], np.intp)

    def cosines_at(self, at: Positions, query: Quantised) -> NDArray[np.float32]:
        """Returns approximate cosines at ascending positions."""
        return _joined([part.cosines_at(here, query) for _, part, here in self._split(at)], np.float32)

    def _split(self, at: Positions) -> Iterator[tuple[int, "_Part", Positions]]:
        """Yields, per block, the positions relative to its first admitted passage."""
        bounds: list[int] = np.searchsorted(at, self._starts).tolist()
        for number, part in enumerate(self._parts):
            first, last = bounds[number : number + 2]
            if first < last:
                yield number, part, at[first:last] - self._starts[number]

    def of_documents(self, documents: Collection[DocumentKey]) -> Slots:
        slots = self.slabs.slots_of(documents)
        masks, size = [part.mask for part in self._parts], self.slabs.size
        return slots[np.array([masks[slot // size][slot % size] for slot in slots.tolist()], np.bool_)]

    def cosines(self, query: Quantised) -> NDArray[np.float32]:
        """Returns the approximate cosines of all."""
        return _joined([part.cosines(query) for part in self._parts], np.float32)

    def distances(self, query: Quantised) -> Distances:
        """Returns the sign distances of all."""
        return _joined([part.distances(query) for part in self._parts], np.uint16)


@dataclass(frozen=True, slots=True)
class Look:
    """A preselection of passages."""

    at: Positions | None
    """Positions of the selected passages, ascending; None: all."""
    cosines: NDArray[np.float32]
    """Approximate cosines of the selected passages."""
    spread: Spread
    """Distribution of the cosines of all admitted passages."""


def by_bytes(admitted: Admitted, query: Quantised) -> Look:
    cosines = admitted.cosines(query)
    return Look(None, cosines, spread(cosines))


def by_signs(admitted: Admitted, query: Quantised, depth: int) -> Look:
    """Selects the ``depth`` passages whose signs differ least from the query's; among ties, the first."""
    if depth >= admitted.count:
        return by_bytes(admitted, query)
    distances = admitted.distances(query)
    counts = np.bincount(distances)
    at = _least(distances, counts, depth)
    return Look(at, admitted.cosines_at(at, query), estimated(admitted, query, distances, counts))


def _least(distances: Distances, counts: NDArray[np.intp], count: int) -> Positions:
    """Returns the positions of the ``count`` smallest distances, ascending; among ties, the first. ``counts`` is the
    histogram of the distances."""
    most = int(np.searchsorted(np.cumsum(counts), count))
    at = np.flatnonzero(distances <= most)
    equal = np.flatnonzero(distances[at] == most)
    return np.delete(at, equal[len(equal) - (len(at) - count) :])


def estimated(admitted: Admitted, query: Quantised, distances: Distances, counts: NDArray[np.intp]) -> Spread:
    """Estimates the distribution of all cosines from those of a sample and the histogram of all distances.

    This is the regression estimator of survey sampling: cosines depend linearly on distances, with a slope estimated
    from the sample and the same residual variance everywhere."""
    count = len(distances)
    at = _sample_positions(count)
    cosines = admitted.cosines_at(at, query).astype(np.float64)
    sampled = distances[at].astype(np.float64)
    mean, deviation = float(sampled.mean()), float(sampled.std())
    slope = float(((sampled - mean) * (cosines - cosines.mean())).mean()) / deviation**2 if deviation > 0.0 else 0.0
    off_line = float(np.var(cosines - slope * sampled))
    values = np.arange(len(counts)) - mean
    shift = float(counts @ values) / count
    variance = float(counts @ (values - shift) ** 2) / count
    return Spread(
        count=count,
        mean=float(cosines.mean()) + slope * shift,
        deviation=sqrt(slope**2 * variance + off_line),
    )


@lru_cache(maxsize=16)
def _sample_positions(count: int) -> Positions:
    """Returns sample positions, ascending. Multiples of the golden ratio fill the range evenly and share no period with
    the data."""
    return np.sort((np.arange(min(SAMPLE, count)) * _GOLDEN % 1.0 * count).astype(np.intp))


def _joined(parts: Sequence[NDArray[T]], kind: type[T]) -> NDArray[T]:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts])


CANDIDATES = 50
OVERSAMPLING = 4
MOST = 1_000
"""Limit of candidates that rounding cannot distinguish; any further ones are ignored."""


@dataclass(frozen=True, slots=True)
class _Rated:
    """n passages by approximate cosine, nearest first, then by lowest key."""

    keys: Keys
    cosines: NDArray[np.float32]
    tolerance: NDArray[np.float32]
    """Maximum error of each cosine."""
    rest_is_equal: bool
    """True if all passages that tie with the last one have the same vector."""

    def contenders(self, limit: int) -> tuple[Keys, bool]:
        """Returns the keys (3, m) of passages that may be the best one of the ``limit`` nearest documents, and True if
        passages beyond these n may be, too."""
        lowest, highest = self.cosines - self.tolerance, self.cosines + self.tolerance
        documents: list[int] = self.keys[DOCUMENT].tolist()
        last = _last_of(documents, limit)
        least = -np.inf if last is None else lowest[: last + 1].min()
        within = np.flatnonzero(highest >= least)
        bounds = zip(within.tolist(), lowest[within].tolist(), highest[within].tolist(), strict=True)
        # The first passage of a document is probably its best.
        best: dict[int, float] = {}
        chosen = [place for place, low, high in bounds if high >= best.setdefault(documents[place], low)]
        is_equal_from_there_on = last is not None and self.cosines[-1] == self.cosines[last] and self.rest_is_equal
        is_cut = bool(highest[-1] >= least) and not is_equal_from_there_on
        return self.keys[:, chosen], is_cut


class Search:
    def __init__(self, view: View, model: ModelKey, query: Vector, coarse: Quantised, admitted: Admitted) -> None:
        """``coarse`` is the query in codes."""
        self._view = view
        self._model = model
        self._query = query
        self._coarse = coarse
        self._admitted = admitted
        self.vectors: dict[PassageKey, Vector] = {}
        """Exact vectors of the compared passages, approximate ones of the others."""

    def nearest(self, look: Look, limit: int, also: Collection[DocumentKey]) -> tuple[Neighbour, ...] | None:
        """Returns the nearest documents (``VectorIndex.nearest``); None if the preselection has too few documents, as
        when a long document fills it."""
        take = max(CANDIDATES, OVERSAMPLING * limit)
        while True:
            contenders, is_cut = self._rated(look, take).contenders(limit)
            found_all = take >= len(look.cosines)
            if not is_cut or found_all or take >= MOST:
                exact = best_per_document(self._exact(contenders), limit, also)
                if len(exact) >= limit or (found_all and look.at is None):
                    return self._with(exact, also)
                if found_all:
                    return None
            take *= OVERSAMPLING

    def _rated(self, look: Look, take: int) -> _Rated:
        """Returns the ``take`` best passages of the preselection."""
        scores, slabs = look.cosines, self._admitted.slabs
        at = at_least(scores, take)
        slots = self._admitted.slots(at if look.at is None else look.at[at])
        keys = slabs.keys(slots)
        off = slabs.off(slots)
        inorder = np.lexsort((keys[PASSAGE], -scores[at]))
        first, rest = inorder[:take], inorder[take:]
        # Different vectors with the same codes practically never have the same distance to these codes.
        rest_is_equal = bool((off[rest] == off[first[-1]]).all())
        return _Rated(keys[:, first], scores[at[first]], tolerance(off[first], self._coarse), rest_is_equal)

    def _exact(self, contenders: Keys) -> list[Neighbour]:
        """Returns the exact cosines; passages that the view does not show are dropped."""
        passages, documents, chunks = contenders.tolist()
        vectors = self._view.vectors(self._model, passages)
        self.vectors.update(vectors)
        if not vectors:
            return []
        exact = dict(zip(vectors, cosines(np.array(list(vectors.values())), self._query).tolist(), strict=True))
        found = zip(documents, chunks, passages, strict=True)
        return [Neighbour(*keys, exact[keys[-1]]) for keys in found if keys[-1] in exact]

    def _with(self, nearest: tuple[Neighbour, ...], also: Collection[DocumentKey]) -> tuple[Neighbour, ...]:
        """Adds the missing documents of ``also`` with approximate cosines."""
        missing = frozenset(also) - {near.document for near in nearest}
        if not missing:
            return nearest
        slots = self._admitted.of_documents(missing)
        slabs = self._admitted.slabs
        passages, documents, chunks = slabs.keys(slots).tolist()
        cosines = slabs.cosines(self._coarse, slots).tolist()
        others = best_per_document(map(Neighbour, documents, chunks, passages, cosines), len(missing), ())
        best = {near.passage for near in others}
        at = [place for place, passage in enumerate(passages) if passage in best]
        self.vectors |= zip([passages[place] for place in at], slabs.vectors(slots[at]), strict=True)
        return tuple(sorted((*nearest, *others), key=order))


def _last_of(documents: list[int], limit: int) -> int | None:
    """Returns the first position of the ``limit``-th distinct document; None if there are fewer."""
    seen: set[int] = set()
    for place, document in enumerate(documents):
        seen.add(document)
        if len(seen) == limit:
            return place
    return None
