"""Segments in memory, and the terms of a chunk as they are stored.

The rows of a segment never change. Later drops are recorded with their log number. So one segment serves old and new
snapshots, and no reader needs a lock.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.indexes.attributes import Mask
from hivelore.indexing.model import ChangeCursor, KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey

Keys = NDArray[np.int64]
Places = NDArray[np.intp]

_KEY, _LENGTH = np.dtype("<i8"), np.dtype("<i4")
_NOWHERE = np.empty(0, np.intp), np.empty(0, np.uint8)
"""The postings of a term that no chunk contains."""


@dataclass(frozen=True, slots=True)
class Rows:
    """n chunks, ascending by slot."""

    slots: Keys
    chunks: Keys
    documents: Keys
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.slots)

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, int]]) -> "Rows":
        """Builds rows from tuples of slot, chunk, document and length."""
        slots, chunks, documents, lengths = np.array(rows, np.int64).reshape(-1, 4).T
        return cls(slots.copy(), chunks.copy(), documents.copy(), lengths.astype(np.int32))

    @classmethod
    def of_blobs(cls, slots: bytes, chunks: bytes, documents: bytes, lengths: bytes) -> "Rows":
        return cls(
            np.frombuffer(slots, _KEY),
            np.frombuffer(chunks, _KEY),
            np.frombuffer(documents, _KEY),
            np.frombuffer(lengths, _LENGTH),
        )

    def blobs(self) -> tuple[bytes, bytes, bytes, bytes]:
        slots, chunks, documents = (one.astype(_KEY).tobytes() for one in (self.slots, self.chunks, self.documents))
        return slots, chunks, documents, self.lengths.astype(_LENGTH).tobytes()

    def take(self, at: Mask | slice) -> "Rows":
        return Rows(self.slots[at], self.chunks[at], self.documents[at], self.lengths[at])

    def joined(self, *others: "Rows") -> "Rows":
        """Appends the rows of others."""
        all_rows = (self, *others)
        return Rows(
            np.concatenate([rows.slots for rows in all_rows]),
            np.concatenate([rows.chunks for rows in all_rows]),
            np.concatenate([rows.documents for rows in all_rows]),
            np.concatenate([rows.lengths for rows in all_rows]),
        )

    def by_slot(self) -> "Rows":
        order = np.argsort(self.slots)
        return Rows(self.slots[order], self.chunks[order], self.documents[order], self.lengths[order])

    def places(self, slots: Keys) -> tuple[Places, Mask]:
        """Returns the positions of slots, and a mask of those that are present."""
        if not len(self):
            return np.zeros(len(slots), np.intp), np.zeros(len(slots), np.bool_)
        at = np.minimum(np.searchsorted(self.slots, slots), len(self) - 1)
        return at, self.slots[at] == slots


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """The rows of a segment that exist in one snapshot: its first ``size`` rows except the ``dead`` ones."""

    size: int
    dead: Mask | None
    """(size,); None if no row is dead."""
    chunks: int
    length: int
    """Total length of all living chunks."""


_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class SegmentView:
    rows: Rows
    at: NDArray[np.int32]
    """The position of each chunk's document in ``Documents``."""
    drops: Keys = field(default_factory=lambda: _NONE)
    """Log numbers of the drops so far."""
    dropped: Places = field(default_factory=lambda: _NONE)
    """The dropped position of each of them."""
    length: int = 0
    """Total length of all chunks."""

    @classmethod
    def of(cls, rows: Rows, at: NDArray[np.int32]) -> "SegmentView":
        return cls(rows, at, length=_sum(rows.lengths))

    def after(self, numbers: Keys, slots: Keys) -> "SegmentView":
        """Adds drops; those of other segments are ignored."""
        places, here = self.rows.places(slots)
        return self.without(numbers[here], places[here])

    def without(self, numbers: Keys, places: Places) -> "SegmentView":
        if not len(numbers):
            return self
        return replace(
            self,
            drops=np.concatenate([self.drops, numbers]),
            dropped=np.concatenate([self.dropped, places]),
        )

    def grown(self, rows: Rows, at: NDArray[np.int32]) -> "SegmentView":
        length = self.length + _sum(rows.lengths)
        return replace(self, rows=self.rows.joined(rows), at=np.concatenate([self.at, at]), length=length)

    def gone(self, drops: ChangeCursor) -> Places:
        """Returns the positions dropped as of a cursor."""
        return self.dropped[drops.shows(self.drops)] if len(self.drops) else self.dropped

    def as_of(self, drops: ChangeCursor) -> LiveChunks:
        gone = self.gone(drops)
        alive = None
        if len(gone):
            alive = np.ones(len(self.rows), np.bool_)
            alive[gone] = False
        return self.living(alive)

    def living(self, alive: Mask | None) -> LiveChunks:
        """Returns the rows of a mask; None: all."""
        size = len(self.rows)
        if alive is None:
            return LiveChunks(size, None, size, self.length)
        return LiveChunks(size, ~alive, int(np.count_nonzero(alive)), _sum(self.rows.lengths[alive]))


@dataclass(frozen=True, slots=True)
class Matches:
    """The chunks of one segment that contain terms: for each term its positions, ascending, and counts in halves. A
    count of 0 is that of a purged chunk."""

    part: SegmentView
    living: LiveChunks
    postings: dict[str, tuple[Places, NDArray[np.uint8]]]

    def having(self, terms: Iterable[str]) -> list[int]:
        """Counts the living chunks with each term."""
        found: list[int] = []
        for term in terms:
            places, counts = self.postings.get(term, _NOWHERE)
            living = counts if self.living.dead is None else counts * ~self.living.dead[places]
            found.append(int(np.count_nonzero(living)))
        return found


def _sum(lengths: NDArray[np.int32]) -> int:
    return int(lengths.sum(dtype=np.int64))


MOST = 255
"""The highest count, 127.5 occurrences. More make no difference to the score."""


@dataclass(frozen=True, slots=True)
class Counted:
    """An entry as it is stored."""

    chunk: ChunkKey
    document: DocumentKey
    length: int
    """Number of terms in all columns."""
    terms: str
    """The distinct terms, joined by spaces; no term contains one."""
    counts: bytes
    """One byte for each term, in halves."""


def count_terms(entry: KeywordEntry) -> Counted:
    """Counts terms in halves: 2 for an occurrence and 1 in the context, the weights 1.0 and 0.5 of ``Fts5``."""
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


def split_terms(terms: str) -> list[str]:
    """Splits the terms of a row, in the order of its counts."""
    return terms.split(" ") if terms else []
