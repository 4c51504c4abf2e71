"""Embedding models, vectors and the embedding queue."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivelore.core.text import Clean
from hivelore.core.vectors import check_vector
from hivelore.errors import NotFound
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    ChangeKind,
    Deferred,
    Instants,
    ModelKey,
    PassageVectors,
    QueuedPassage,
    TokenCodes,
    Vector,
)
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    MICROSECOND,
    PLAIN,
    SCOPE_OF,
    SCOPES,
    SOURCE_OF,
    SOURCES,
    Columns,
    Params,
    Row,
    SqlReader,
    SqlWriter,
    plain,
    to_micros,
)

ATTRIBUTES = Columns(
    Attributes,
    None,
    owner=PLAIN,
    scope=SCOPES,
    source=SOURCES,
    **plain("project session category"),
    created_at=INSTANT,
    expires_at=INSTANT,
    superseded=FLAG,
)
_BATCH = 2_000
_NO_INSTANT = np.iinfo(np.int64).min
"""The value that numpy reads as "not a time"."""


def read_embedded(found: Sequence[Row], floats: Callable[[Sequence[bytes]], NDArray[np.float32]]) -> PassageVectors:
    """Columns document, those of ``ATTRIBUTES``, chunk, passage, vector."""
    columns = list(zip(*found, strict=True)) or [()] * 13
    return PassageVectors(
        documents=np.array(columns[0], np.int64),
        chunks=np.array(columns[10], np.int64),
        passages=np.array(columns[11], np.int64),
        vectors=floats(columns[12]) if found else np.empty((0, 0), np.float32),
        attributes=read_attribute_columns(columns[1:10]),
    )


def read_attribute_columns(columns: Sequence[Sequence[Any]]) -> AttributeColumns:
    """The columns of ``ATTRIBUTES``, each with its values of all rows."""
    owner, scope, source, project, session, category, created_at, expires_at, superseded = columns
    return AttributeColumns(
        owner=owner,
        scope=[SCOPE_OF[code] for code in scope],
        source=[SOURCE_OF[code] for code in source],
        project=project,
        session=session,
        category=category,
        created_at=_instants(created_at),
        expires_at=_instants(expires_at),
        superseded=[bool(one) for one in superseded],
    )


def _instants(micros: Sequence[int | None]) -> Instants:
    return np.array([_NO_INSTANT if one is None else one for one in micros], np.int64).view("M8[us]")


class EmbeddingReader(SqlReader):
    """Implements ``embeddings.ports.EmbeddingReads``."""

    def model_key(self, fingerprint: str) -> ModelKey | None:
        return self.facts().models.get(fingerprint)

    def model_keys(self) -> Mapping[str, ModelKey]:
        return self.facts().models

    def dimension(self, model: ModelKey) -> int:
        row = self.row("model_dimension", model=model)
        if row is None:
            raise NotFound("This embedding model is not registered. Register it first.")
        return row[0]

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        with self.unrestricted():
            found = self.rows(self.SQL["embedded"], {"model": model, "keys": self.array(set(keys))})
        return read_embedded(found, self.floats)

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        with self.unrestricted():
            found = self.stream(self.SQL["embedded_all"], {"model": model})
            while batch := list(islice(found, _BATCH)):
                yield read_embedded(batch, self.floats)

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]:
        with self.unrestricted():
            found = self.rows(self.SQL["attributes"], {"keys": self.array(set(keys))})
        return {row[0]: ATTRIBUTES.read(row[1:]) for row in found}

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        found = self.rows(self.SQL["vectors"], {"model": model, "passages": self.array(set(passages))})
        keys, blobs = zip(*found, strict=True) if found else ((), ())
        return dict(zip(keys, self.floats(blobs) if found else (), strict=True))

    def token_codes(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        fetch_rows = self.deferred(self.SQL["tokens"], {"model": model, "passages": self.array(set(passages))})
        return lambda: {PassageKey(key): codes for key, codes in fetch_rows()}

    def queued_passages(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        statement = self.SQL["queued_passages"].replace("{unleased}", "").replace("{locked}", "")
        return self._waiting(statement, model, now, limit, newest_first)

    def _waiting(
        self, statement: str, model: ModelKey, now: datetime, limit: int, newest_first: bool
    ) -> Sequence[QueuedPassage]:
        statement = statement.replace("{order}", "DESC" if newest_first else "ASC")
        found = self.run_queued(statement, {"model": model, "now": to_micros(now), "limit": limit})
        found.sort(key=lambda row: row[0], reverse=newest_first)
        return [
            QueuedPassage(PassageKey(key), DocumentKey(document), Clean(content[start:stop]), author)
            for key, document, start, stop, content, author in found[:limit]
        ]

    def count_pending(self, model: ModelKey) -> int:
        return sum(row[0] for row in self.run_queued(self.SQL["pending"], {"model": model}))

    def count_failing(self, model: ModelKey) -> int:
        return sum(row[1] for row in self.run_queued(self.SQL["pending"], {"model": model}))

    def run_queued(self, statement: str, params: Params) -> list[Any]:
        """Runs a statement over every part of the embedding queue. Each part is one range of an index."""
        others = [0, *(row[0] for row in self.rows(self.SQL["models"]) if row[0] != params["model"])]
        found = self.rows(statement.replace("{queue}", self.SQL["queue_again"]), params)
        for other in others:
            found += self.rows(statement.replace("{queue}", self.SQL["queue_new"]), {**params, "other": other})
        return found

    def embedding_attempts(self, model: ModelKey, passage: PassageKey) -> int:
        row = self.row("attempts", model=model, passage=passage)
        return 0 if row is None else row[0]

    def count_lost_vectors(self) -> int:
        with self.unrestricted():
            return self.rows(self.SQL["lost_vectors"])[0][0]


class EmbeddingWriter(EmbeddingReader, SqlWriter):
    """Implements ``embeddings.ports.EmbeddingWrites``."""

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        known = self.model_key(fingerprint)
        if known is not None:
            return known
        return ModelKey(self.run("model_insert", {"fingerprint": fingerprint, "dimension": dimension}))

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        dimension = self.dimension(model)
        for vector in vectors.values():
            check_vector(vector, dimension)
        documents = self._embedded(model, list(vectors))
        with_codes = {passage: codes for passage, codes in (tokens or {}).items() if codes and passage in documents}
        without_codes = [passage for passage in documents if passage not in with_codes]
        packed = [
            {"model": model, "passage": passage, "vector": self.vector(vectors[passage])} for passage in documents
        ]
        self.run_each("vector_put", packed)
        coded = [{"model": model, "passage": passage, "codes": codes} for passage, codes in with_codes.items()]
        self.run_each("tokens_put", coded)
        self.run("tokens_delete", {"model": model, "passages": self.array(without_codes)})
        self.run("failures_delete", {"model": model, "passages": self.array(documents)})
        self.log_changes(ChangeKind.VECTORS, dict.fromkeys(documents.values()))
        return len(documents)

    def _embedded(self, model: ModelKey, passages: Sequence[PassageKey]) -> dict[PassageKey, DocumentKey]:
        """Marks passages as embedded; returns the documents of those that still exist."""
        found = {passage: self.run("passage_embedded", {"model": model, "passage": passage}) for passage in passages}
        return {passage: DocumentKey(document) for passage, document in found.items() if document is not None}

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        params = {"model": model, "passage": passage, "not_before": to_micros(not_before), "error": error}
        self.run("failure_put", params)
        self.release_passages([passage])

    def lease_passages(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        statement = self.SQL["queued_passages"].replace("{unleased}", self.SQL["unleased"])
        statement = statement.replace("{locked}", self.SQL["locked"])
        found = self._waiting(statement, model, now, limit, newest_first)
        passages = self.array([one.passage for one in found])
        self.run("passages_lease", {"passages": passages, "now": to_micros(now), "lease": lease // MICROSECOND})
        return found

    def release_passages(self, passages: Sequence[PassageKey]) -> None:
        self.run_each("passage_release", [{"passage": passage} for passage in passages])

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        return self.count("failures_retry", {"model": model, "limit": limit})

    def adopt_vectors(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        page = {"model": model, "after": after, "limit": limit}
        self.run("passages_adopt", page)
        return [PassageKey(row[0]) for row in self.rows(self.SQL["vectors_after"], page)]

    def requeue(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        queued = self.rows(self.SQL["passages_requeue"], {"model": model, "after": after, "limit": limit})
        return sorted(PassageKey(row[0]) for row in queued)

    def cancel_requeue(self, model: ModelKey, limit: int) -> int:
        return self.count("passages_cancel_requeue", {"model": model, "limit": limit})

    def requeue_lost(self, limit: int) -> int:
        return self.count("passages_requeue_lost", {"limit": limit})

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        self.run("tokens_drop", {"model": model, "limit": limit})
        dropped = self.count("vectors_drop", {"model": model, "limit": limit})
        for name in ("passages_unmark", "passages_unqueue"):
            self.run(name, {"model": model})
        return dropped
