"""The terms of a chunk as they are kept: each once, with how often it occurs."""

from dataclasses import dataclass

from hivelore.domain.index import ChunkKey, DocumentKey, KeywordEntry

OWN, CONTEXT, HEADER = 2, 1, 2
"""What an occurrence in a column counts, in halves: the weights 1.0, 0.5 and 1.0 of the reference engine."""
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
    halves: dict[str, int] = {}
    for weight, column in ((OWN, entry.own), (CONTEXT, entry.context), (HEADER, entry.header)):
        for term in column:
            halves[term] = halves.get(term, 0) + weight
    return Counted(
        chunk=entry.chunk,
        document=entry.document,
        length=len(entry.own) + len(entry.context) + len(entry.header),
        terms=" ".join(halves),
        counts=bytes(min(count, MOST) for count in halves.values()),
    )


def each(terms: str) -> list[str]:
    """The terms of a row, in the order of its counts."""
    return terms.split(" ") if terms else []
