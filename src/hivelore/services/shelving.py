"""Putting memories on the shelf and taking them off, so that store and keyword index never disagree.

A chunk is indexed with the terms of its neighbours as context: the two chunks before it in its
document, and across documents in its session, but only those of the same owner and scope: private
words must not make a shared note findable. So when a memory changes, moves or goes, the ones behind
it are indexed again.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice

from hivelore.domain.index import DocumentKey, KeywordEntry, Stored
from hivelore.domain.memory import Action, Chunk, Memory
from hivelore.domain.text import Clean
from hivelore.policies.terms import document_terms
from hivelore.ports import KeywordIndex, Transaction

CONTEXT_CHUNKS = 2
_REMEMBERED_TEXTS = 4_096


class Shelf:
    def __init__(self, keywords: KeywordIndex) -> None:
        self._keywords = keywords

    def expect(self, contents: Iterable[tuple[Clean, Sequence[Chunk]]]) -> None:
        """Find the terms of what is about to be put here, as far as they can be remembered, so that the unit of work
        need not: all others wait for that."""
        texts = (_text(content, chunk) for content, chunks in contents for chunk in chunks)
        for text in islice(texts, _REMEMBERED_TEXTS // 2):
            _terms(text)

    def add(self, tx: Transaction, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        stored = tx.add(memory, chunks)
        self._index(tx, stored)
        return stored

    def change(
        self, tx: Transaction, before: Stored, memory: Memory, chunks: Sequence[Chunk] | None, action: Action
    ) -> Stored:
        """Bring in the next version of a memory and index whatever that concerns."""
        behind = self._behind(tx, before.key)
        gone = {chunk.key for chunk in tx.chunks(before.key)}
        tx.change(before.key, memory, chunks, action)
        after = Stored(before.key, memory)
        gone -= {chunk.key for chunk in tx.chunks(before.key)}
        self._keywords.remove(tx, sorted(gone))
        self._index(tx, after)
        moved = before.memory.home != memory.home or before.memory.scope != memory.scope
        neighbours = {entry.key: entry for entry in (*behind, *(self._behind(tx, after.key) if moved else ()))}
        self._reindex(tx, neighbours.values() if moved or chunks is not None else ())
        return after

    def forget(self, tx: Transaction, stored: Stored) -> None:
        behind = self._behind(tx, stored.key)
        self._keywords.forget(tx, [chunk.key for chunk in tx.chunks(stored.key)])
        tx.forget(stored.key)
        self._reindex(tx, behind)

    def _behind(self, tx: Transaction, key: DocumentKey) -> Sequence[Stored]:
        return tx.after(key, CONTEXT_CHUNKS)

    def _reindex(self, tx: Transaction, documents: Iterable[Stored]) -> None:
        for stored in documents:
            self._index(tx, stored)

    def _index(self, tx: Transaction, stored: Stored) -> None:
        chunks = tx.chunks(stored.key)
        header = header_terms(stored.memory)
        before = self._texts_before(tx, stored) if stored.memory.session is not None and chunks else []
        entries: list[KeywordEntry] = []
        for chunk in chunks:
            text = _text(stored.memory.content, chunk.chunk)
            context = tuple(term for other in before[-CONTEXT_CHUNKS:] for term in _terms(other))
            headings = tuple(term for heading in chunk.chunk.headings for term in _terms(heading))
            entries.append(KeywordEntry(chunk.key, stored.key, _terms(text), context, header + headings))
            before.append(text)
        self._keywords.put(tx, entries)

    def _texts_before(self, tx: Transaction, stored: Stored) -> list[str]:
        """The texts of the chunks just before a document in its session, oldest first."""
        texts: list[str] = []
        for document in tx.before(stored.key, CONTEXT_CHUNKS):
            last = tx.chunks(document.key)[-CONTEXT_CHUNKS:]
            texts = [_text(document.memory.content, one.chunk) for one in last] + texts
        return texts[-CONTEXT_CHUNKS:]


def _text(content: Clean, chunk: Chunk) -> str:
    return content[chunk.start : chunk.stop]


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(document_terms(text))


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _day_terms(day: date) -> tuple[str, ...]:
    return _terms(day.strftime("%A %d %B %Y"))


def header_terms(memory: Memory) -> tuple[str, ...]:
    """What else a chunk can be found by: the day in words, who, where, tags, and a name of its own."""
    parts = [*memory.tags, *(part for part in (memory.author, memory.project, memory.source_path) if part)]
    if memory.name not in memory.content:
        parts.append(memory.name)
    if memory.category != "note":
        parts.append(memory.category)
    return (*_day_terms(memory.created_at.date()), *(term for part in parts for term in _terms(part)))
