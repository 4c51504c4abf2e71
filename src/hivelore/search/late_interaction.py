"""Late interaction: how well each token of a question is met by some token of a passage (MaxSim).

O. Khattab and M. Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
over BERT" (SIGIR 2020), with the token vectors of a model that was not trained for it, so it only sharpens what
the vector of the whole passage says. A token vector is kept in ``DIMENSIONS`` directions of 4 bits each; a piece
of a word that comes several times in a passage is kept once.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import Vector
from hivelore.search.tokenizer import document_terms

DIMENSIONS = 64
SIZE = DIMENSIONS // 2
"""Bytes of one token: the first half of its coordinates in the upper four bits, the second in the lower."""
LARGEST = 0.33
"""Beyond it a coordinate is cut off: of a unit vector in so many directions it is 2.6 deviations."""
_AT_A_TIME = 1 << 18
"""Multiplications: for more of them numpy's library wakes up other threads, which takes longer than to multiply."""
_STEPS = 16
_STEP = 2 * LARGEST / _STEPS
_ZERO = (_STEPS - 1) / 2
"""The middle of the steps."""


def encode(vectors: Vector) -> bytes:
    """Codes of token vectors, (n, DIMENSIONS), of any length but zero."""
    if not len(vectors):
        return b""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    steps = np.clip(np.floor(units / _STEP) + _ZERO + 0.5, 0, _STEPS - 1).astype(np.uint8)
    return (steps[:, :SIZE] << 4 | steps[:, SIZE:]).tobytes()


def decode(codes: bytes) -> Vector:
    """(n, DIMENSIONS): nearly unit vectors."""
    return (_steps(np.frombuffer(codes, np.uint8).reshape(-1, SIZE)) - _ZERO) * _STEP


def maxsim(question: bytes, weights: Sequence[float], passages: Sequence[bytes]) -> NDArray[np.float32]:
    """For each passage the weighted mean over the tokens of the question of the best product with any of its tokens,
    about -1..1; 0 where either has none. ``weights`` are of the tokens of the question, above 0."""
    scores = np.zeros(len(passages), np.float32)
    told = [number for number, codes in enumerate(passages) if codes]
    if not question or not told:
        return scores
    asked = decode(question).T * _STEP
    codes = np.frombuffer(b"".join(passages[number] for number in told), np.uint8).reshape(-1, SIZE)
    # Multiplied as they are, without decoding them first; what every coordinate is off by is the same for all.
    steps = _steps(codes)
    products = np.empty((len(codes), asked.shape[1]), np.float32)
    rows = max(_AT_A_TIME // asked.size, 1)
    for start in range(0, len(codes), rows):
        np.matmul(steps[start : start + rows], asked, out=products[start : start + rows])
    starts = np.cumsum([0, *(len(passages[number]) // SIZE for number in told[:-1])])
    best = np.maximum.reduceat(products, starts, axis=0) - _ZERO * asked.sum(axis=0)
    scores[told] = best @ (np.array(weights, np.float32) / sum(weights))
    return scores


def token_weights(words: Sequence[str], rarities: Mapping[str, float]) -> list[float]:
    """How much each token of a question says, from the word that it is of: as much as the rarest of that word's terms,
    and the mean of all ``rarities`` where the word was no term to look for."""
    usual = sum(rarities.values()) / len(rarities) if rarities else 1.0
    return [max((rarities[term] for term in document_terms(word) if term in rarities), default=usual) for word in words]


def _steps(codes: NDArray[np.uint8]) -> Vector:
    """(n, SIZE) as (n, DIMENSIONS): each coordinate in steps from the lowest."""
    apart = np.empty((len(codes), DIMENSIONS), np.uint8)
    np.right_shift(codes, 4, out=apart[:, :SIZE])
    np.bitwise_and(codes, 15, out=apart[:, SIZE:])
    return apart.astype(np.float32)
