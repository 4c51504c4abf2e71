"""Writes memories to the store and the keyword index together, and keeps their valid times consistent.

A chunk is indexed with terms of its neighbours as context: two chunks before and one after it, in its document and
across documents of its session. Only neighbours of the same owner and scope count, because private words must not make
a shared note findable. Therefore a change to a memory also re-indexes its neighbours.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import KeywordEntry
from hivelore.memories.model import Action, Chunk, Memory
from hivelore.memories.stored import ChunkKey, Stored, StoredChunk
from hivelore.memories.temporal import (
    has_same_placement,
    link,
    may_have_links,
    recompute_ends,
    retained_supersedes,
    unlink,
)
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import ObservationKind
from hivelore.search.tokenizer import document_terms
from hivelore.storage.ports import Transaction, View

CHUNKS_BEFORE = 2
CHUNKS_AFTER = 1
_CACHED_TEXTS = 4_096


class IndexWriter:
    def __init__(self, keywords: KeywordIndex) -> None:
        self._keywords = keywords

    def precompute_terms(
        self, contents: Iterable[tuple[Clean, Sequence[Chunk]]], memories: Iterable[Memory] = ()
    ) -> None:
        """Computes and caches terms before a transaction, which would otherwise delay other writers."""
        texts = (_text(content, chunk) for content, chunks in contents for chunk in chunks)
        for text in islice(texts, _CACHED_TEXTS // 2):
            _terms(text)
        for memory in islice(memories, _CACHED_TEXTS // 4):
            header_terms(memory)

    def add(self, tx: Transaction, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        stored = tx.add(memory, chunks)
        if may_have_links(memory):
            stored = link(tx, stored)
        self.index_all(tx, [stored])
        self.index_all(tx, self._context_dependents(tx, stored))
        return stored

    def change(
        self, tx: Transaction, before: Stored, memory: Memory, chunks: Sequence[Chunk] | None, action: Action
    ) -> Stored:
        """Stores the next version of a memory and indexes all affected chunks."""
        around = self._context_dependents(tx, before)
        removed = {chunk.key for chunk in tx.chunks(before.key)}
        after = self._change_stored(tx, before, memory, chunks, action)
        removed -= {chunk.key for chunk in tx.chunks(before.key)}
        self._keywords.remove(tx, sorted(removed))
        self.index_all(tx, [after])
        moved = _neighbourhood(before.memory) != _neighbourhood(memory)
        neighbours = {entry.key: entry for entry in (*around, *(self._context_dependents(tx, after) if moved else ()))}
        if moved or chunks is not None:
            self.index_all(tx, list(neighbours.values()))
        return after

    def _change_stored(
        self, tx: Transaction, before: Stored, memory: Memory, chunks: Sequence[Chunk] | None, action: Action
    ) -> Stored:
        if has_same_placement(before.memory, memory):
            tx.change(before.key, memory, chunks, action)
            return Stored(before.key, memory)
        memory = replace(memory, supersedes=retained_supersedes(tx, before.memory, memory), valid_until=None)
        concerned = unlink(tx, before, memory)
        tx.change(before.key, memory, chunks, action)
        recompute_ends(tx, concerned)
        return link(tx, Stored(before.key, memory))

    def forget(self, tx: Transaction, stored: Stored) -> None:
        """Deletes a memory, and its journal entries unless the deletion itself is journaled."""
        words = _reported_words(tx, stored)
        if not tx.is_journaling:
            for key in (stored.key, *(tx.erase_quotes(words) if words else ())):
                tx.drop_preimages(key)
        if words:
            tx.drop_verdicts(words)
        concerned = unlink(tx, stored, None)
        self._remove(tx, stored, self._keywords.forget)
        recompute_ends(tx, concerned)

    def drop(self, tx: Transaction, stored: Stored) -> None:
        """Deletes a memory from a copy of another store, or one merged into another memory, without updating links."""
        self._remove(tx, stored, self._keywords.forget)

    def withdraw(self, tx: Transaction, stored: Stored) -> None:
        """Deletes a memory that ``import_memories`` is about to restore; its words need not be purged."""
        self._remove(tx, stored, self._keywords.remove)

    def import_memories(self, tx: Transaction, memories: Sequence[WholeMemory]) -> None:
        """Stores complete memories under their existing keys."""
        tx.import_memories(memories)
        moved = [Stored(one.key, one.memory) for one in memories]
        concerned = [*moved, *(other for stored in moved for other in self._context_dependents(tx, stored))]
        self.index_all(tx, list({stored.key: stored for stored in concerned}.values()))

    def _remove(
        self, tx: Transaction, stored: Stored, unindex: Callable[[Transaction, Sequence[ChunkKey]], None]
    ) -> None:
        around = self._context_dependents(tx, stored)
        unindex(tx, [chunk.key for chunk in tx.chunks(stored.key)])
        tx.forget(stored.key)
        self.index_all(tx, around)

    def index_all(self, tx: Transaction, documents: Collection[Stored]) -> None:
        """Replaces the index entries of memories."""
        self._keywords.put(tx, self._entries(tx, documents))

    def precompute_entries(self, view: View, documents: Collection[Stored]) -> None:
        """Computes and caches terms of memories before they are indexed."""
        self._entries(view, documents)

    def _context_dependents(self, tx: Transaction, stored: Stored) -> Sequence[Stored]:
        """Returns the documents whose context includes this one."""
        if stored.memory.session is None:
            return ()
        return (*tx.earlier_in_session(stored.key, CHUNKS_AFTER), *tx.later_in_session(stored.key, CHUNKS_BEFORE))

    def _entries(self, view: View, documents: Collection[Stored]) -> list[KeywordEntry]:
        chunks = view.chunks_of([stored.key for stored in documents])()
        return [entry for stored in documents for entry in self._entries_of(view, stored, chunks.get(stored.key, ()))]

    def _entries_of(self, view: View, stored: Stored, chunks: Sequence[StoredChunk]) -> list[KeywordEntry]:
        before, after = self._texts_around(view, stored) if chunks and stored.memory.session is not None else ([], [])
        texts = [*before, *(_text(stored.memory.content, one.chunk) for one in chunks), *after]
        header = header_terms(stored.memory)
        entries: list[KeywordEntry] = []
        for place, chunk in enumerate(chunks, len(before)):
            near = texts[max(place - CHUNKS_BEFORE, 0) : place] + texts[place + 1 : place + 1 + CHUNKS_AFTER]
            context = tuple(term for other in near for term in _terms(other))
            headings = tuple(term for heading in chunk.chunk.headings for term in _terms(heading))
            entries.append(KeywordEntry(chunk.key, stored.key, _terms(texts[place]), context, header + headings))
        return entries

    def _texts_around(self, view: View, stored: Stored) -> tuple[list[str], list[str]]:
        """Returns the texts of adjacent chunks before and after a document in its session, in order."""
        before: list[str] = []
        for document in view.earlier_in_session(stored.key, CHUNKS_BEFORE):
            last = view.chunks(document.key)[-CHUNKS_BEFORE:]
            before = [_text(document.memory.content, one.chunk) for one in last] + before
        after = [
            _text(document.memory.content, one.chunk)
            for document in view.later_in_session(stored.key, CHUNKS_AFTER)
            for one in view.chunks(document.key)[:CHUNKS_AFTER]
        ]
        return before[-CHUNKS_BEFORE:], after[:CHUNKS_AFTER]


def _reported_words(tx: Transaction, stored: Stored) -> Collection[Clean]:
    """Returns the texts of an operational memory and its observations, which contradictions of others may quote; none
    for other memories."""
    if stored.memory.operational is None:
        return ()
    seen = (
        one.text
        for one in tx.observations(stored.key)
        if one.kind in (ObservationKind.CREATED, ObservationKind.REINFORCED)
    )
    return {stored.memory.content, *(version.content for version in tx.history(stored.key)), *filter(None, seen)}


def _neighbourhood(memory: Memory) -> tuple[object, ...]:
    """Returns the attributes that determine the neighbours of a memory."""
    return memory.home, memory.scope, memory.session


def _text(content: Clean, chunk: Chunk) -> str:
    return content[chunk.start : chunk.stop]


@lru_cache(maxsize=_CACHED_TEXTS)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(document_terms(text))


@lru_cache(maxsize=_CACHED_TEXTS)
def _day_terms(day: date) -> tuple[str, ...]:
    return _terms(day.strftime("%A %d %B %Y"))


def header_terms(memory: Memory) -> tuple[str, ...]:
    """Returns further terms of a chunk: the date in words, author, project, path, subject, tags and a distinct name."""
    parts = [
        *memory.tags,
        *(part for part in (memory.author, memory.project, memory.source_path, memory.subject) if part),
    ]
    if memory.name not in memory.content:
        parts.append(memory.name)
    if memory.category != "note":
        parts.append(memory.category)
    return (*_day_terms(memory.created_at.date()), *(term for part in parts for term in _terms(part)))
