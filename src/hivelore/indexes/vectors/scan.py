"""The default engine: a scan of all vectors in memory, one byte per dimension, with exact rescoring of the best.

A search filters the passages, preselects by bytes, and compares the candidates exactly. Among very many vectors it
scans only those whose signs are similar to the query's.

The passages are in append-only blocks. Immutable states share their buffers. A state never changes visibly: new rows
are written behind the slots it uses, and marking or relabelling a slot copies its small column first. So readers need
no lock. Rows may be added only to the newest state.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import sqrt
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.indexes.arrays import (
    CodeBook,
    Labels,
    Mask,
    Selector,
    at_least,
    best_per_document,
    cosines,
    order,
    spread,
    unit,
)
from hivelore.indexes.ports import VectorIndex
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    Change,
    ChangeCursor,
    ChangeKind,
    ModelKey,
    Neighbour,
    Neighbours,
    PassageVectors,
    Spread,
    Vector,
)
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View

try:
    import simsimd
except ImportError:  # Without a wheel for this machine, numpy gives the same results about ten times slower.
    simsimd = None

T = TypeVar("T", bound=np.generic)

DEVIATIONS = 6.0
"""Standard deviations of rounding noise that are never exceeded in practice."""

Selected = NDArray[np.intp] | slice
"""A selection of vectors."""

_LARGEST = 127
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Quantised:
    """n vectors as codes in -127..127; each row is scaled to use the whole range."""

    codes: NDArray[np.int8]
    """(n, dimension)"""
    shrink: NDArray[np.float32]
    """(n,): one divided by the length of the codes; scales a product of codes to a cosine."""
    off: NDArray[np.float32]
    """(n,): the distance between the codes at length one and the vector."""
    signs: NDArray[np.uint8]
    """(n, dimension / 8): a bit for each dimension, 1 where it is above zero."""

    @classmethod
    def empty(cls, size: int, dimension: int) -> "Quantised":
        return cls(
            np.empty((size, dimension), np.int8),
            np.empty(size, np.float32),
            np.empty(size, np.float32),
            np.empty((size, (dimension + 7) // 8), np.uint8),
        )

    @classmethod
    def of(cls, rows: Vector) -> "Quantised":
        """Quantises vectors of length one, (n, dimension)."""
        largest = np.abs(rows).max(axis=1, keepdims=True)
        codes = np.rint(rows * (_LARGEST / np.maximum(largest, np.finfo(np.float32).tiny))).astype(np.int8)
        wide = codes.astype(np.float32)
        shrink = np.reciprocal(np.maximum(_lengths(wide), np.float32(1)))
        wide *= shrink[:, np.newaxis]
        return cls(codes, shrink, _lengths(rows - wide), np.packbits(codes > 0, axis=1))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, at: Selector) -> "Quantised":
        return Quantised(self.codes[at], self.shrink[at], self.off[at], self.signs[at])

    def put(self, at: Selector, other: "Quantised") -> None:
        self.codes[at] = other.codes
        self.shrink[at] = other.shrink
        self.off[at] = other.off
        self.signs[at] = other.signs

    def approximate_vectors(self) -> NDArray[np.float32]:
        """Returns the vectors that the codes represent."""
        return self.codes * self.shrink[:, np.newaxis]

    def cosines(self, query: "Quantised", at: Selected = slice(None)) -> NDArray[np.float32]:
        """Returns the approximate cosine of each row, or of those ``at`` some positions, to the single row of the
        query. Equal codes give equal cosines."""
        codes = _some(self.codes, at)
        if not len(codes):
            return np.empty(0, np.float32)
        multiply = _dots if simsimd is None else _simd_dots
        scores = multiply(codes, query.codes[0])
        scores *= self.shrink[at]
        scores *= query.shrink[0]
        return scores

    def distances(self, query: "Quantised", at: Selected = slice(None)) -> NDArray[np.uint16]:
        """Returns the number of dimensions with another sign than the query."""
        signs = _some(self.signs, at)
        if not len(signs):
            return np.empty(0, np.uint16)
        return (_differing if simsimd is None else _simd_differing)(signs, query.signs[0])


def tolerance(off: NDArray[np.float32], query: Quantised) -> NDArray[np.float32]:
    """Returns the maximum error of cosines of rows with these distances ``off``.

    The error is at most the sum of both distances. In many dimensions it is much smaller: the rounding error has a
    random direction, so its product with the other side is normally distributed, with a deviation of its length
    divided by the square root of the dimension."""
    likely = DEVIATIONS / np.sqrt(query.codes.shape[1]) * np.hypot(off, query.off[0])
    return np.minimum(off + query.off[0], likely.astype(np.float32))


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _some(table: NDArray[T], at: Selected) -> NDArray[T]:
    """Returns the selected rows; ``take`` copies them in six tenths of the time of indexing."""
    return table[at] if isinstance(at, slice) else table.take(at, axis=0)


def _simd_dots(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    assert simsimd is not None
    return np.asarray(simsimd.cdist(query[np.newaxis], codes, "dot", out_dtype="float32"), np.float32)[0]


def _dots(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    wide = query.astype(np.float32)
    blocks = (codes[start : start + _BLOCK] for start in range(0, len(codes), _BLOCK))
    return np.concatenate([block.astype(np.float32) @ wide for block in blocks])


def _simd_differing(signs: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.uint16]:
    assert simsimd is not None
    found = simsimd.cdist(query[np.newaxis], signs, "hamming", dtype="bin8", out_dtype="float32")
    return np.asarray(found).astype(np.uint16)[0]


def _differing(signs: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.uint16]:
    return np.bitwise_count(signs ^ query).sum(axis=1, dtype=np.uint16)


Slots = NDArray[np.intp]
Keys = NDArray[np.int64]

PASSAGE, DOCUMENT, CHUNK = range(3)

SLAB_SIZE = 65_536
SPARSE = 0.25
"""A slab with a greater share of dead slots is rewritten."""

TAIL = 64
"""At most one in this many slots of a block is outside the sorted order; lookups scan those."""

_LAST_BUCKET = 0xFFF


@cache
def bytes_per_slot(dimension: int) -> int:
    rows, slab = Rows.empty(1, dimension), Slab.empty(1, dimension)
    vectors, labels = rows.vectors, rows.labels
    arrays = (vectors.codes, vectors.shrink, vectors.off, vectors.signs, rows.keys, labels.codes, labels.instants)
    return sum(array.nbytes for array in arrays) + slab.alive.itemsize + slab.order.itemsize


@dataclass(frozen=True, slots=True)
class Rows:
    """n passages: their vectors, their keys, (3, n) with passage, document and chunk, and their labels."""

    vectors: Quantised
    keys: Keys
    labels: Labels

    @classmethod
    def empty(cls, size: int, dimension: int) -> "Rows":
        return cls(Quantised.empty(size, dimension), np.empty((CHUNK + 1, size), np.int64), Labels.empty(size))

    def __len__(self) -> int:
        return self.keys.shape[1]

    def take(self, at: Selector) -> "Rows":
        return Rows(self.vectors.take(at), self.keys[:, at], self.labels.take(at))

    def put(self, at: Selector, other: "Rows") -> None:
        self.vectors.put(at, other.vectors)
        self.keys[:, at] = other.keys
        self.labels.put(at, other.labels)


@dataclass(frozen=True, slots=True)
class Slab:
    """One state of one block. Rows from ``used`` on are not part of it."""

    rows: Rows
    alive: Mask
    order: Slots
    """The first slots, sorted by document. Few slots follow them."""
    used: int = 0
    dead: int = 0

    @classmethod
    def empty(cls, size: int, dimension: int) -> "Slab":
        return cls(Rows.empty(size, dimension), np.empty(size, np.bool_), np.empty(0, np.intp))

    @property
    def present(self) -> Rows:
        """All used slots, including dead ones."""
        return self.rows.take(slice(self.used))

    @property
    def room(self) -> int:
        return len(self.rows) - self.used

    @property
    def is_sparse(self) -> bool:
        return self.dead > SPARSE * self.used

    def living(self) -> Mask:
        return self.alive[: self.used]

    def added(self, rows: Rows) -> "Slab":
        place = slice(self.used, self.used + len(rows))
        self.rows.put(place, rows)
        self.alive[place] = True
        order = self.order
        if place.stop - len(order) > len(self.rows) // TAIL:
            # The input is nearly sorted, because documents arrive with ascending keys.
            order = np.argsort(self.rows.keys[DOCUMENT, : place.stop], kind="stable")
        return replace(self, order=order, used=place.stop)

    def without(self, slots: Slots) -> "Slab":
        alive = self.alive.copy()
        alive[slots] = False
        return replace(self, alive=alive, dead=self.dead + len(slots))

    def relabelled(self, slots: Slots, labels: Labels) -> "Slab":
        fresh = self.rows.labels.copy()
        fresh.put(slots, labels)
        return replace(self, rows=replace(self.rows, labels=fresh))

    def slots_of(self, documents: Keys) -> Slots:
        """Returns the living slots of some documents, given in order; ascending."""
        owners = self.rows.keys[DOCUMENT]
        ordered = owners[: len(self.order)]
        starts = np.searchsorted(ordered, documents, "left", sorter=self.order)
        counts = np.searchsorted(ordered, documents, "right", sorter=self.order) - starts
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        found = self.order[np.repeat(starts, counts) + within]
        slots = np.sort(np.concatenate([found, self._unordered(documents)]))
        return slots[self.alive[slots]]

    def _unordered(self, documents: Keys) -> Slots:
        """Returns the slots outside the sorted order."""
        buckets = np.zeros(_LAST_BUCKET + 1, np.bool_)
        buckets[documents & _LAST_BUCKET] = True
        owners = self.rows.keys[DOCUMENT, len(self.order) : self.used]
        maybe = np.flatnonzero(buckets[owners & _LAST_BUCKET])
        nearest = np.minimum(np.searchsorted(documents, owners[maybe]), len(documents) - 1)
        return maybe[documents[nearest] == owners[maybe]] + len(self.order)


@dataclass(frozen=True, slots=True)
class Slabs:
    """All blocks. The number of a slot is its block times the block size, plus its position in the block."""

    dimension: int
    size: int = SLAB_SIZE
    blocks: tuple[Slab, ...] = ()

    def __len__(self) -> int:
        return sum(slab.used - slab.dead for slab in self.blocks)

    @property
    def memory_bytes(self) -> int:
        return sum(slab.used for slab in self.blocks) * bytes_per_slot(self.dimension)

    def slots_of(self, documents: Iterable[int]) -> Slots:
        """Returns the living slots of some documents, ascending."""
        wanted = np.array(sorted(set(documents)), np.int64)
        if not len(wanted) or not self.blocks:
            return np.empty(0, np.intp)
        return np.concatenate([number * self.size + slab.slots_of(wanted) for number, slab in enumerate(self.blocks)])

    def keys(self, slots: Slots) -> Keys:
        """Returns the keys of slots, (3, n), in the same order."""
        keys = np.empty((CHUNK + 1, len(slots)), np.int64)
        for number, places, at in self._split(slots):
            keys[:, at] = self.blocks[number].rows.keys[:, places]
        return keys

    def cosines(self, query: Quantised, slots: Slots) -> NDArray[np.float32]:
        """Returns the approximate cosines of slots, in the same order."""
        cosines = np.empty(len(slots), np.float32)
        for number, places, at in self._split(slots):
            cosines[at] = self.blocks[number].rows.vectors.cosines(query, places)
        return cosines

    def vectors(self, slots: Slots) -> NDArray[np.float32]:
        """Returns the approximate vectors of slots at length one, (n, dimension), in the same order."""
        vectors = np.empty((len(slots), self.dimension), np.float32)
        for number, places, at in self._split(slots):
            vectors[at] = self.blocks[number].rows.vectors.take(places).approximate_vectors()
        return vectors

    def off(self, slots: Slots) -> NDArray[np.float32]:
        """Returns the distances of the codes from the vectors, in the same order."""
        off = np.empty(len(slots), np.float32)
        for number, places, at in self._split(slots):
            off[at] = self.blocks[number].rows.vectors.off[places]
        return off

    def added(self, rows: Rows) -> "Slabs":
        blocks = list(self.blocks)
        start = 0
        while start < len(rows):
            if not blocks or not blocks[-1].room:
                blocks.append(Slab.empty(self.size, self.dimension))
            stop = start + blocks[-1].room
            blocks[-1] = blocks[-1].added(rows.take(slice(start, stop)))
            start = stop
        return replace(self, blocks=tuple(blocks))

    def set_apart(self, rows: Rows) -> "Slabs":
        """Adds rows to any state, not only the newest one, in separate blocks."""
        own = replace(self, blocks=()).added(rows)
        return replace(self, blocks=self.blocks + own.blocks)

    def without(self, slots: Slots) -> "Slabs":
        blocks = list(self.blocks)
        for number, places, _ in self._split(slots):
            blocks[number] = blocks[number].without(places)
        return replace(self, blocks=tuple(blocks))

    def relabelled(self, slots: Slots, labels: Labels) -> "Slabs":
        blocks = list(self.blocks)
        for number, places, at in self._split(slots):
            blocks[number] = blocks[number].relabelled(places, labels.take(at))
        return replace(self, blocks=tuple(blocks))

    def compacted(self) -> "Slabs":
        """Rewrites the blocks with many dead slots: their living rows move to the end."""
        sparse = [slab for slab in self.blocks if slab.is_sparse]
        dense = replace(self, blocks=tuple(slab for slab in self.blocks if not slab.is_sparse))
        for slab in sparse:
            dense = dense.added(slab.present.take(slab.living()))
        return dense

    def _split(self, slots: Slots) -> Iterator[tuple[int, Slots, Slots]]:
        """Yields, per block, its number, the positions in it, and their indices in ``slots``."""
        numbers, places = np.divmod(slots, self.size)
        for number in sorted(set(numbers.tolist())):
            at = np.flatnonzero(numbers == number)
            yield number, places[at], at


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


STEPS = 4_096
"""Number of remembered steps, which limits how old a view may be. A step holds the changes that one recall found;
together they cover seconds of the heaviest writing, while a recall takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """Documents that were read again, and the number of the view's change cursor."""

    number: int
    documents: frozenset[DocumentKey]


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """The vectors of one model as of a change cursor; ``steps`` lists the documents that are newer."""

    slabs: Slabs
    codes: CodeBook
    incarnation: str | None
    model: ModelKey | None
    """None if no vector of this model was ever stored."""
    moment: ChangeCursor
    newest: int
    """The newest change this state may contain; that of ``moment``, unless following stopped half-way."""
    remembers: int
    """``steps`` is complete for views newer than this number."""
    steps: tuple[Step, ...] = ()

    def after(
        self, moment: ChangeCursor, changes: Sequence[Change], model: ModelKey | None, view: View
    ) -> "VectorSnapshot":
        """Returns the state after some changes. Documents are read from the view, which may be newer still."""
        if not changes:
            return replace(self, moment=moment)
        touched = frozenset(change.document for change in changes)
        reread = frozenset(change.document for change in changes if change.kind is not ChangeKind.ATTRIBUTES)
        slabs = self.slabs
        if model is not None:
            rows = rows_of(view.embedded(model, sorted(reread)), slabs.dimension, self.codes)
            slabs = slabs.without(slabs.slots_of(sorted(reread))).added(rows)
            relabelled = sorted(touched - reread)
            if relabelled:
                slabs = self._relabelled(slabs, view.attributes(relabelled))
        shown = view.change_cursor().number
        steps = (*self.steps, Step(shown, touched))
        return replace(
            self,
            slabs=slabs.compacted(),
            model=model,
            moment=moment,
            newest=max(self.newest, shown),
            remembers=max((self.remembers, *(step.number for step in steps[:-STEPS]))),
            steps=steps[-STEPS:],
        )

    def as_of(self, view: View, number: int) -> Slabs:
        """Returns the passages as of a view at or before this state.

        Raises Unavailable if the later changes are no longer remembered."""
        if self.newest <= number or self.model is None:
            return self.slabs
        if number < self.remembers:
            raise Unavailable("The store has moved on too far since this search began; search again.", retry_after=0.0)
        newer = sorted({document for step in self.steps if step.number > number for document in step.documents})
        rows = rows_of(view.embedded(self.model, newer), self.slabs.dimension, self.codes)
        return self.slabs.without(self.slabs.slots_of(newer)).set_apart(rows)

    def _relabelled(self, slabs: Slabs, attributes: Mapping[DocumentKey, Attributes]) -> Slabs:
        """Returns the slabs with new attributes on all passages of these documents."""
        slots = slabs.slots_of(list(attributes))
        place_of = {document: place for place, document in enumerate(attributes)}
        owners = slabs.keys(slots)[DOCUMENT].tolist()
        places = np.array([place_of[DocumentKey(owner)] for owner in owners], np.intp)
        return slabs.relabelled(slots, self.codes.encode(AttributeColumns.of(list(attributes.values()))).take(places))


def rows_of(embedded: PassageVectors, dimension: int, codes: CodeBook) -> Rows:
    """Quantises passages and encodes their attributes."""
    if not embedded:
        return Rows.empty(0, dimension)
    keys = np.stack([embedded.passages, embedded.documents, embedded.chunks])
    return Rows(Quantised.of(embedded.vectors), keys, codes.encode(embedded.attributes))


WIDENING = 4
"""Factor by which a search goes deeper if a long document hides others."""


class ScanVectors:
    """Follows the changes of the store. Results match the view, even if the index is older or newer.

    The owner calls ``build`` whenever the index is not ``ready``: at the start, and after the store was replaced (its
    incarnation changed).
    """

    name = "scan"

    def __init__(
        self,
        fingerprint: str,
        dimension: int,
        memory_limit: int | None = None,
        *,
        slab_size: int = SLAB_SIZE,
        signs_from: int = SIGNS_FROM,
        least_depth: int = LEAST_DEPTH,
    ) -> None:
        """``memory_limit`` is in bytes; None: no limit. From ``signs_from`` passages on, a search compares the signs of
        all passages and the bytes of at least ``least_depth``."""
        self._fingerprint = fingerprint
        self._dimension = dimension
        self._memory_limit = memory_limit
        self._slab_size = slab_size
        self._signs_from = signs_from
        self._least_depth = least_depth
        self._state: VectorSnapshot | None = None
        self._following = Lock()
        self._building = Lock()

    @property
    def ready(self) -> bool:
        return self._state is not None

    @property
    def memory_bytes(self) -> int:
        state = self._state
        return 0 if state is None else state.slabs.memory_bytes

    @property
    def count(self) -> int:
        """Number of passages in the index."""
        state = self._state
        return 0 if state is None else len(state.slabs)

    def fits(self, passages: int) -> bool:
        """Returns True if this many passages fit into the memory limit."""
        return self._memory_limit is None or passages * bytes_per_slot(self._dimension) <= self._memory_limit

    def build(self, view: View) -> bool:
        """Reads all vectors unless they are loaded. Returns False, and stays not ready, if they do not fit.

        It takes a while and does not block concurrent calls of ``follow``."""
        with self._building:
            incarnation = view.setting("incarnation")
            if self._state is not None and self._state.incarnation == incarnation:
                return True
            model = view.model_key(self._fingerprint)
            codes = CodeBook()
            slabs = Slabs(self._dimension, self._slab_size)
            for batch in () if model is None else view.all_embedded(model):
                slabs = slabs.added(rows_of(batch, self._dimension, codes))
                if not self.fits(len(slabs)):
                    return False
            moment = view.change_cursor()
            number = moment.number
            with self._following:
                self._state = VectorSnapshot(slabs, codes, incarnation, model, moment, newest=number, remembers=number)
            return True

    def follow(self, view: View) -> None:
        state = self._state
        if state is None:
            return
        if state.incarnation == view.setting("incarnation") and view.change_cursor().number <= state.moment.number:
            return
        with self._following:
            if self._state is None:
                return
            if self._state.incarnation != view.setting("incarnation"):
                self._state = None
                return
            if view.change_cursor().number <= self._state.moment.number:
                return
            for moment, changes in view.changes(self._state.moment):
                model = self._state.model if self._state.model is not None else view.model_key(self._fingerprint)
                self._state = self._state.after(moment, changes, model, view)

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        del store, stopping
        return False

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        state, slabs = self._as_of(view)
        admitted = Admitted(slabs, view, where, state.codes)
        if state.model is None or not admitted.count:
            return Neighbours()
        coarse = Quantised.of(query[np.newaxis])
        search = Search(view, state.model, query, coarse, admitted)
        depth = self._depth(len(slabs), admitted.count)
        while True:
            look = by_bytes(admitted, coarse) if depth is None else by_signs(admitted, coarse, depth)
            found = search.nearest(look, limit, also)
            if found is not None:
                return Neighbours(found, look.spread, search.vectors)
            depth = None if depth is None else WIDENING * depth

    def _depth(self, held: int, admitted: int) -> int | None:
        """Returns how many passages to select by their signs; None: do not use signs."""
        if held < self._signs_from or admitted < SCATTERED * self._signs_from:
            return None
        return max(self._least_depth, int(DEPTH * sqrt(admitted)))

    def _as_of(self, view: View) -> tuple[VectorSnapshot, Slabs]:
        number, incarnation = view.change_cursor().number, view.setting("incarnation")
        state = self._state
        if state is not None and (state.moment.number < number or state.incarnation != incarnation):
            self.follow(view)
            state = self._state
        if state is None or state.incarnation != incarnation:
            raise Unavailable("The vectors are still being read into memory; search by keywords meanwhile.")
        return state, state.as_of(view, number)


class CappedVectors:
    """Uses ``scan`` until the vectors exceed its memory limit, then ``beyond`` until the next start."""

    def __init__(self, scan: ScanVectors, beyond: VectorIndex) -> None:
        self._scan: ScanVectors | None = scan
        self._beyond = beyond

    @property
    def name(self) -> str:
        return self._current.name

    @property
    def ready(self) -> bool:
        return self._current.ready

    @property
    def _current(self) -> VectorIndex:
        return self._scan or self._beyond

    def build(self, view: View) -> bool:
        if self._scan is not None and self._scan.build(view):
            return True
        self._scan = None
        return self._beyond.build(view)

    def follow(self, view: View) -> None:
        scan = self._scan
        if scan is not None:
            scan.follow(view)
            if scan.fits(scan.count):
                return
        self._scan = None
        if self._beyond.ready:
            self._beyond.follow(view)

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        return self._beyond.maintain(store, stopping)

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        scan = self._scan
        if scan is None or not scan.fits(scan.count):
            self.follow(view)
            return self._current.nearest(view, query, where, limit, also)
        return scan.nearest(view, query, where, limit, also)
