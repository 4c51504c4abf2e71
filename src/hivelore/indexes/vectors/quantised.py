"""Vectors in one byte per dimension, a quarter of the memory, and in one bit, for a first look at very many."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import Places
from hivelore.indexing.model import Vector

try:
    import simsimd
except ImportError:  # no wheel for this machine: numpy is right, only about ten times slower
    simsimd = None

T = TypeVar("T", bound=np.generic)

DEVIATIONS = 6.0
"""So many standard deviations of rounding noise are never reached in practice."""

Rows = NDArray[np.intp] | slice
"""Which of the vectors are looked at."""

_LARGEST = 127
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Quantised:
    """n vectors as codes in -127..127, each row stretched to use the whole range."""

    codes: NDArray[np.int8]
    """(n, dimension)"""
    shrink: NDArray[np.float32]
    """(n,): one over the length of the codes; brings a product of codes back to a cosine."""
    off: NDArray[np.float32]
    """(n,): how far the codes, at length one, lie from the vector."""
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
        """Of vectors at length one, (n, dimension)."""
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

    def told(self) -> NDArray[np.float32]:
        """The vectors, as far as the codes tell."""
        return self.codes * self.shrink[:, np.newaxis]

    def cosines(self, query: "Quantised", at: Rows = slice(None)) -> NDArray[np.float32]:
        """About the cosine of each row, or of those ``at`` some places, to the only row of the query; equal codes give
        equal cosines."""
        codes = _some(self.codes, at)
        if not len(codes):
            return np.empty(0, np.float32)
        multiply = _dots if simsimd is None else _simd_dots
        scores = multiply(codes, query.codes[0])
        scores *= self.shrink[at]
        scores *= query.shrink[0]
        return scores

    def distances(self, query: "Quantised", at: Rows = slice(None)) -> NDArray[np.uint16]:
        """In how many dimensions the sign is another than that of the query's."""
        signs = _some(self.signs, at)
        if not len(signs):
            return np.empty(0, np.uint16)
        return (_differing if simsimd is None else _simd_differing)(signs, query.signs[0])


def tolerance(off: NDArray[np.float32], query: Quantised) -> NDArray[np.float32]:
    """How far the cosines of rows that are so much ``off`` may be from the exact ones.

    They cannot be further off than the codes of both sides are together. In many dimensions they are much nearer: what
    rounding leaves points nowhere in particular, so its product with the other side is normal, with a deviation of its
    length over the square root of the dimension."""
    likely = DEVIATIONS / np.sqrt(query.codes.shape[1]) * np.hypot(off, query.off[0])
    return np.minimum(off + query.off[0], likely.astype(np.float32))


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _some(table: NDArray[T], at: Rows) -> NDArray[T]:
    """Those ``at`` some places; ``take`` copies them in six tenths of the time of an index."""
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
