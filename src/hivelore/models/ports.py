"""Ports of the models: embedding providers, the pair reader and language models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.indexing.model import QueryTokens, TextEmbedding, Vector
from hivelore.links.judge import PairScores
from hivelore.memories.model import Json


class EmbeddingProvider(Protocol):
    """Converts texts to unit vectors of one model."""

    @property
    def fingerprint(self) -> str:
        """Identifies provider, model, dimension and prefixes. Vectors are comparable only if fingerprints are equal."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed_query(self, text: Clean) -> Vector:
        """Returns the vector of a query. Raises Unavailable, or Invalid if the text can never be embedded."""
        ...

    def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """Returns one vector per text, in order, or raises: Unavailable if a retry may help, Invalid if a text can
        never be embedded (``field`` is its position)."""
        ...


class TokenEmbedder(Protocol):
    """An embedding model that also returns a vector for each token (late interaction)."""

    def embed_in_detail(self, texts: Sequence[Clean]) -> Sequence[TextEmbedding]:
        """Like ``EmbeddingProvider.embed_documents``, with token codes."""
        ...

    def query_tokens(self, text: Clean) -> QueryTokens:
        """Returns the tokens of a query. Raises as ``EmbeddingProvider.embed_query``."""
        ...


class PairReader(Protocol):
    """A model that reads two notes together."""

    @property
    def name(self) -> str:
        """Identifies the trained model. Scores of different models are not comparable."""
        ...

    @property
    def outage(self) -> str | None:
        """Why it failed the last time; None if it did not, or was not used yet."""
        ...

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        """Returns how the later of two notes relates to the earlier one. Raises Unavailable, or Broken for a permanent
        failure."""
        ...

    def release_unused(self) -> bool:
        """Releases its memory if it was not used since the last call; the next use loads it again. Returns True if it
        did."""
        ...


class RelevanceReader(Protocol):
    """A model that reads a query and a text together."""

    @property
    def outage(self) -> str | None:
        """Why it failed the last time; None if it did not, or was not used yet."""
        ...

    def read(self, query: Clean) -> Callable[[Clean], float]:
        """Returns a function that returns the log odds that a text helps with the query. It raises Unavailable, or
        Broken for a permanent failure."""
        ...


class LanguageModel(Protocol):
    """A language model, whose calls cost tokens."""

    @property
    def name(self) -> str:
        """The model for people: ``anthropic claude-haiku-5-5``."""
        ...

    def most(self, prompt: Clean) -> int:
        """Returns an upper bound of the tokens of a call, prompt and answer together."""
        ...

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        """Returns JSON that should follow the schema. The model is called once. ``spent`` is called with the tokens
        used, 0 if the model did not start, and not at all if the number is unknown. Raises Unavailable if a retry
        may help, Invalid if the prompt can never be answered."""
        ...
