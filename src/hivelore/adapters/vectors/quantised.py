"""Vectors in one byte per dimension: a quarter of the memory, and cosines good to about 0.003."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters.vectors.attributes import Places

try:
    import simsimd
except ImportError:  # no wheel for this machine: numpy is right, only about ten times slower
    simsimd = None

MARGIN = 0.02
"""More than a cosine of codes is ever off in practice: a step is at most 1/127, so an error of uniform rounding on
both sides has a standard deviation of at most 0.0032; this is six of them."""

_LARGEST = 127
_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class Quantised:
    """n vectors as codes in -127..127, each row stretched to use the whole range."""

    codes: NDArray[np.int8]
    """(n, dimension)"""
    shrink: NDArray[np.float32]
    """(n,): one over the length of the codes; brings a product of codes back to a cosine."""

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> "Quantised":
        largest = np.abs(rows).max(axis=1, keepdims=True)
        codes = np.rint(rows * (_LARGEST / np.maximum(largest, np.finfo(np.float32).tiny))).astype(np.int8)
        wide = codes.astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        return cls(codes, np.float32(1) / np.maximum(lengths, np.float32(1)))

    def take(self, at: Places) -> "Quantised":
        return Quantised(self.codes[at], self.shrink[at])

    def cosines(self, query: "Quantised") -> NDArray[np.float32]:
        """About the cosine of each row to the only row of the query; equal codes give equal cosines."""
        if not len(self.codes):
            return np.empty(0, np.float32)
        multiply = _dots if simsimd is None else _simd_dots
        scores = multiply(self.codes, query.codes[0])
        scores *= self.shrink
        scores *= query.shrink[0]
        return scores


def _simd_dots(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    assert simsimd is not None
    return np.asarray(simsimd.cdist(query[np.newaxis], codes, "dot", out_dtype="float32"), np.float32)[0]


def _dots(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    wide = query.astype(np.float32)
    blocks = (codes[start : start + _BLOCK] for start in range(0, len(codes), _BLOCK))
    return np.concatenate([block.astype(np.float32) @ wide for block in blocks])
