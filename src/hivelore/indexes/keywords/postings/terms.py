"""The terms of a chunk as they are kept: each once, with how often it occurs."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain

from hivelore.indexing.model import ChunkKey, DocumentKey, KeywordEntry

MOST = 255
"""Counts end here, at 127.5 occurrences: of what is that frequent in one chunk more makes no difference."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What is kept of an entry."""

    chunk: ChunkKey
    document: DocumentKey
    length: int
    """In terms, whatever their column."""
    terms: str
    """The different ones, joined by spaces, which no term has inside."""
    counts: bytes
    """One byte for each, in halves."""


def counted(entry: KeywordEntry) -> Counted:
    """In halves an occurrence counts 2, and 1 in the context: the weights 1.0 and 0.5 of the reference engine."""
    halves = Counter(chain(entry.own, entry.own, entry.context, entry.header, entry.header))
    return Counted(
        chunk=entry.chunk,
        document=entry.document,
        length=len(entry.own) + len(entry.context) + len(entry.header),
        terms=" ".join(halves),
        counts=_capped(halves.values()),
    )


def _capped(counts: Collection[int]) -> bytes:
    return bytes(counts) if max(counts, default=0) <= MOST else bytes(min(count, MOST) for count in counts)


def each(terms: str) -> list[str]:
    """The terms of a row, in the order of its counts."""
    return terms.split(" ") if terms else []
