"""The directions in which the shipped model's token vectors are kept, and the tokens that say nothing."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import TokenCodes, Vector
from hivelore.models.onnx.runtime import Tokens
from hivelore.search.late_interaction import encoded

Places = NDArray[np.intp]


class Directions:
    def __init__(self, file: Path) -> None:
        """``file`` is what scripts/build_tokens.py writes."""
        with np.load(file) as arrays:
            self._mean: Vector = arrays["mean"]
            self._basis: Vector = arrays["basis"]
            self._silent = np.unpackbits(arrays["silent"]).astype(np.bool_)

    def telling(self, tokens: Tokens) -> Places:
        """Where in a text the tokens stand that say something, each the first time; all others where none does.

        The marks at both its ends are left out."""
        _, first = np.unique(tokens[1:-1], return_index=True)
        first = np.sort(first + 1)
        telling = first[~self._silent[tokens[first]]]
        return telling if len(telling) else first

    def codes(self, vectors: Vector) -> TokenCodes:
        """Of token vectors as the model gives them, (n, dimension)."""
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return encoded((units - self._mean) @ self._basis)
