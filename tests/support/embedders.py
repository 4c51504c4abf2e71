"""Helpers for tests of embedders: clean texts, and an embedder that fails on demand, around one that works."""

from collections.abc import Sequence
from threading import Lock

from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.indexing.model import Vector
from hivelore.models.ports import EmbeddingProvider


def clean(*contents: str) -> list[Clean]:
    return [Clean(content) for content in contents]


class FaultyEmbedder:
    """Raises Unavailable for the next ``down_for`` calls (None: until it is changed), and Invalid for a text that
    contains one of ``poison``. Counts what reached it; safe from many threads."""

    def __init__(self, inner: EmbeddingProvider, *, down_for: int | None = 0, poison: Sequence[str] = ()) -> None:
        self.down_for = down_for
        self.poison = set(poison)
        self.calls: int = 0
        self.embedded: list[str] = []
        self._inner = inner
        self._lock = Lock()

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed_query(self, text: Clean) -> Vector:
        self._admit([text])
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        self._admit(texts)
        return self._inner.embed_documents(texts)

    def _admit(self, texts: Sequence[str]) -> None:
        with self._lock:
            self.calls += 1
            if self.down_for is None or self.down_for > 0:
                self.down_for = None if self.down_for is None else self.down_for - 1
                raise Unavailable("The embedder is down for this test.")
            for position, text in enumerate(texts):
                if any(part in text for part in self.poison):
                    raise Invalid("This text cannot be embedded.", field=str(position))
            self.embedded += texts
