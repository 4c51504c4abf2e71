"""Showing what was found: each hit with its best passage, and as it was at an instant."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from hivelore.domain.index import Candidate, ChunkKey, DocumentKey, Near, PassageKey, StoredChunk
from hivelore.domain.memory import Chunk, Memory, Passage
from hivelore.domain.search import Excerpt, Hit
from hivelore.policies.chunking import chunk
from hivelore.policies.excerpts import excerpt
from hivelore.policies.validity import as_it_was
from hivelore.ports import View
from hivelore.services.choosing import Chosen, Memories


class Found(Protocol):
    """What the indexes say of the hits."""

    @property
    def keywords(self) -> Mapping[DocumentKey, Candidate]: ...

    @property
    def nearest(self) -> Mapping[DocumentKey, Near]: ...


def shown(
    view: View,
    best: Sequence[Chosen],
    reading: Memories,
    found: Found,
    terms: Collection[str],
) -> list[Hit]:
    keys = [one.key for one in best]
    asked, memories = view.chunks_of(keys), reading(keys)
    chunks = asked()
    return [
        Hit(
            memory=memories[one.key],
            passage=_best_passage(one.key, memories[one.key], chunks.get(one.key, ()), found, terms),
            score=one.score,
            fit=one.fit,
            fits=one.fits,
            alike=one.alike,
        )
        for one in best
    ]


def then(view: View, memories: Sequence[Memory], at: datetime) -> list[Memory]:
    """Memories as they were at an instant (``policies.validity``)."""
    later = [one for one in memories if one.version > 1 and one.updated_at > at]
    keys = {one.id: stored.key for one in later if (stored := view.get(one.id)) is not None}
    histories = view.histories(list(keys.values()))
    return [as_it_was(one, histories[keys[one.id]], at) if one.id in keys else one for one in memories]


def shown_then(view: View, hits: Sequence[Hit], at: datetime, terms: Collection[str]) -> list[Hit]:
    """Hits as they were at an instant: what is shown is found anew where the words were others."""
    was = then(view, [hit.memory for hit in hits], at)
    return [
        replace(
            hit,
            memory=memory,
            passage=hit.passage if memory.content == hit.memory.content else _passage_then(memory, terms),
        )
        for hit, memory in zip(hits, was, strict=True)
    ]


def _passage_then(memory: Memory, terms: Collection[str]) -> Excerpt:
    """An excerpt of the chunk that holds most of the terms."""
    chunks = chunk(memory.content)
    texts = [memory.content[one.start : one.stop].casefold() for one in chunks]
    best = max(range(len(chunks)), key=lambda at: (sum(term in texts[at] for term in terms), -at))
    span = excerpt(memory.content, chunks[best], Passage(start=chunks[best].start, stop=chunks[best].stop), terms)
    return excerpt_of(memory, chunks[best], span.start, span.stop, len(chunks))


def _best_passage(
    key: DocumentKey, memory: Memory, chunks: Sequence[StoredChunk], found: Found, terms: Collection[str]
) -> Excerpt:
    """An excerpt of the nearest passage by meaning, else of the best chunk: the one that holds most of the terms."""
    near, keyword = found.nearest.get(key), found.keywords.get(key)
    if near is not None:
        span = _passage(chunks, near.passage)
        if span is not None:
            best = excerpt(memory.content, *span, terms)
            return excerpt_of(memory, span[0], best.start, best.stop, len(chunks))
    if keyword is not None:
        chunk = _chunk(chunks, keyword.chunk)
        if chunk is not None:
            best = excerpt(memory.content, chunk, Passage(start=chunk.start, stop=chunk.stop), terms)
            return excerpt_of(memory, chunk, best.start, best.stop, len(chunks))
    return replace(opening(memory), total_chunks=max(len(chunks), 1))


def _passage(chunks: Sequence[StoredChunk], key: PassageKey) -> tuple[Chunk, Passage] | None:
    for stored in chunks:
        for passage_key, passage in zip(stored.passages, stored.chunk.passages, strict=True):
            if passage_key == key:
                return stored.chunk, passage
    return None


def _chunk(chunks: Sequence[StoredChunk], key: ChunkKey) -> Chunk | None:
    return next((stored.chunk for stored in chunks if stored.key == key and stored.chunk.passages), None)


def opening(memory: Memory) -> Excerpt:
    return Excerpt(content=memory.summary, chunk_index=0, total_chunks=1, headings=())


def excerpt_of(memory: Memory, chunk: Chunk, start: int, stop: int, total: int) -> Excerpt:
    return Excerpt(
        content=memory.content[start:stop].strip(), chunk_index=chunk.index, total_chunks=total, headings=chunk.headings
    )
