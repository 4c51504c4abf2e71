"""Writing memories to a store that speaks SQL inside one unit of work: what every dialect does alike."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from hivelore.core.text import Clean
from hivelore.core.vectors import refuse_unfit
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.feedback.recalls import Evidence, together
from hivelore.indexing.model import (
    ChangeKind,
    ChunkKey,
    DocumentKey,
    ModelKey,
    PassageKey,
    QueuedPassage,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
)
from hivelore.memories.model import Action, Chunk, Memory, MemoryId
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import Held, Observation
from hivelore.storage.change_recorder import ChangeRecorder
from hivelore.storage.sql import operational, rows, usefulness, versions
from hivelore.storage.sql.instants import MICROSECOND, to_micros, to_micros_or_none
from hivelore.storage.sql.swarm_transaction import SqlSwarmTransaction
from hivelore.storage.sql.where import Param


class SqlTransaction(ChangeRecorder, SqlSwarmTransaction):
    """Implements ``storage.ports.Transaction`` but for the change log; the store opens and ends the transaction
    around it."""

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        key = self.run("memory_insert", rows.memory_params(memory, Action.CREATED))
        if key is None:
            raise Conflict("Another one has this id, path or external id already.")
        document = DocumentKey(key)
        self._put_tags(document, memory)
        self._put_operational({document: memory})
        for chunk in chunks:
            self._add_chunk(document, chunk)
        self._changed(ChangeKind.CREATED, document)
        self._note_new(document)
        return Stored(document, memory)

    def move_in(self, memories: Sequence[WholeMemory]) -> None:
        with self.savepoint():
            self._move_in("memory", [_memory_moved(one) for one in memories])
            for one in memories:
                self._put_tags(one.key, one.memory)
            past = [versions.params(one.key, version) for one in memories for version in one.history[:-1]]
            self.run_many(self.SQL["version_move_in"], past)
            self._put_operational({one.key: one.memory for one in memories})
            seen = [operational.observation_params(one.key, each) for one in memories for each in one.observations]
            self.run_many(self.SQL["observation_insert"], seen)
            for one in memories:
                self._put_evidence(one.key, (), one.evidence)
            chunks = [stored for one in memories for stored in one.chunks]
            self._move_in("chunk", [{**rows.chunk_params(one.document, one.chunk), "key": one.key} for one in chunks])
            self._move_in("passage", [moved for one in chunks for moved in _passages_moved(one)])
        for one in memories:
            self._note_new(one.key)
        created = [{"kind": ChangeKind.CREATED, "document": one.key} for one in memories]
        self.run_many(self.SQL["change_insert"], created)

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        before = self._stored("memory_by_key", key=key)
        if before is None:
            raise NotFound("This memory is gone.")
        if memory.version != before.memory.version + 1:
            raise Stale("This memory was changed meanwhile.", current=before.memory.version)
        self._note(key)
        with self.savepoint():
            self.run("version_keep", {"key": key})
            self.run("memory_update", {**rows.memory_params(memory, action), "key": key})
        if memory.tags != before.memory.tags:
            self.run("tags_delete", {"document": key})
            self._put_tags(key, memory)
        if memory.operational != before.memory.operational:
            self.run("operational_delete", {"document": key})
            self._put_operational({key: memory})
        if chunks is None:
            self._changed(ChangeKind.ATTRIBUTES, key)
            return
        self._replace_chunks(key, before.memory.content, memory.content, chunks)
        self._changed(ChangeKind.CONTENT, key)

    def _put_tags(self, document: DocumentKey, memory: Memory) -> None:
        self.run_many(self.SQL["tag_insert"], [{"tag": tag, "document": document} for tag in memory.tags])

    def _put_operational(self, documents: Mapping[DocumentKey, Memory]) -> None:
        known = [(key, memory.operational) for key, memory in documents.items()]
        each = [operational.params(key, one) for key, one in known if one is not None]
        self.run_many(self.SQL["operational_put"], each)

    def _replace_chunks(self, document: DocumentKey, old: str, new: str, chunks: Sequence[Chunk]) -> None:
        """Keep every chunk whose text, headings and cuts are as before; drop and add the rest."""
        kept: dict[object, list[StoredChunk]] = {}
        for stored in self.chunks(document):
            kept.setdefault(stored.chunk.identity(old), []).append(stored)
        for chunk in chunks:
            same = kept.get(chunk.identity(new))
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
        self._note(key)
        if self.count("memory_renew", {"key": key, "expires_at": to_micros_or_none(expires_at)}):
            self._changed(ChangeKind.ATTRIBUTES, key)

    def link(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        self._note(key)
        place = {"key": key, "valid_until": to_micros_or_none(valid_until), "supersedes": supersedes}
        if self.count("memory_link", place):
            self._changed(ChangeKind.ATTRIBUTES, key)

    def observe(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        self._note(key)
        if self.count("operational_hold", operational.held_params(key, held)):
            self.run("observation_insert", operational.observation_params(key, observation))
            self._changed(ChangeKind.ATTRIBUTES, key)

    def put_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        self._note(key)
        if self.count("operational_hold", operational.held_params(key, held)):
            self.run("observations_delete", {"document": key})
            seen = [operational.observation_params(key, one) for one in observations]
            self.run_many(self.SQL["observation_insert"], seen)
            self._changed(ChangeKind.ATTRIBUTES, key)

    def unquote(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        told = self.rows(self.SQL["observations_unquote"], {"words": self.array(words)})
        return sorted({DocumentKey(row[0]) for row in told})

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        self._note(*found)
        known = self.evidence_of(found)
        for key, new in found.items():
            before = known.get(key, ())
            now = together(before, new)
            if now != before and self.row("memory_exists", key=key) is not None:
                self._put_evidence(key, before, now)
                self._changed(ChangeKind.ATTRIBUTES, key)

    def _put_evidence(self, key: DocumentKey, before: Sequence[Evidence], now: Sequence[Evidence]) -> None:
        for name, params in usefulness.written(key, before, now):
            self.run(name, params)

    def drop_evidence(self, key: DocumentKey) -> None:
        if self.count("evidence_delete", {"document": key}):
            self.run("usefulness_delete", {"document": key})
            self._changed(ChangeKind.ATTRIBUTES, key)

    def forget(self, key: DocumentKey) -> None:
        if self.row("memory_exists", key=key) is None:
            return
        self._note(key)
        for stored in self.chunks(key):
            self._drop_passages(key, stored.key)
        about = ("observations", "operational", "evidence", "usefulness", "events", "proposals", "concerned")
        for of_it in ("chunks", "tags", "versions", *about):
            self.run(f"{of_it}_delete", {"document": key})
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

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        params = {"model": model, "passage": passage, "not_before": to_micros(not_before), "error": error}
        self.run("failure_put", params)
        self.release([passage])

    def lease_waiting(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
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

    def queue_lost(self, limit: int) -> int:
        return self.count("passages_requeue", {"limit": limit})

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        self.run("tokens_drop", {"model": model, "limit": limit})
        dropped = self.count("vectors_drop", {"model": model, "limit": limit})
        for name in ("passages_unmark", "passages_unqueue"):
            self.run(name, {"model": model})
        return dropped


def _memory_moved(one: WholeMemory) -> dict[str, Param]:
    return {**rows.memory_params(one.memory, one.history[-1].action), "key": one.key}


def _passages_moved(one: StoredChunk) -> list[dict[str, Param]]:
    params = rows.passage_params(one.document, one.key, one.chunk)
    return [{**passage, "key": key} for passage, key in zip(params, one.passages, strict=True)]


def _present(key: int | None) -> int:
    if key is None:
        raise AssertionError("the statement returns the key of its row")
    return key
