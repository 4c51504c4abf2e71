"""Memories with their tags, versions, chunks and passages, and the facts they state."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.indexing.model import ChangeKind, Deferred, ModelKey
from hivelore.memories.model import (
    ENDING_LENGTH,
    Action,
    Chunk,
    Memory,
    MemoryId,
    Passage,
    Provenance,
    RankFeatures,
    Scope,
    Source,
    Statement,
    Topic,
    Version,
    is_question,
)
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey, Stored, StoredChunk
from hivelore.search.model import Filter, Stats
from hivelore.storage.sql.embeddings import EmbeddingReader
from hivelore.storage.sql.observations import OPERATIONAL, ObservationWriter
from hivelore.storage.sql.statements import (
    ACTION,
    ACTIONS,
    EPOCH,
    INSTANT,
    INTERFACES,
    OBJECT,
    PLAIN,
    SCOPE,
    SCOPE_OF,
    SCOPES,
    SOURCE_OF,
    SOURCES,
    TEXTS,
    TRUSTS,
    Columns,
    Param,
    Row,
    Table,
    after_position,
    begins_with,
    condition,
    digest,
    parts,
    plain,
    to_micros,
    to_micros_or_none,
)

MEMORY = Table(
    Memory,
    "memory",
    "",
    "action statement topic",
    **plain("id owner"),
    scope=SCOPES,
    source=SOURCES,
    **plain("name content summary category"),
    tags=TEXTS,
    **plain("project session author source_task_id source_path external_id"),
    metadata=OBJECT,
    created_at=INSTANT,
    updated_at=INSTANT,
    expires_at=INSTANT,
    accessed_at=INSTANT,
    **plain("access_count version subject"),
    valid_from=INSTANT,
    valid_until=INSTANT,
    supersedes=PLAIN,
    provenance=Columns(Provenance, 0, interface=INTERFACES, actor=PLAIN, trust=TRUSTS, reason=PLAIN),
)
VERSION = Table(
    Version,
    "version",
    "document",
    number=PLAIN,
    at=INSTANT,
    action=ACTIONS,
    actor=PLAIN,
    interface=INTERFACES,
    reason=PLAIN,
    scope=SCOPES,
    **plain("name content summary category"),
    tags=TEXTS,
    project=PLAIN,
    expires_at=INSTANT,
    subject=PLAIN,
    valid_from=INSTANT,
)
CHUNK = Table(Chunk, "chunk", "document", index=PLAIN.named("position"), start=PLAIN, stop=PLAIN, headings=TEXTS)
PASSAGE = Table(Passage, "passage", "document chunk position", start=PLAIN, stop=PLAIN)

MEMORY_COLUMNS = f"m.key, {MEMORY.listed('m')}, {OPERATIONAL.listed('o')}"
_OPERATIONAL = 1 + len(MEMORY.names)
"""The place of the first column of ``OPERATIONAL``."""
_CONFIDENCE = OPERATIONAL.names.index("confidence")
_COMMON_TAG = 1_000
"""A tag of at least this many memories is common."""
_LAST_KEY = DocumentKey(2**63 - 1)


def read_stored(rows: Sequence[Row]) -> list[Stored]:
    """Columns ``MEMORY_COLUMNS``. Those of ``OPERATIONAL`` are all NULL for a memory that is not operational."""
    operational = [
        None if row[_OPERATIONAL + _CONFIDENCE] is None else OPERATIONAL.read(row[_OPERATIONAL:]) for row in rows
    ]
    memories = MEMORY.read_all([row[1:] for row in rows], operational=operational)
    return [Stored(DocumentKey(row[0]), memory) for row, memory in zip(rows, memories, strict=True)]


def read_rank_features(rows: Sequence[Row]) -> dict[DocumentKey, RankFeatures]:
    """Columns key, id, created_at, accessed_at, access_count, session, project, author, length of the content, its last
    80 bytes (at least 20 characters; SQLite would scan the text to find those), and those of ``OPERATIONAL`` and
    ``USEFULNESS``."""
    questions = [is_question(row[9].decode(errors="ignore")[-ENDING_LENGTH:]) for row in rows]
    features: dict[DocumentKey, RankFeatures] = {}
    for row, asks in zip(rows, questions, strict=True):
        key, memory, created_at, accessed_at, count, session, project, author, length, _, *more = row
        known, use = more[: len(OPERATIONAL.names)], more[len(OPERATIONAL.names) :]
        features[key] = RankFeatures(
            memory,
            EPOCH + timedelta(microseconds=created_at),
            None if accessed_at is None else EPOCH + timedelta(microseconds=accessed_at),
            count,
            session,
            project,
            author,
            length,
            asks,
            NO_USAGE if use[0] is None else UsageCounts(*use),
            None if known[_CONFIDENCE] is None else OPERATIONAL.read(known),
        )
    return features


def read_chunks(rows: Sequence[Row]) -> list[StoredChunk]:
    """One row for each passage, or one row without a passage: document, key, position, start, stop and headings of the
    chunk, then key, start and stop of the passage. The rows of a chunk follow each other."""
    groups = [list(of_chunk) for _, of_chunk in groupby(rows, itemgetter(1))]
    keys = [tuple([PassageKey(row[6]) for row in group if row[6] is not None]) for group in groups]
    passages = [tuple([Passage(start=row[7], stop=row[8]) for row in group if row[6] is not None]) for group in groups]
    chunks = CHUNK.read_all([group[0][2:] for group in groups], passages=passages)
    return [
        StoredChunk(ChunkKey(group[0][1]), group[0][0], chunk, of_chunk)
        for group, chunk, of_chunk in zip(groups, chunks, keys, strict=True)
    ]


def memory_params(memory: Memory, action: Action) -> dict[str, Param]:
    return {
        **MEMORY.params(memory),
        "action": ACTION[action],
        "statement": statement_digest(memory.statement),
        "topic": None if memory.topic is None else topic_digest(memory.topic),
    }


def chunk_params(document: DocumentKey, chunk: Chunk) -> dict[str, Param]:
    return {**CHUNK.params(chunk), "document": document}


def passage_params(document: DocumentKey, chunk: ChunkKey, of_chunk: Chunk) -> list[dict[str, Param]]:
    """Parameters of all passages of a chunk, in order."""
    return [
        {**PASSAGE.params(passage), "document": document, "chunk": chunk, "position": position}
        for position, passage in enumerate(of_chunk.passages)
    ]


def statement_digest(value: Statement) -> bytes:
    """Returns the digest of owner, name and content. Project and scope are not part of it, so that digests from before
    projects existed stay valid."""
    return digest(value.owner or "", value.name, value.content)


def topic_digest(value: Topic) -> bytes:
    """Returns the digest of the topic that facts are about."""
    named = ["" if part is None else f"={part}" for part in (value.home, value.project)]
    return digest(*named, value.subject)


class MemoryReader(EmbeddingReader):
    """Implements ``memories.ports.MemoryReads``."""

    TABLES = (MEMORY, VERSION, CHUNK, PASSAGE)

    def get(self, memory: MemoryId) -> Stored | None:
        return self._stored("memory_by_id", id=memory)

    def keys_of(self, memories: Collection[MemoryId]) -> Mapping[MemoryId, DocumentKey]:
        return dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(memories)}))

    def _stored(self, statement: str, /, **params: Param) -> Stored | None:
        row = self.row(statement, **params)
        return None if row is None else read_stored([row])[0]

    def _several(self, statement: str, /, **params: Param) -> list[Stored]:
        return read_stored(self.rows(self.SQL[statement], params))

    def memories_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        return {one.key: one.memory for one in read_stored(self._among("memory_filtered", keys, where))}

    def rank_features_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        return read_rank_features(self._among("rank_features", keys, where))

    def _among(self, statement: str, keys: Collection[DocumentKey], where: Filter) -> list[Row]:
        """Runs a statement over the memories among ``keys`` that pass the filter."""
        if not keys:
            return []
        sql, params = condition(where)
        return self.rows(self.SQL[statement].replace("{where}", sql), {**params, "keys": self.array(keys)})

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        return [
            row[0]
            for sql, params in parts(where, among=self.among)
            for row in self.rows(self.SQL["memory_keys"].replace("{where}", sql), params)
        ]

    def keys_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        return [row[0] for row in self.rows(self.SQL["memory_keys_below"], {"below": key, "limit": limit})]

    def memories_at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_at_shared_path", path=path)
        return self._several("memory_at_private_path", home=home, path=path)

    def memories_with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_with_shared_external", external_id=external_id)
        return self._several("memory_with_private_external", home=home, external_id=external_id)

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        return self._stored(
            "memory_with_statement",  # An index finds the digest; the other columns are compared.
            statement=statement_digest(statement),
            scope=SCOPE[statement.scope],
            project=statement.project,
            session=statement.session,
        )

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        if at is None:
            return self._stored("fact_last", topic=topic_digest(topic))
        return self._stored("fact_until", topic=topic_digest(topic), at=to_micros(at))

    def adjacent_facts(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        this = self._stored("memory_by_key", key=document)
        if this is None or this.memory.topic is None:
            return None, None
        return self._around(document, topic_digest(this.memory.topic), this.memory.holds_since)

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        return self._around(_LAST_KEY, topic_digest(topic), at)

    def _around(self, document: DocumentKey, topic: bytes, since: datetime) -> tuple[Stored | None, Stored | None]:
        place: dict[str, Param] = {"topic": topic, "at": to_micros(since), "key": document}
        return self._stored("fact_before", **place), self._stored("fact_after", **place)

    def successors_of(self, memory: str) -> Sequence[Stored]:
        return self._several("memory_successors", memory=memory)

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        behind, position = after_position("m.created_at, m.id", after)
        common = where.tag is not None and self.row("tag_seen", tag=where.tag, limit=_COMMON_TAG)[0] == _COMMON_TAG
        found: list[list[Memory]] = []
        for sql, params in parts(where, common_tag=common, among=self.among):
            statement = self.SQL["memory_page"].replace("{where}", sql + behind)
            page = self.rows(statement, {**params, **position, "limit": limit})
            found.append([one.memory for one in read_stored(page)])
        merged = heapq.merge(*found, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        return [memory for memory, _ in zip(merged, range(limit), strict=False)]

    def categories(self) -> Collection[Clean]:
        return self.column("categories")

    def ids_from(self, prefix: str, where: Filter, limit: int) -> Sequence[MemoryId]:
        sql, params = condition(where)
        begins, ends = begins_with("m.id", prefix)
        statement = self.SQL["memory_ids"].replace("{where}", f"{begins}{sql}")
        return [MemoryId(row[0]) for row in self.rows(statement, {**params, **ends, "limit": limit})]

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        return self.chunks_of([document])().get(document, ())

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        fetch_rows = self.deferred(self.SQL["chunks"], {"documents": self.array(documents)})

        def fetch_chunks() -> Mapping[DocumentKey, Sequence[StoredChunk]]:
            found: dict[DocumentKey, list[StoredChunk]] = {}
            for chunk in read_chunks(fetch_rows()):
                found.setdefault(chunk.document, []).append(chunk)
            return found

        return fetch_chunks

    def earlier_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._in_session("memory_before", document, limit)

    def later_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._in_session("memory_after", document, limit)

    def _in_session(self, statement: str, document: DocumentKey, limit: int) -> Sequence[Stored]:
        this = self._stored("memory_by_key", key=document)
        if this is None or this.memory.session is None:
            return []
        session, owner, scope = this.memory.session, this.memory.owner, SCOPE[this.memory.scope]
        return self._several(statement, session=session, owner=owner, scope=scope, key=document, limit=limit)

    def history(self, document: DocumentKey) -> Sequence[Version]:
        return self.read_all(VERSION, "versions", document=document)

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        found: dict[DocumentKey, list[Version]] = {}
        for row in self.rows(self.SQL["versions_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(VERSION.read(row[1:]))
        return found

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        by_source = dict.fromkeys(Source, 0)
        by_scope = dict.fromkeys(Scope, 0)
        expired = 0
        for part, params in parts(where, among=self.among):
            counts = self.rows(self.SQL["memory_counts"].replace("{where}", part), {**params, "now": to_micros(now)})
            for source, scope, count, gone in counts:
                by_source[SOURCE_OF[source]] += count
                by_scope[SCOPE_OF[scope]] += count
                expired += gone
        pending = failed = 0
        if model is not None:
            sql, params = condition(where)
            counted = self.run_queued(self.SQL["pending_visible"].replace("{where}", sql), {**params, "model": model})
            pending, failed = (sum(one) for one in zip(*counted, strict=True))
        return Stats(
            total=sum(by_source.values()),
            by_source=by_source,
            by_scope=by_scope,
            pending_embeddings=pending,
            failed=failed,
            expired=expired,
        )


class MemoryWriter(MemoryReader, ObservationWriter):
    """Implements ``memories.ports.MemoryWrites`` except for what concerns several capabilities."""

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        key = self.run("memory_insert", memory_params(memory, Action.CREATED))
        if key is None:
            raise Conflict("Another one has this id, path or external id already.")
        document = DocumentKey(key)
        self.put_tags(document, memory)
        self.put_operational({document: memory.operational})
        for chunk in chunks:
            self._add_chunk(document, chunk)
        self.log_change(ChangeKind.CREATED, document)
        self.record_new(document)
        return Stored(document, memory)

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        before = self._stored("memory_by_key", key=key)
        if before is None:
            raise NotFound("This memory no longer exists.")
        if memory.version != before.memory.version + 1:
            raise Stale("This memory has been changed in the meantime. Read it again.", current=before.memory.version)
        self.record_state(key)
        with self.savepoint():
            self.run("version_keep", {"key": key})
            self.run("memory_update", {**memory_params(memory, action), "key": key})
        if memory.tags != before.memory.tags:
            self.run("tags_delete", {"document": key})
            self.put_tags(key, memory)
        if memory.operational != before.memory.operational:
            self.run("operational_delete", {"document": key})
            self.put_operational({key: memory.operational})
        if chunks is None:
            self.log_change(ChangeKind.ATTRIBUTES, key)
            return
        self._replace_chunks(key, before.memory.content, memory.content, chunks)
        self.log_change(ChangeKind.CONTENT, key)

    def drop_version(self, key: DocumentKey, number: int) -> None:
        self.run("version_delete", {"document": key, "number": number})

    def put_tags(self, document: DocumentKey, memory: Memory) -> None:
        self.run_each("tag_insert", [{"tag": tag, "document": document} for tag in memory.tags])

    def _replace_chunks(self, document: DocumentKey, old: str, new: str, chunks: Sequence[Chunk]) -> None:
        """Keeps every chunk with unchanged text, headings and passages; deletes and adds the others."""
        kept: dict[object, list[StoredChunk]] = {}
        for stored in self.chunks(document):
            kept.setdefault(stored.chunk.identity(old), []).append(stored)
        for chunk in chunks:
            same = kept.get(chunk.identity(new))
            if same:
                self._move_chunk(same.pop(0), chunk)
            else:
                self._add_chunk(document, chunk)
        for unused in kept.values():
            for stored in unused:
                self.drop_passages(document, stored.key)
                self.run("chunk_delete", {"key": stored.key})

    def _add_chunk(self, document: DocumentKey, chunk: Chunk) -> None:
        key = self.run("chunk_insert", chunk_params(document, chunk))
        self.run_each("passage_insert", passage_params(document, ChunkKey(key), chunk))

    def _move_chunk(self, stored: StoredChunk, chunk: Chunk) -> None:
        if stored.chunk == chunk:
            return
        self.run("chunk_move", {"key": stored.key, **CHUNK.params(chunk)})
        for key, passage in zip(stored.passages, chunk.passages, strict=True):
            self.run("passage_move", {"key": key, **PASSAGE.params(passage)})

    def drop_passages(self, document: DocumentKey, chunk: ChunkKey) -> None:
        for name in ("chunk_vectors_delete", "chunk_tokens_delete", "chunk_failures_delete", "chunk_passages_delete"):
            self.run(name, {"document": document, "chunk": chunk})

    def set_expiry(self, key: DocumentKey, expires_at: datetime | None) -> None:
        self.record_state(key)
        if self.count("memory_set_expiry", {"key": key, "expires_at": to_micros_or_none(expires_at)}):
            self.log_change(ChangeKind.ATTRIBUTES, key)

    def set_validity(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        self.record_state(key)
        place = {
            "key": key,
            "valid_until": to_micros_or_none(valid_until),
            "supersedes": supersedes,
        }
        if self.count("memory_set_validity", place):
            self.log_change(ChangeKind.ATTRIBUTES, key)

    def count_reads(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        counted = [{"key": key, "count": count, "at": to_micros(at)} for key, (count, at) in reads.items()]
        self.run_each("memory_count_reads", counted)
