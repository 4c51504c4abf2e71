"""The active embedding model: embeds queries and searches its own vectors.

The previous model stays active until the wanted one is complete; then they are swapped. Vectors of two models are never
compared.
"""

import os
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from hivelore.core.text import Clean
from hivelore.errors import Invalid, Unavailable
from hivelore.indexes.ports import VectorIndex
from hivelore.indexing.model import (
    Deferred,
    ModelKey,
    Neighbour,
    Neighbours,
    QueryTokens,
    Vector,
)
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.models.ports import EmbeddingProvider, TokenEmbedder
from hivelore.search.model import Filter
from hivelore.search.ranking import maxsim, token_weights
from hivelore.storage.ports import MemoryStore, View

SERVING = "model.serving"
"""Setting with the fingerprint of the active model."""
INDEX_WAIT = 2.0
"""Seconds that a query waits for an index being built after the start; 100,000 passages take less."""
_NO_TOKENS = QueryTokens()
NONE_CONFIGURED = "no embedding model is configured"
NOT_COMPLETE = "the embedding model was changed and not everything is embedded with the new one yet"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A provider and the index over its vectors; ``token_embedder`` if it also embeds tokens."""

    provider: EmbeddingProvider
    index: VectorIndex
    token_embedder: TokenEmbedder | None = None
    embed_concurrently: bool = False
    """True if queries may be embedded during the keyword search, because it takes milliseconds of processor time."""
    outage: Callable[[], str | None] = lambda: None
    """Why queries do not wait for the provider at present; None if they do."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """The vector of a query and its model, or the reason why there is none."""

    vector: Vector | None
    missing_reason: str | None = None
    model: EmbeddingModel | None = None
    tokens: QueryTokens = _NO_TOKENS


class ActiveModel:
    """The active embedding model and the wanted one. ``wanted`` None: no embedder is configured."""

    def __init__(
        self,
        wanted: EmbeddingModel | None,
        *,
        before: EmbeddingModel | None = None,
        incomplete: bool = False,
        processors: int | None = None,
    ) -> None:
        """``before``: stays active until ``wanted`` is complete. ``incomplete``: the previous model is no longer
        available, so no model is active until then. ``processors``: default: those of this machine."""
        self._wanted = wanted
        self._model = None if incomplete else before or wanted
        self._indexes_updated = threading.Event()
        self._index_wait = 0.0
        self._processors = processors or os.cpu_count() or 1
        self._executor: Executor | None = ThreadPoolExecutor(self._processors, "hivelore-query")
        self._count_lock = threading.Lock()
        self._active_queries = 0

    def wait_for_indexes(self) -> None:
        """Lets queries wait briefly for the first ``update_indexes``, which another thread is about to call. Otherwise
        queries right after the start would not use vectors."""
        self._index_wait = INDEX_WAIT

    def update_indexes(self, store: MemoryStore) -> None:
        """Builds indexes that are not ready and updates the others, so that recalls need not."""
        models = {id(model): model for model in (self._model, self._wanted) if model is not None}
        try:
            for model in models.values():
                with store.read() as view:
                    if model.index.ready:
                        model.index.follow(view)
                    else:
                        model.index.build(view)
        finally:
            self._indexes_updated.set()

    def compact_indexes(self, store: MemoryStore, stopping: Callable[[], bool]) -> None:
        """See ``VectorIndex.maintain``."""
        for model in {id(model): model for model in (self._model, self._wanted) if model is not None}.values():
            model.index.maintain(store, stopping)

    @property
    def ready(self) -> bool:
        """True if the index of the active model is built, or if there is none."""
        return self._model is None or self._model.index.ready

    @property
    def wanted(self) -> EmbeddingModel | None:
        return self._wanted

    @property
    def current(self) -> EmbeddingModel | None:
        return self._model

    @property
    def outage(self) -> str | None:
        """Why queries currently use keywords only although a model is configured; None if they use vectors."""
        return None if self._model is None else self._model.outage()

    @property
    def swapping(self) -> bool:
        """True while another model is active because the wanted one is not complete."""
        return self._model is not self._wanted

    def swap(self) -> None:
        self._model = self._wanted

    @contextmanager
    def query_embedding(self, text: Clean) -> Generator[Callable[[], EmbeddedQuery]]:
        """Context of a query; yields a function that returns its vector. The query is embedded in another thread if a
        processor is free: fewer queries than processors are active, including this one. Otherwise it is embedded here,
        before the caller opens a snapshot."""
        with self._count_lock:
            self._active_queries += 1
            is_one_to_spare = self._active_queries < self._processors
        try:
            yield self._start_embedding(text, is_one_to_spare)
        finally:
            with self._count_lock:
                self._active_queries -= 1

    def _start_embedding(self, text: Clean, is_one_to_spare: bool) -> Callable[[], EmbeddedQuery]:
        model, executor = self._model, self._executor
        if (
            is_one_to_spare
            and model is not None
            and model.embed_concurrently
            and model.index.ready
            and executor is not None
        ):
            return executor.submit(self.embed_query, text).result
        embedded = self.embed_query(text)
        return lambda: embedded

    def close(self) -> None:
        """Stops the threads. Later queries are embedded by the calling thread."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown()

    def embed_query(self, text: Clean) -> EmbeddedQuery:
        """Returns the vector of a query, or the reason why there is none."""
        model = self._model
        if model is None:
            return EmbeddedQuery(None, NONE_CONFIGURED if self._wanted is None else NOT_COMPLETE)
        if not model.index.ready and not (self._indexes_updated.wait(self._index_wait) and model.index.ready):
            return EmbeddedQuery(None, "the vector index is still being built")
        try:
            vector = model.provider.embed_query(text)
            tokens = _NO_TOKENS if model.token_embedder is None else model.token_embedder.query_tokens(text)
            return EmbeddedQuery(vector, model=model, tokens=tokens)
        except (Unavailable, Invalid) as error:
            return EmbeddedQuery(None, str(error).rstrip("."))

    def embed_text(self, text: Clean) -> EmbeddedQuery:
        """Returns the vector that a text would have if it were stored, for comparisons."""
        model = self._model
        if model is None:
            return EmbeddedQuery(None, NONE_CONFIGURED if self._wanted is None else NOT_COMPLETE)
        try:
            return EmbeddedQuery(model.provider.embed_documents([text])[0], model=model)
        except (Unavailable, Invalid) as error:
            return EmbeddedQuery(None, str(error).rstrip("."))

    def nearest(
        self, view: View, query: EmbeddedQuery, where: Filter, limit: int, also: Collection[DocumentKey]
    ) -> Neighbours:
        """Searches the vectors of the model that embedded the query, even if another one is active by now."""
        if query.vector is None or query.model is None:
            return Neighbours()
        return query.model.index.nearest(view, query.vector, where, limit, also)

    def vectors(self, view: View, query: EmbeddedQuery, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        """Returns vectors of the model that embedded the query."""
        key = None if query.model is None else view.model_key(query.model.provider.fingerprint)
        return {} if key is None else view.vectors(key, passages)

    def token_scores(
        self, view: View, query: EmbeddedQuery, nearest: Sequence[Neighbour], rarities: Mapping[str, float]
    ) -> Deferred[Mapping[DocumentKey, float]]:
        """Returns late-interaction scores of passages with token vectors of the query's model. ``rarities``: of the
        query's words."""
        key = None if query.model is None else view.model_key(query.model.provider.fingerprint)
        if key is None or not nearest or not query.tokens.codes:
            return _no_scores
        tokens = view.token_codes(key, [near.passage for near in nearest])

        def scores() -> Mapping[DocumentKey, float]:
            known = tokens()
            codes = {near.document: known[near.passage] for near in nearest if near.passage in known}
            weights = token_weights(query.tokens.words, rarities)
            found = maxsim(query.tokens.codes, weights, list(codes.values()))
            return dict(zip(codes, found.tolist(), strict=True))

        return scores

    def wanted_model(self, view: View) -> ModelKey | None:
        return None if self._wanted is None else view.model_key(self._wanted.provider.fingerprint)


def _no_scores() -> Mapping[DocumentKey, float]:
    return {}
