"""Ports of memories: what a store reads and writes of them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from hivelore.changes.model import PreviousState
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.indexing.model import Deferred, ModelKey
from hivelore.memories.model import Action, Chunk, Memory, MemoryId, RankFeatures, Statement, Topic, Version
from hivelore.memories.stored import DocumentKey, Stored, StoredChunk
from hivelore.memories.whole import WholeMemory
from hivelore.search.model import Filter, Stats


class MemoryReads(Protocol):
    """Memories, their chunks, versions and the facts they state."""

    def get(self, memory: MemoryId) -> Stored | None: ...

    def keys_of(self, memories: Collection[MemoryId]) -> Mapping[MemoryId, DocumentKey]:
        """Returns the keys of the memories that exist."""
        ...

    def memories_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        """Returns the memories among ``keys`` that exist and pass the filter."""
        ...

    def rank_features_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        """Like ``memories_of``, but returns only what ranking needs of each memory."""
        ...

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        """Returns the keys of all memories that pass the filter, in no order; for filters an index cannot apply."""
        ...

    def keys_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        """Returns the ``limit`` greatest keys below ``key``, greatest first."""
        ...

    def memories_at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        """Returns the memories with a source path in one home (``Memory.home``), by key. There is at most one for each
        project and one without a project."""
        ...

    def memories_with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        """Like ``memories_at_path``, for an external id."""
        ...

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        """Returns the newest memory (by ``created_at``, then id) with exactly this statement."""
        ...

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        """Returns the fact about a topic that became valid last, at ``at`` or before. Facts that became valid at the
        same instant are ordered by key. ``at`` None: considers all facts about the topic."""
        ...

    def adjacent_facts(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        """Returns the facts about the same topic that became valid just before and just after this one, ordered by
        instant, then key."""
        ...

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        """Returns the last fact about a topic that became valid at ``at`` or before, and the first one after it."""
        ...

    def successors_of(self, memory: str) -> Sequence[Stored]:
        """Returns the memories that name this one as superseded, by key."""
        ...

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        """Returns a page of memories, newest first, then by id."""
        ...

    def categories(self) -> Collection[Clean]:
        """Returns each spelling of a category that a memory has; also those of memories that the viewer may not see, so
        compare with them only."""
        ...

    def ids_from(self, prefix: str, where: Filter, limit: int) -> Sequence[MemoryId]:
        """Returns the ids that begin with a prefix, in order. The prefix is not empty."""
        ...

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        """Returns the chunks of a document, in order."""
        ...

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        """Returns chunks by document; documents without chunks are omitted."""
        ...

    def earlier_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """Returns the documents written before this one with the same session, owner and scope, nearest first. Empty
        if it has no session."""
        ...

    def later_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """Like ``earlier_in_session``, for the documents written after this one."""
        ...

    def history(self, document: DocumentKey) -> Sequence[Version]:
        """Returns every version, oldest first; the last one is the current version."""
        ...

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        """Returns versions by document; unknown documents are omitted."""
        ...

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        """Counts the memories that pass the filter. Leave ``live_at`` unset: expired memories are part of the total and
        counted separately. Every source and scope has a count, 0 included. ``model`` None: counts no pending and no
        failed embeddings."""
        ...


class MemoryWrites(Protocol):
    """Memories and their chunks."""

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        """Raises Conflict if the id, or the path or external id in its home, is taken."""
        ...

    def import_memories(self, memories: Sequence[WholeMemory]) -> None:
        """Adds memories with the keys they have in another store; keys assigned later are greater. Vectors are added
        afterwards. Raises Conflict as ``add`` and if a key is taken; then none is added."""
        ...

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        """Replaces a memory by its next version; the previous state stays in the history.

        ``chunks`` None: the content is unchanged. Otherwise a chunk with the same text, headings and passages as before
        keeps its key and vectors. The store keeps its own access counts. Raises Conflict as ``add``, NotFound for an
        unknown key, Stale unless ``memory.version`` is the next version."""
        ...

    def drop_version(self, key: DocumentKey, number: int) -> None:
        """Deletes a previous state of a memory. The others keep their numbers. Ignores an unknown key or number, and
        that of the current version."""
        ...

    def set_expiry(self, key: DocumentKey, expires_at: datetime | None) -> None:
        """Sets when a memory expires, without a new version. Ignores an unknown key."""
        ...

    def set_validity(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        """Sets when another memory superseded this one, and which memory this one supersedes, without a new version.
        Ignores an unknown key."""
        ...

    def forget(self, key: DocumentKey) -> None:
        """Deletes a memory with its history, observations, evidence, links, chunks, passages and vectors, and the
        events and proposals about it. Forgetting twice is allowed."""
        ...

    def count_reads(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        """Adds to the access counts. The last access is the latest instant ever given. Ignores unknown keys."""
        ...

    def claim(self, what: bytes) -> None:
        """Prevents concurrent transactions from deciding about the same thing, where a decision depends on the absence
        of a row."""
        ...

    def journal(self) -> AbstractContextManager[Mapping[DocumentKey, PreviousState | None]]:
        """Records the state of every memory before its first change inside the context, with its history; None: it did
        not exist. Access counts are not a change; the loss of a link to a deleted memory is one. Contexts do not
        nest."""
        ...

    @property
    def is_journaling(self) -> bool: ...
