"""Ports of the models: embeddings, a reader of text pairs, and language models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.indexing.model import (
    QueryTokens,
    TextEmbedding,
    Vector,
)
from hivelore.memories.model import Json
from hivelore.observations.outcomes import PairScores


class EmbeddingProvider(Protocol):
    """Turns text into unit vectors of one model."""

    @property
    def fingerprint(self) -> str:
        """Provider, model, dimension and prefixes: equal only where vectors may be compared."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed_query(self, text: Clean) -> Vector:
        """The vector of a question. Raises Unavailable, or Invalid where this text can never be embedded."""
        ...

    def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """One vector per text, same order. All or nothing: raises Unavailable when trying later may
        help, Invalid when a text of the batch can never be embedded (``field`` is its position)."""
        ...


class TokenEmbedder(Protocol):
    """What an embedding model can do besides that gives a vector for each token too (late interaction)."""

    def embed_in_detail(self, texts: Sequence[Clean]) -> Sequence[TextEmbedding]:
        """As ``EmbeddingProvider.embed_documents``, with the tokens."""
        ...

    def query_tokens(self, text: Clean) -> QueryTokens:
        """Of a question. Raises as ``EmbeddingProvider.embed_query``."""
        ...


class PairReader(Protocol):
    """Reads two notes together."""

    def stance(self, one: Clean, other: Clean) -> PairScores:
        """How they stand to each other, the same from either side. Raises Unavailable, or Broken for good."""
        ...


class LanguageModel(Protocol):
    """A model that is asked in words, and costs tokens."""

    @property
    def name(self) -> str:
        """For people: ``anthropic claude-haiku-5-5``."""
        ...

    def most(self, prompt: Clean) -> int:
        """So many tokens at most asking this can take, question and answer together."""
        ...

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        """JSON that follows the schema, as far as the model can be held to that. It is asked once. ``spent`` is told
        how many tokens that took, 0 where the model did not begin; it is not told where nobody knows. Raises
        Unavailable when trying later may help, Invalid for what can never be answered."""
        ...
