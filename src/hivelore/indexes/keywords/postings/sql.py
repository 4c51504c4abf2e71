"""The tables of this engine: its SQL statements, and their rows as values."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.arrays import Mask
from hivelore.indexing.model import AttributeColumns, ChangeCursor, KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sql.embeddings import read_attribute_columns
from hivelore.storage.sql.statements import Param, Params, load
from hivelore.storage.sql.view import SqlTransaction, SqlView

_PACKAGE = "hivelore.indexes.keywords.postings"
SQL = {name: load((_PACKAGE, "queries.sql"), (_PACKAGE, f"{name}.sql")) for name in ("sqlite", "postgres")}
"""Statements by dialect."""

GENERATION = "postings.generation"
"""The setting that counts how often segments were activated or postings changed in place."""

FILLING, SEARCHED, EMPTYING = 1, 2, 3

_PAGE = 5_000
_SHORT = 0xFFFF_FFFF
"""The part of a transaction id that locks show."""

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


@dataclass(frozen=True, slots=True)
class Now:
    """The position of a view in the logs of changes, indexed chunks and drops, and its generation of segments."""

    changes: ChangeCursor
    rows: ChangeCursor
    drops: ChangeCursor
    generation: int
    incarnation: str | None


@dataclass(frozen=True, slots=True)
class Segment:
    key: int
    state: int
    first: int
    last: int
    chunks: int
    sources: tuple[int, ...]
    upto: str


def run(view: SqlView, statement: str, /, **params: Param) -> list[Any]:
    return view.rows(SQL[view.dialect][statement], params)


def run_each(unit: SqlTransaction, statement: str, each: Sequence[Params]) -> None:
    """Runs a statement without results once for each set of parameters."""
    unit.run_many(SQL[unit.dialect][statement], each)


def now(view: SqlView) -> Now:
    generation, incarnation = int(view.setting(GENERATION) or 0), view.setting("incarnation")
    if "now" not in SQL[view.dialect]:  # On PostgreSQL the transaction id is the position in every log.
        moment = view.change_cursor()
        return Now(moment, moment, moment, generation, incarnation)
    changes, rows, drops = run(view, "now")[0]
    return Now(ChangeCursor(changes), ChangeCursor(rows), ChangeCursor(drops), generation, incarnation)


def settled_number(view: SqlView, rows: ChangeCursor) -> int:
    """Returns the number up to which no more rows of terms can appear."""
    if not rows.open:
        return rows.upto
    elsewhere = {row[0] for row in run(view, "elsewhere")}
    return min((one for one in rows.open if one & _SHORT not in elsewhere), default=rows.upto + 1) - 1


def params_after(view: SqlView, moment: ChangeCursor) -> dict[str, Param]:
    """Returns parameters that select the rows behind a cursor."""
    return {"upto": moment.upto, "open": view.array(moment.open)}


def read_segments(view: SqlView) -> list[Segment]:
    return [
        Segment(key, state, first, last, chunks, tuple(json.loads(sources)), upto)
        for key, state, first, last, chunks, sources, upto in run(view, "segments")
    ]


def read_rows(view: SqlView, segment: int) -> Rows:
    return Rows.of_blobs(*run(view, "segment_rows", segment=segment)[0])


def split_drops(found: Sequence[tuple[int, int]]) -> tuple[Keys, Keys]:
    """Splits rows of ``dropped`` into their log numbers and slots."""
    columns = np.array(found, np.int64).reshape(-1, 2).T
    return columns[0], columns[1]


def attribute_pages(view: SqlView) -> Iterator[tuple[Keys, AttributeColumns]]:
    """Yields the attributes of all documents, ascending by key."""
    after = 0
    with view.unrestricted():
        while found := run(view, "documents", after=after, limit=_PAGE):
            keys, *columns = zip(*found, strict=True)
            yield np.array(keys, np.int64), read_attribute_columns(columns)
            after = found[-1][0]


def advance_generation(unit: SqlTransaction) -> None:
    unit.set_setting(GENERATION, str(int(unit.setting(GENERATION) or 0) + 1))


def require_view(view: View) -> SqlView:
    if not isinstance(view, SqlView):
        raise TypeError("Postings searches views of a store that speaks SQL only")
    return view


def require_transaction(tx: Transaction) -> SqlTransaction:
    if not isinstance(tx, SqlTransaction):
        raise TypeError("Postings writes through transactions of a store that speaks SQL only")
    return tx
