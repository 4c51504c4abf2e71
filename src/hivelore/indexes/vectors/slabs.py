"""Quantized passages in memory, in append-only blocks: immutable states that share their buffers.

A state never changes visibly: new rows are written behind the slots it uses, and marking or relabelling a slot
copies its small column first. So readers need no lock. Rows may be added only to the newest state.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.indexes.attributes import Labels, Mask, Places
from hivelore.indexing.model import Vector

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

    def take(self, at: Places) -> "Quantised":
        return Quantised(self.codes[at], self.shrink[at], self.off[at], self.signs[at])

    def put(self, at: Places, other: "Quantised") -> None:
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

    def take(self, at: Places) -> "Rows":
        return Rows(self.vectors.take(at), self.keys[:, at], self.labels.take(at))

    def put(self, at: Places, other: "Rows") -> None:
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
