"""An embedder without a model, for tests: texts with common words and spellings have similar vectors."""

import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from hivelore.core.text import Clean
from hivelore.core.vectors import normalize
from hivelore.errors import Invalid
from hivelore.indexing.model import Vector

WORD = re.compile(r"\w+")
WORD_WEIGHT = 1.0
SPELLING_WEIGHT = 0.3
SPELLING_LENGTH = 3


class HashingEmbedder:
    """Counts hashed words and character trigrams. Results are the same on every machine and take some tens of
    microseconds per text.

    It captures spelling, not meaning, so it is for tests only and never a fallback: without a real embedder, a search
    uses keywords and reports that. Embedders with different ``salt`` act as different models with unrelated vectors.
    """

    def __init__(self, dimension: int = 256, *, salt: str = "") -> None:
        if dimension < 2:
            raise Invalid("The hashing embedder needs at least 2 dimensions.", field="dimension")
        self._dimension = dimension
        self._salt = salt
        self._seed = crc32(salt.encode())

    @property
    def fingerprint(self) -> str:
        return f"hashing:{self._dimension}:{self._salt}"

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_query(self, text: Clean) -> Vector:
        if not text.strip():
            raise Invalid("A blank text has no vector.", field="text")
        return self._vector(text)

    def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
        for position, text in enumerate(texts):
            if not text.strip():
                raise Invalid("A blank text has no vector.", field=str(position))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        # The first number belongs to no feature, so that a text whose features cancel out still has a direction.
        numbers = [0.0] * self._dimension
        numbers[0] = SPELLING_WEIGHT
        for word in WORD.findall(text.casefold()):
            for slot, weight in features(word, self._seed, self._dimension - 1):
                numbers[1 + slot] += weight
        return normalize(np.array(numbers, dtype=np.float32))


@lru_cache(maxsize=65_536)
def features(word: str, seed: int, slots: int) -> tuple[tuple[int, float], ...]:
    """Returns the slots and weights of a word and its trigrams."""
    spelled = f" {word} "
    trigrams = [spelled[start : start + SPELLING_LENGTH] for start in range(len(spelled) - SPELLING_LENGTH + 1)]
    weighted = [(spelled, WORD_WEIGHT), *((trigram, SPELLING_WEIGHT) for trigram in trigrams)]
    hashed = [(crc32(feature.encode(), seed), weight) for feature, weight in weighted]
    # The sign keeps the cosine of unrelated texts around 0 in spite of collisions.
    return tuple(((bits >> 1) % slots, weight if bits & 1 else -weight) for bits, weight in hashed)
