"""Quantised vectors: one byte per dimension, a quarter of the memory, and one sign bit, to preselect among very
many."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import Places
from hivelore.indexing.model import Vector

try:
    import simsimd
except ImportError:  # Without a wheel for this machine, numpy gives the same results about ten times slower.
    simsimd = None

T = TypeVar("T", bound=np.generic)

DEVIATIONS = 6.0
"""Standard deviations of rounding noise that are never exceeded in practice."""

Rows = NDArray[np.intp] | slice
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

    def cosines(self, query: "Quantised", at: Rows = slice(None)) -> NDArray[np.float32]:
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

    def distances(self, query: "Quantised", at: Rows = slice(None)) -> NDArray[np.uint16]:
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


def _some(table: NDArray[T], at: Rows) -> NDArray[T]:
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
