"""Hivelore inside one process: whole recalls, and their two searches."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.filling import local
from bench.speed.turns import LIMIT, Ask
from hivelore.core.agents import Viewer
from hivelore.indexes.vectors.scan import Quantised
from hivelore.indexing.model import Vector
from hivelore.local.lock import EMBEDDED
from hivelore.python.hive import EmbeddedHive
from hivelore.runtime.app import Application, open_application
from hivelore.runtime.settings import load
from hivelore.search.model import Filter, ScopeChoice
from hivelore.search.ranking import Pool
from hivelore.search.service import KEYWORD_DEPTH
from hivelore.search.tokenizer import query_terms

_READY = 600.0
"""Seconds that the vectors may take until they can be searched."""
_BLOCK = 65_536


class Embedded:
    """The Python API on a data directory, and its internals."""

    def __init__(self, app: Application, viewer: Viewer) -> None:
        self._app = app
        self._hive = EmbeddedHive(app, viewer)
        wanted = app.active_model.wanted
        assert wanted is not None
        self._model = wanted
        self._where = Filter(visibility=app.reading.widest_filter(viewer).visibility, live_at=app.clock.now())

    def recall(self, text: str) -> object:
        return self._hive.recall(text, limit=LIMIT)

    def ids(self, text: str) -> list[str]:
        """Returns the ids of the hits of a recall."""
        return [hit.memory.id for hit in self._hive.recall(text, limit=LIMIT)]

    def recall_private(self, text: str) -> object:
        return self._hive.recall(text, limit=LIMIT, scope=ScopeChoice.AGENT)

    def keywords(self, text: str) -> object:
        """Runs the keyword search of a recall."""
        terms = query_terms(text)
        with self._app.store.read() as view:
            return self._app.keywords.search(view, terms, self._where, KEYWORD_DEPTH)

    def nearest(self, vector: Vector) -> object:
        """Runs the vector search of a recall."""
        with self._app.store.read() as view:
            return self._model.index.nearest(view, vector, self._where, Pool().each)

    def vectors(self) -> Vector:
        """Returns all vectors, in the order of the memories."""
        with self._app.store.read() as view:
            model = view.model_key(self._model.provider.fingerprint)
            batches = [] if model is None else list(view.all_embedded(model))
        order = np.argsort(np.concatenate([batch.passages for batch in batches]))
        return np.concatenate([batch.vectors for batch in batches])[order]


@contextmanager
def opened(home: Path, database: str | None = None) -> Generator[Embedded]:
    """Opens a hive with all its vectors ready; on PostgreSQL where ``database`` is the URL of one."""
    app = open_application(load(home=home, database=database), kind=EMBEDDED)
    try:
        if not app.embedding.wait(_READY):
            raise RuntimeError("the vectors were not ready in time")
        yield Embedded(app, local(app))
    finally:
        app.close()


def stream(vectors: Vector) -> Ask:
    """Reads the codes of all vectors once: the lower bound of any scan on one core."""
    parts = [Quantised.of(vectors[start : start + _BLOCK]).codes for start in range(0, len(vectors), _BLOCK)]
    codes = np.concatenate(parts)
    return lambda _text: codes.max()
