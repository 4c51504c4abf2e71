"""Showing what was found: each hit with its best passage, and as it was at an instant."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from hivelore.indexing.model import Candidate, ChunkKey, DocumentKey, Neighbour, PassageKey, StoredChunk
from hivelore.memories.chunking import chunk
from hivelore.memories.model import Chunk, Memory, Passage
from hivelore.memories.validity import state_at
from hivelore.search.excerpts import excerpt, told, whole_words
from hivelore.search.model import Hit, Snippet
from hivelore.search.selection import Memories, Selection
from hivelore.storage.ports import View


class Found(Protocol):
    """What the indexes say of the hits."""

    @property
    def keywords(self) -> Mapping[DocumentKey, Candidate]: ...

    @property
    def nearest(self) -> Mapping[DocumentKey, Neighbour]: ...


def shown(
    view: View,
    best: Sequence[Selection],
    reading: Memories,
    found: Found,
    weights: Mapping[str, float],
) -> list[Hit]:
    keys = [one.key for one in best]
    asked, memories = view.chunks_of(keys), reading(keys)
    chunks = asked()
    return [
        Hit(
            memory=memories[one.key],
            passage=_best_passage(one.key, memories[one.key], chunks.get(one.key, ()), found, weights),
            score=one.score,
            fit=one.fit,
            fits=one.fits,
            alike=one.alike,
        )
        for one in best
    ]


def then(view: View, memories: Sequence[Memory], at: datetime) -> list[Memory]:
    """Memories as they were at an instant (``memories.validity``)."""
    later = [one for one in memories if one.version > 1 and one.updated_at > at]
    keys = {one.id: stored.key for one in later if (stored := view.get(one.id)) is not None}
    histories = view.histories(list(keys.values()))
    return [state_at(one, histories[keys[one.id]], at) if one.id in keys else one for one in memories]


def shown_then(view: View, hits: Sequence[Hit], at: datetime, weights: Mapping[str, float]) -> list[Hit]:
    """Hits as they were at an instant: what is shown is found anew where the words were others."""
    was = then(view, [hit.memory for hit in hits], at)
    return [
        replace(
            hit,
            memory=memory,
            passage=hit.passage if memory.content == hit.memory.content else _passage_then(memory, weights),
        )
        for hit, memory in zip(hits, was, strict=True)
    ]


def _passage_then(memory: Memory, weights: Mapping[str, float]) -> Snippet:
    """An excerpt of the chunk that holds most of the terms."""
    chunks = chunk(memory.content)
    best = max(chunks, key=lambda one: told(memory.content[one.start : one.stop], weights))
    span = excerpt(memory.content, best, Passage(start=best.start, stop=best.stop), weights)
    return excerpt_of(memory, best, span.start, span.stop, len(chunks))


def _best_passage(
    key: DocumentKey, memory: Memory, chunks: Sequence[StoredChunk], found: Found, weights: Mapping[str, float]
) -> Snippet:
    """An excerpt of the nearest passage by meaning or of the best chunk by words: of the one that says more of the
    question, and of the former where that is a tie."""
    near, keyword = found.nearest.get(key), found.keywords.get(key)
    spans = [None if near is None else _passage(chunks, near.passage)]
    spans.append(None if keyword is None else _chunk(chunks, keyword.chunk))
    parts = {span: excerpt(memory.content, *span, weights) for span in dict.fromkeys(spans) if span is not None}
    if not parts:
        return replace(opening(memory), total_chunks=max(len(chunks), 1))
    (chunk, _), best = max(parts.items(), key=lambda one: told(memory.content[one[1].start : one[1].stop], weights))
    return excerpt_of(memory, chunk, best.start, best.stop, len(chunks))


def _passage(chunks: Sequence[StoredChunk], key: PassageKey) -> tuple[Chunk, Passage] | None:
    for stored in chunks:
        for passage_key, passage in zip(stored.passages, stored.chunk.passages, strict=True):
            if passage_key == key:
                return stored.chunk, passage
    return None


def _chunk(chunks: Sequence[StoredChunk], key: ChunkKey) -> tuple[Chunk, Passage] | None:
    """All of it."""
    found = next((stored.chunk for stored in chunks if stored.key == key and stored.chunk.passages), None)
    return None if found is None else (found, Passage(start=found.start, stop=found.stop))


def opening(memory: Memory) -> Snippet:
    return Snippet(content=memory.summary, chunk_index=0, total_chunks=1, headings=())


def excerpt_of(memory: Memory, chunk: Chunk, start: int, stop: int, total: int) -> Snippet:
    span = whole_words(memory.content, start, stop)
    return Snippet(
        content=memory.content[span.start : span.stop].strip(),
        chunk_index=chunk.index,
        total_chunks=total,
        headings=chunk.headings,
    )
