"""Writing to a store that speaks SQL inside one unit of work: what every dialect does alike."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import cast

from hivelore.adapters.sql import recalls, rows
from hivelore.adapters.sql.instants import MICROSECOND, to_micros, to_micros_or_none
from hivelore.adapters.sql.view import SqlView
from hivelore.adapters.sql.where import Param, Params
from hivelore.domain.agent import Agent, ApiKey, KeyId
from hivelore.domain.audit import AuditEntry
from hivelore.domain.index import (
    ChangeKind,
    ChunkKey,
    DocumentKey,
    ModelKey,
    PassageKey,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
    Waiting,
)
from hivelore.domain.job import Job
from hivelore.domain.memory import Action, Chunk, Memory
from hivelore.domain.moving import WholeMemory
from hivelore.domain.recall_log import Recall
from hivelore.domain.text import Clean
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.policies.vectors import refuse_unfit


class SqlTransaction(SqlView):
    """Implements ``ports.Transaction`` but for the change log; the store opens and ends the transaction around it."""

    @abstractmethod
    def count(self, name: str, params: Params) -> int:
        """Run a named statement that returns nothing; how many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        """Run one statement, which returns nothing, once for each of these."""

    @abstractmethod
    def claim(self, what: bytes) -> None:
        """See that nobody else decides about the same meanwhile: for what is decided by something not being there."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[object]:
        """An error inside undoes what is inside, and nothing else: who handles it goes on with the rest of the unit."""

    @abstractmethod
    def number_from(self, table: str, last: int) -> None:
        """See that the keys that the engine gives to rows of a table are greater than this one."""

    def run(self, name: str, params: Params) -> int | None:
        """Run a named statement; the first value of its first row where it returns one."""
        found = self.rows(self.SQL[name], params)
        return found[0][0] if found else None

    # memories

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        key = self.run("memory_insert", rows.memory_params(memory, Action.CREATED))
        if key is None:
            raise Conflict("Another one has this id, path or external id already.")
        document = DocumentKey(key)
        self._put_tags(document, memory)
        for chunk in chunks:
            self._add_chunk(document, chunk)
        self._changed(ChangeKind.CREATED, document)
        return Stored(document, memory)

    def move_in(self, memories: Sequence[WholeMemory]) -> None:
        with self.savepoint():
            self._move_in("memory", [_memory_moved(one) for one in memories])
            for one in memories:
                self._put_tags(one.key, one.memory)
            past = [rows.version_params(one.key, version) for one in memories for version in one.history[:-1]]
            self.run_many(self.SQL["version_move_in"], past)
            chunks = [stored for one in memories for stored in one.chunks]
            self._move_in("chunk", [{**rows.chunk_params(one.document, one.chunk), "key": one.key} for one in chunks])
            self._move_in("passage", [moved for one in chunks for moved in _passages_moved(one)])
        created = [{"kind": ChangeKind.CREATED, "document": one.key} for one in memories]
        self.run_many(self.SQL["change_insert"], created)

    def _move_in(self, table: str, each: Sequence[dict[str, Param]]) -> None:
        """Put rows with their keys into a table."""
        self.run_many(self.SQL[f"{table}_move_in"], each)
        if each:
            self.number_from(table, max(cast(int, one["key"]) for one in each))

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        before = self._stored("memory_by_key", key=key)
        if before is None:
            raise NotFound("This memory is gone.")
        if memory.version != before.memory.version + 1:
            raise Stale("This memory was changed meanwhile.", current=before.memory.version)
        with self.savepoint():
            self.run("version_keep", {"key": key})
            self.run("memory_update", {**rows.memory_params(memory, action), "key": key})
        if memory.tags != before.memory.tags:
            self.run("tags_delete", {"document": key})
            self._put_tags(key, memory)
        if chunks is None:
            self._changed(ChangeKind.ATTRIBUTES, key)
            return
        self._replace_chunks(key, before.memory.content, memory.content, chunks)
        self._changed(ChangeKind.CONTENT, key)

    def _put_tags(self, document: DocumentKey, memory: Memory) -> None:
        self.run_many(self.SQL["tag_insert"], [{"tag": tag, "document": document} for tag in memory.tags])

    def _replace_chunks(self, document: DocumentKey, old: str, new: str, chunks: Sequence[Chunk]) -> None:
        """Keep every chunk whose text, headings and cuts are as before; drop and add the rest."""
        kept: dict[object, list[StoredChunk]] = {}
        for stored in self.chunks(document):
            kept.setdefault(_likeness(stored.chunk, old), []).append(stored)
        for chunk in chunks:
            same = kept.get(_likeness(chunk, new))
            if same:
                self._move_chunk(same.pop(0), chunk)
            else:
                self._add_chunk(document, chunk)
        for left in kept.values():
            for stored in left:
                self._drop_passages(document, stored.key)
                self.run("chunk_delete", {"key": stored.key})

    def _add_chunk(self, document: DocumentKey, chunk: Chunk) -> None:
        key = ChunkKey(_present(self.run("chunk_insert", rows.chunk_params(document, chunk))))
        self.run_many(self.SQL["passage_insert"], rows.passage_params(document, key, chunk))

    def _move_chunk(self, stored: StoredChunk, chunk: Chunk) -> None:
        if stored.chunk == chunk:
            return
        span = {"start": chunk.start, "stop": chunk.stop}
        self.run("chunk_move", {"key": stored.key, "position": chunk.index, **span})
        for key, passage in zip(stored.passages, chunk.passages, strict=True):
            self.run("passage_move", {"key": key, "start": passage.start, "stop": passage.stop})

    def _drop_passages(self, document: DocumentKey, chunk: ChunkKey) -> None:
        for name in ("chunk_vectors_delete", "chunk_tokens_delete", "chunk_failures_delete", "chunk_passages_delete"):
            self.run(name, {"document": document, "chunk": chunk})

    def renew(self, key: DocumentKey, expires_at: datetime | None) -> None:
        if self.count("memory_renew", {"key": key, "expires_at": to_micros_or_none(expires_at)}):
            self._changed(ChangeKind.ATTRIBUTES, key)

    def forget(self, key: DocumentKey) -> None:
        if self.row("memory_exists", key=key) is None:
            return
        for stored in self.chunks(key):
            self._drop_passages(key, stored.key)
        for name in ("chunks_delete", "tags_delete", "versions_delete"):
            self.run(name, {"document": key})
        self.run("memory_delete", {"key": key})
        self._changed(ChangeKind.FORGOTTEN, key)

    def touch(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        counted = [{"key": key, "count": count, "at": to_micros(at)} for key, (count, at) in reads.items()]
        self.run_many(self.SQL["memory_touch"], counted)

    def _changed(self, kind: ChangeKind, document: DocumentKey) -> None:
        self.run("change_insert", {"kind": kind, "document": document})

    # vectors

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        known = self.model(fingerprint)
        if known is not None:
            return known
        return ModelKey(_present(self.run("model_insert", {"fingerprint": fingerprint, "dimension": dimension})))

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        dimension = self.dimension(model)
        for vector in vectors.values():
            refuse_unfit(vector, dimension)
        documents = self._embedded(model, list(vectors))
        told = {passage: codes for passage, codes in (tokens or {}).items() if codes and passage in documents}
        untold = [passage for passage in documents if passage not in told]
        packed = [
            {"model": model, "passage": passage, "vector": self.vector(vectors[passage])} for passage in documents
        ]
        self.run_many(self.SQL["vector_put"], packed)
        coded = [{"model": model, "passage": passage, "codes": codes} for passage, codes in told.items()]
        self.run_many(self.SQL["tokens_put"], coded)
        self.run("tokens_delete", {"model": model, "passages": self.array(untold)})
        self.run("failures_forget", {"model": model, "passages": self.array(documents)})
        changed = [{"kind": ChangeKind.VECTORS, "document": document} for document in dict.fromkeys(documents.values())]
        self.run_many(self.SQL["change_insert"], changed)
        return len(documents)

    def _embedded(self, model: ModelKey, passages: Sequence[PassageKey]) -> dict[PassageKey, DocumentKey]:
        """Note that passages have a vector; those that are still there, with their documents."""
        found = {passage: self.run("passage_embedded", {"model": model, "passage": passage}) for passage in passages}
        return {passage: DocumentKey(document) for passage, document in found.items() if document is not None}

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime | None) -> None:
        params = {"model": model, "passage": passage, "not_before": to_micros_or_none(not_before), "error": error}
        self.run("failure_put", params)
        self.release([passage])

    def lease_waiting(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[Waiting]:
        free = self.SQL["waiting"].replace("{free}", self.SQL["free"]).replace("{locked}", self.SQL["locked"])
        found = self._waiting(free, model, now, limit, newest_first)
        passages = self.array([one.passage for one in found])
        self.run("passages_lease", {"passages": passages, "now": to_micros(now), "lease": lease // MICROSECOND})
        return found

    def release(self, passages: Sequence[PassageKey]) -> None:
        self.run_many(self.SQL["passage_release"], [{"passage": passage} for passage in passages])

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        return self.count("failures_clear", {"model": model, "limit": limit})

    def take_up(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        page = {"model": model, "after": after, "limit": limit}
        self.run("passages_adopt", page)
        return [PassageKey(row[0]) for row in self.rows(self.SQL["vectors_behind"], page)]

    def queue_again(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        queued = self.rows(self.SQL["passages_queue"], {"model": model, "after": after, "limit": limit})
        return sorted(PassageKey(row[0]) for row in queued)

    def leave_queue(self, model: ModelKey, limit: int) -> int:
        return self.count("passages_leave_queue", {"model": model, "limit": limit})

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        self.run("tokens_drop", {"model": model, "limit": limit})
        dropped = self.count("vectors_drop", {"model": model, "limit": limit})
        for name in ("passages_unmark", "passages_unqueue"):
            self.run(name, {"model": model})
        return dropped

    # the swarm

    def put_agent(self, agent: Agent) -> None:
        with self.savepoint():
            self.run("agent_put", rows.agent_params(agent))

    def put_api_key(self, key: ApiKey) -> None:
        self.run("api_key_put", rows.api_key_params(key))

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        return bool(self.rows(self.SQL["api_key_revoke"], {"id": key, "at": to_micros(at)}))

    def record(self, entry: AuditEntry) -> None:
        self.run("audit_insert", rows.audit_params(entry))

    def move_in_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        with self.savepoint():
            self._move_in("audit", [{**rows.audit_params(entry), "key": number} for number, entry in entries.items()])

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        given = {hit.memory for entry in entries for hit in entry.hits}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(given)}))
        self.run_many(self.SQL["recall_insert"], [recalls.params(entry, keys) for entry in entries])

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("recall_nth", newer=keep - 1)
        at, number = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("recalls_prune", {"at": at, "id": number, "limit": limit})

    def put_job(self, job: Job) -> None:
        self.run("job_put", rows.job_params(job))

    def lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        asked = {"name": name, "holder": holder, "now": to_micros(now), "lease": lease // MICROSECOND}
        return self.run("lease", asked) is not None

    def set_setting(self, name: str, value: str) -> None:
        self.run("setting_put", {"name": name, "value": value})


def _memory_moved(one: WholeMemory) -> dict[str, Param]:
    return {**rows.memory_params(one.memory, one.history[-1].action), "key": one.key}


def _passages_moved(one: StoredChunk) -> list[dict[str, Param]]:
    params = rows.passage_params(one.document, one.key, one.chunk)
    return [{**passage, "key": key} for passage, key in zip(params, one.passages, strict=True)]


def _likeness(chunk: Chunk, content: str) -> object:
    """Equal for chunks that may share one row: same text under the same headings, cut the same way."""
    cuts = tuple((passage.start - chunk.start, passage.stop - chunk.start) for passage in chunk.passages)
    return content[chunk.start : chunk.stop], chunk.headings, cuts


def _present(key: int | None) -> int:
    if key is None:
        raise AssertionError("the statement returns the key of its row")
    return key
