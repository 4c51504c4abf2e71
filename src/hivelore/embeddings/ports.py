"""Ports of embedding models, vectors and the embedding queue."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.indexing.model import (
    Attributes,
    Deferred,
    ModelKey,
    PassageVectors,
    QueuedPassage,
    TokenCodes,
    Vector,
)
from hivelore.memories.stored import DocumentKey, PassageKey


class EmbeddingReads(Protocol):
    """Embedding models, vectors and the embedding queue."""

    def model_key(self, fingerprint: str) -> ModelKey | None: ...

    def model_keys(self) -> Mapping[str, ModelKey]:
        """Returns every model ever registered, by fingerprint."""
        ...

    def dimension(self, model: ModelKey) -> int:
        """Returns the dimension a model was registered with. Raises NotFound for an unknown model."""
        ...

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        """Returns the passages of these documents that have a vector of the model, in no order."""
        ...

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        """Yields every passage that has a vector of the model, in batches and in no order."""
        ...

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]: ...

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]: ...

    def token_codes(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        """Returns the token codes of the passages that have any."""
        ...

    def queued_passages(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """Returns passages that wait for a vector of the model. Failed ones are included once their retry is due."""
        ...

    def count_pending(self, model: ModelKey) -> int:
        """Counts the passages that wait for a vector of the model and have not failed."""
        ...

    def count_failing(self, model: ModelKey) -> int:
        """Counts the passages that failed and wait for their next attempt."""
        ...

    def embedding_attempts(self, model: ModelKey, passage: PassageKey) -> int:
        """Counts the failed attempts to embed a passage since its last success."""
        ...

    def count_lost_vectors(self) -> int:
        """Counts the passages that are marked as embedded but have no vector. It is 0 in an undamaged store."""
        ...


class EmbeddingWrites(Protocol):
    """Embedding models, vectors and the embedding queue. ``limit`` bounds the passages of one call; a result below it
    means that none are left."""

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        """Returns the key of a model, creating it on first use; ``dimension`` counts only then."""
        ...

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        """Stores vectors and token codes in place of earlier ones; returns how many were stored. Ignores passages that
        no longer exist. Raises NotFound for an unknown model, and Invalid for a vector of the wrong dimension, of
        zeros, or with a number that is not finite."""
        ...

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        """Records a failure; the passage is tried again from ``not_before`` on."""
        ...

    def lease_passages(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """Leases queued passages that nobody else has leased. A lease ends with its time, a vector, a failure or
        ``release_passages``. A shared store uses its own clock."""
        ...

    def release_passages(self, passages: Sequence[PassageKey]) -> None:
        """Ends the leases of these passages. Ignores those that do not exist or are not leased."""
        ...

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        """Deletes failures of the model, so that they are tried again at once; returns how many."""
        ...

    def adopt_vectors(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Visits passages behind ``after`` that have a vector of a model that is active again; an engine may mark them,
        to find queued ones sooner. Returns them, ascending."""
        ...

    def requeue(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Queues passages behind ``after`` that have a vector of the model for a new one; the old vectors serve until
        then. A passage is requeued for one model at a time, the last one. Returns them, ascending."""
        ...

    def cancel_requeue(self, model: ModelKey, limit: int) -> int:
        """Reverts ``requeue`` for passages that still have a vector of the model; returns how many."""
        ...

    def requeue_lost(self, limit: int) -> int:
        """Queues passages whose vector is missing (``count_lost_vectors``); returns how many."""
        ...

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        """Deletes vectors and token codes of a model that is no longer active; returns how many."""
        ...
