"""Which model answers questions: it embeds them, and finds what is near them among its own vectors.

While the wanted model is not complete, the one that served before goes on serving; then they are swapped at once.
Vectors of two models are never compared.
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
from hivelore.indexing.model import DocumentKey, ModelKey, Neighbour, Neighbours, PassageKey, QueryTokens, Vector
from hivelore.models.ports import EmbeddingProvider, TokenEmbedder
from hivelore.search.late_interaction import maxsim, token_weights
from hivelore.search.model import Filter
from hivelore.storage.ports import Deferred, MemoryStore, View

SERVING = "model.serving"
"""The setting that names the fingerprint whose vectors answer questions."""
INDEX_WAIT = 2.0
"""Seconds that a question waits at most for an index that is built since the start: 100,000 passages take less."""
_NO_NEIGHBOURS = Neighbours((), 0, 0.0, 0.0)
_NO_TOKENS = QueryTokens()
NONE_CONFIGURED = "no embedding model is configured"
NOT_COMPLETE = "the embedding model was changed and not everything is embedded with the new one yet"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A provider and the index over its vectors; ``detail`` where it tells of tokens too."""

    provider: EmbeddingProvider
    index: VectorIndex
    token_embedder: TokenEmbedder | None = None
    embed_concurrently: bool = False
    """Whether a question may be embedded beside the search for its words: where that takes a processor for
    milliseconds."""
    outage: Callable[[], str | None] = lambda: None
    """Why questions do not wait for the provider at present; None where they do."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """The vector of a question, or another text, and the model it is of, or why there is none."""

    vector: Vector | None
    missing_reason: str | None = None
    model: EmbeddingModel | None = None
    tokens: QueryTokens = _NO_TOKENS


class ActiveModel:
    """The model that answers questions now, and the one that is wanted. ``wanted`` None: no embedder."""

    def __init__(
        self,
        wanted: EmbeddingModel | None,
        *,
        before: EmbeddingModel | None = None,
        incomplete: bool = False,
        processors: int | None = None,
    ) -> None:
        """``before`` answers until ``wanted`` is complete. ``incomplete``: another model served before and
        can no longer be called, so nothing answers until then. ``processors``: None: those of this machine."""
        self._wanted = wanted
        self._model = None if incomplete else before or wanted
        self._indexes_updated = threading.Event()
        self._index_wait = 0.0
        self._processors = processors or os.cpu_count() or 1
        self._executor: Executor | None = ThreadPoolExecutor(self._processors, "hivelore-question")
        self._count_lock = threading.Lock()
        self._active_queries = 0

    def wait_for_indexes(self) -> None:
        """``look_after`` will be called at once, in another thread: questions wait a little for its end rather than
        do without vectors because the service has only just started."""
        self._index_wait = INDEX_WAIT

    def update_indexes(self, store: MemoryStore) -> None:
        """Build the indexes that are not ready and bring the others up to date, so that no recall has to."""
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
        """Let the indexes do what keeps them quick: see ``VectorIndex.maintain``."""
        for model in {id(model): model for model in (self._model, self._wanted) if model is not None}.values():
            model.index.maintain(store, stopping)

    @property
    def ready(self) -> bool:
        """Whether the index that answers questions is built; True where there is none."""
        return self._model is None or self._model.index.ready

    @property
    def wanted(self) -> EmbeddingModel | None:
        return self._wanted

    @property
    def current(self) -> EmbeddingModel | None:
        return self._model

    @property
    def outage(self) -> str | None:
        """Why questions are answered by keywords at present although there is a model; None where they are not."""
        return None if self._model is None else self._model.outage()

    @property
    def swapping(self) -> bool:
        """True while the wanted model is not complete and another one answers."""
        return self._model is not self._wanted

    def swap(self) -> None:
        self._model = self._wanted

    @contextmanager
    def query_embedding(self, text: Clean) -> Generator[Callable[[], EmbeddedQuery]]:
        """While a question is answered: gives a way to wait for its vector. It is embedded beside the caller where a
        processor is to spare, so where fewer questions than processors are being answered, this one among them. Else
        it is waited for here, since a caller may hold a snapshot meanwhile."""
        with self._count_lock:
            self._active_queries += 1
            is_one_to_spare = self._active_queries < self._processors
        try:
            yield self._start_embedding(text, is_one_to_spare)
        finally:
            with self._count_lock:
                self._active_queries -= 1

    def _start_embedding(self, text: Clean, is_one_to_spare: bool) -> Callable[[], EmbeddedQuery]:
        model, beside = self._model, self._executor
        if (
            is_one_to_spare
            and model is not None
            and model.embed_concurrently
            and model.index.ready
            and beside is not None
        ):
            return beside.submit(self.embed_query, text).result
        embedded = self.embed_query(text)
        return lambda: embedded

    def close(self) -> None:
        """End the threads; questions are embedded without them from now on."""
        beside, self._executor = self._executor, None
        if beside is not None:
            beside.shutdown()

    def embed_query(self, text: Clean) -> EmbeddedQuery:
        """The vector of a question, or why there is none."""
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
        """The vector that a text would have if it were kept, for comparing it with what is."""
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
        """Among the vectors of the model that the question was embedded with, though another may serve by now."""
        if query.vector is None or query.model is None:
            return _NO_NEIGHBOURS
        query.model.index.follow(view)
        return query.model.index.nearest(view, query.vector, where, limit, also)

    def vectors(
        self,
        view: View,
        query: EmbeddedQuery,
        passages: Sequence[PassageKey],
        known: Mapping[PassageKey, Vector],
    ) -> Mapping[PassageKey, Vector]:
        """Of the model that the question was embedded with. ``known``: those that need not be read."""
        missing = [passage for passage in passages if passage not in known]
        key = None if query.model is None or not missing else view.model_key(query.model.provider.fingerprint)
        return known if key is None else {**known, **view.vectors(key, missing)}

    def token_scores(
        self, view: View, query: EmbeddedQuery, nearest: Sequence[Neighbour], rarities: Mapping[str, float]
    ) -> Deferred[Mapping[DocumentKey, float]]:
        """How well passages meet the question token by token, of those whose tokens the same model has told.
        ``rarities`` are those of the words of the question."""
        key = None if query.model is None else view.model_key(query.model.provider.fingerprint)
        if key is None or not nearest or not query.tokens.codes:
            return _no_scores
        asked = view.token_codes(key, [near.passage for near in nearest])

        def scores() -> Mapping[DocumentKey, float]:
            known = asked()
            told = [near for near in nearest if near.passage in known]
            weights = token_weights(query.tokens.words, rarities)
            found = maxsim(query.tokens.codes, weights, [known[near.passage] for near in told])
            return {near.document: score for near, score in zip(told, found.tolist(), strict=True)}

        return scores

    def wanted_model(self, view: View) -> ModelKey | None:
        return None if self._wanted is None else view.model_key(self._wanted.provider.fingerprint)


def _no_scores() -> Mapping[DocumentKey, float]:
    return {}
