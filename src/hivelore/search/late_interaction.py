"""Late interaction (MaxSim): each token of a query is compared with its most similar token in a passage.

O. Khattab and M. Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
over BERT" (SIGIR 2020). The model was not trained for it, so its scores only refine the cosine of the whole passage. A
token vector is stored in ``DIMENSIONS`` directions of 4 bits each. A word piece that occurs several times in a passage
is stored once.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import Vector
from hivelore.search.tokenizer import document_terms

DIMENSIONS = 64
SIZE = DIMENSIONS // 2
"""Bytes per token: the first half of the coordinates in the upper four bits, the second half in the lower."""
LARGEST = 0.33
"""Limit of a coordinate, 2.6 standard deviations of the coordinates of a unit vector."""
_AT_A_TIME = 1 << 18
"""Multiplications per call. For more, the library of numpy starts other threads, which takes longer."""
_STEPS = 16
_STEP = 2 * LARGEST / _STEPS
_ZERO = (_STEPS - 1) / 2
"""The step of coordinate 0."""


def encode(vectors: Vector) -> bytes:
    """Encodes token vectors, (n, DIMENSIONS), of any length except zero."""
    if not len(vectors):
        return b""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    steps = np.clip(np.floor(units / _STEP) + _ZERO + 0.5, 0, _STEPS - 1).astype(np.uint8)
    return (steps[:, :SIZE] << 4 | steps[:, SIZE:]).tobytes()


def decode(codes: bytes) -> Vector:
    """Decodes token vectors into (n, DIMENSIONS), approximately at length one."""
    return (_steps(np.frombuffer(codes, np.uint8).reshape(-1, SIZE)) - _ZERO) * _STEP


def maxsim(query: bytes, weights: Sequence[float], passages: Sequence[bytes]) -> NDArray[np.float32]:
    """Returns the score of each passage, about -1..1: the weighted mean over the query tokens of the best product with
    a token of the passage. 0 if either has no tokens. ``weights``: those of the query tokens, above 0."""
    scores = np.zeros(len(passages), np.float32)
    encoded = [number for number, codes in enumerate(passages) if codes]
    if not query or not encoded:
        return scores
    tokens = decode(query).T * _STEP
    codes = np.frombuffer(b"".join([passages[number] for number in encoded]), np.uint8).reshape(-1, SIZE)
    # The steps are multiplied without decoding; the offset of all coordinates is equal and subtracted afterwards.
    steps = _steps(codes)
    products = np.empty((len(codes), tokens.shape[1]), np.float32)
    rows = max(_AT_A_TIME // tokens.size, 1)
    for start in range(0, len(codes), rows):
        np.matmul(steps[start : start + rows], tokens, out=products[start : start + rows])
    starts = np.cumsum([0, *[len(passages[number]) // SIZE for number in encoded[:-1]]])
    best = np.maximum.reduceat(products, starts, axis=0) - _ZERO * tokens.sum(axis=0)
    scores[encoded] = best @ (np.array(weights, np.float32) / sum(weights))
    return scores


def token_weights(words: Sequence[str], rarities: Mapping[str, float]) -> list[float]:
    """Returns the weight of each query token from its word: the rarity of the rarest term of the word, or the mean of
    all ``rarities`` if no term of it was looked up."""
    usual = sum(rarities.values()) / len(rarities) if rarities else 1.0
    terms = [document_terms(word) for word in words]
    return [max([rarities[term] for term in of_word if term in rarities], default=usual) for of_word in terms]


def _steps(codes: NDArray[np.uint8]) -> Vector:
    """Unpacks codes (n, SIZE) into (n, DIMENSIONS), each coordinate in steps from the lowest."""
    apart = np.empty((len(codes), DIMENSIONS), np.uint8)
    np.right_shift(codes, 4, out=apart[:, :SIZE])
    np.bitwise_and(codes, 15, out=apart[:, SIZE:])
    return apart.astype(np.float32)
