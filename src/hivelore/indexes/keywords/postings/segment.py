"""A part of the index in memory: which chunks it holds, and which of them are dropped, as of any moment.

What a part holds never changes; what is dropped later is noted with its number. So one part serves every
snapshot, old and new, and no reader needs a lock.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import Mask
from hivelore.indexing.model import ChangeCursor, ChunkKey, DocumentKey, KeywordEntry

Keys = NDArray[np.int64]
Places = NDArray[np.intp]

_KEY, _LENGTH = np.dtype("<i8"), np.dtype("<i4")


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
        """Each with slot, chunk, document and length."""
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
        """With the rows of others behind these."""
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
        """Where these slots lie, and which of them lie here at all."""
        if not len(self):
            return np.zeros(len(slots), np.intp), np.zeros(len(slots), np.bool_)
        at = np.minimum(np.searchsorted(self.slots, slots), len(self) - 1)
        return at, self.slots[at] == slots


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """What of a part is there in one snapshot: its first ``size`` rows but the ``dead`` ones."""

    size: int
    dead: Mask | None
    """(size,); None where none is."""
    chunks: int
    length: int
    """Of all living chunks together."""


_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class SegmentView:
    rows: Rows
    at: NDArray[np.int32]
    """The place of each chunk's document among ``Documents``."""
    drops: Keys = field(default_factory=lambda: _NONE)
    """The numbers of the drops so far in their log, ..."""
    dropped: Places = field(default_factory=lambda: _NONE)
    """... and the place that each took."""
    length: int = 0
    """Of all chunks together."""

    @classmethod
    def of(cls, rows: Rows, at: NDArray[np.int32]) -> "SegmentView":
        return cls(rows, at, length=_sum(rows.lengths))

    def after(self, numbers: Keys, slots: Keys) -> "SegmentView":
        """With some more drops; those of other parts are passed over."""
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
        """The places of what was dropped by then."""
        return self.dropped[drops.shows(self.drops)] if len(self.drops) else self.dropped

    def as_of(self, drops: ChangeCursor) -> LiveChunks:
        gone = self.gone(drops)
        alive = None
        if len(gone):
            alive = np.ones(len(self.rows), np.bool_)
            alive[gone] = False
        return self.living(alive)

    def living(self, alive: Mask | None) -> LiveChunks:
        """The rows of a mask; None: all."""
        size = len(self.rows)
        if alive is None:
            return LiveChunks(size, None, size, self.length)
        return LiveChunks(size, ~alive, int(np.count_nonzero(alive)), _sum(self.rows.lengths[alive]))


def _sum(lengths: NDArray[np.int32]) -> int:
    return int(lengths.sum(dtype=np.int64))


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
