"""The index in memory: segments, the memtable of the newest chunks, and the state that one snapshot shows."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.documents import Admission, Documents
from hivelore.indexes.keywords.postings.ranking import Matches
from hivelore.indexes.keywords.postings.segment import Keys, LiveChunks, Places, Rows, SegmentView, each
from hivelore.indexes.keywords.postings.sql import Now, ask, since
from hivelore.indexing.model import ChangeCursor
from hivelore.search.model import Filter
from hivelore.storage.sql.view import SqlView

Locate = Callable[[Keys], NDArray[np.int32]]
"""Returns the positions of documents in ``Documents``."""


class Memtable:
    """The rows of the table ``terms`` with numbers behind ``start``, which no segment holds yet. Only one thread may
    call ``follow`` and ``drop``. It only appends, so readers of earlier rows are not disturbed."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.part = SegmentView.of(Rows.of([]), np.empty(0, np.int32))
        self._numbers: Keys = np.empty(0, np.int64)
        """Numbers of the rows of ``part``, and possibly of later ones."""
        self._moment = ChangeCursor(start)
        self._place_of: dict[int, int] = {}
        """Position by slot; rows need not arrive in the order of their slots."""
        self._postings: dict[str, tuple[array[int], bytearray]] = {}

    def serves(self, start: int) -> bool:
        """Returns True if this memtable covers the rows behind ``start`` and at least half of its rows are needed."""
        return self.start <= start and 2 * int(np.count_nonzero(self._numbers <= start)) <= len(self._numbers)

    def follow(self, view: SqlView, rows: ChangeCursor, locate: Locate) -> None:
        """Adds the rows that a view shows, including dropped ones that an older snapshot may still show."""
        if rows.number <= self._moment.number:
            return
        found = ask(view, "newest", **since(view, self._moment))
        size = len(self.part.rows)
        for place, row in enumerate(found, size):
            self._place_of[row[0]] = place
            self._count(place, each(row[5]), row[6])
        fresh = Rows.of([row[:4] for row in found])
        self._numbers = np.concatenate([self._numbers, np.array([row[7] for row in found], np.int64)])
        dropped = [(row[4], place) for place, row in enumerate(found, size) if row[4]]
        drops = np.array(dropped, np.int64).reshape(-1, 2).T
        self.part = self.part.grown(fresh, locate(fresh.documents)).without(drops[0], drops[1])
        self._moment = rows

    def drop(self, numbers: Keys, slots: Keys) -> None:
        """Records drops; those of other segments are ignored."""
        known = np.array([slot in self._place_of for slot in slots.tolist()], np.bool_)
        places = np.array([self._place_of[slot] for slot in slots[known].tolist()], np.intp)
        self.part = self.part.without(numbers[known], places)

    def as_of(self, part: SegmentView, now: Now, start: int) -> LiveChunks:
        """Returns the rows of ``part``, an earlier state, that exist in a snapshot and lie behind ``start``."""
        numbers = self._numbers[: len(part.rows)]
        alive = now.rows.shows(numbers) & (numbers > start)
        alive[part.gone(now.drops)] = False
        return part.living(None if alive.all() else alive)

    def _count(self, place: int, terms: Sequence[str], counts: bytes) -> None:
        for term, count in zip(terms, counts, strict=True):
            known = self._postings.get(term)
            if known is None:
                known = self._postings[term] = (array("I"), bytearray())
            # In this order, a concurrent reader finds a count for every position.
            known[1].append(count)
            known[0].append(place)

    def postings(self, term: str, size: int) -> tuple[Places, NDArray[np.uint8]] | None:
        """Returns the positions below ``size`` and the counts of a term; None if there are none."""
        known = self._postings.get(term)
        if known is None:
            return None
        places = np.frombuffer(bytes(known[0]), np.uintc).astype(np.intp)
        places = places[: np.searchsorted(places, size)]
        return (places, np.frombuffer(bytes(known[1][: len(places)]), np.uint8)) if len(places) else None


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """The index as of one position in its logs. Its segments also serve older snapshots with the same segments."""

    now: Now
    documents: Documents
    segments: Mapping[int, SegmentView]
    memtable: Memtable
    start: int
    """Rows of terms up to this number are in segments; the memtable may begin before it."""

    @classmethod
    def loaded(cls, view: SqlView, now: Now) -> "IndexSnapshot":
        documents = Documents(view, now.changes.number)
        spans, start = _searched(view)
        memtable = Memtable(start)
        memtable.follow(view, now.rows, documents.places)
        return cls(
            now, documents, {key: _loaded(view, key, span, documents) for key, span in spans.items()}, memtable, start
        )

    def followed(self, view: SqlView, now: Now) -> "IndexSnapshot":
        """Returns the index as of a newer view. Older readers are not affected."""
        if now.changes.number > self.now.changes.number:
            self.documents.follow(view, self.now.changes)
        segments, memtable, start = self.segments, self.memtable, self.start
        if now.drops.number > self.now.drops.number:
            numbers, slots = sql.drops(sql.ask(view, "drops", **sql.since(view, self.now.drops)))
            segments = {key: part.after(numbers, slots) for key, part in segments.items()}
            memtable.drop(numbers, slots)
        if now.generation != self.now.generation:
            spans, start = _searched(view)
            known = segments
            segments = {key: known.get(key) or _loaded(view, key, span, self.documents) for key, span in spans.items()}
            if not memtable.serves(start):
                memtable = Memtable(start)
        memtable.follow(view, now.rows, self.documents.places)
        return IndexSnapshot(now, self.documents, segments, memtable, start)

    def older(self, view: SqlView, now: Now) -> "IndexSnapshot":
        """Returns the index as of a view from before the last activation of segments."""
        spans, start = _searched(view)
        known = self.segments
        memtable = Memtable(start)
        memtable.follow(view, now.rows, self.documents.places)
        segments = {key: known.get(key) or _loaded(view, key, span, self.documents) for key, span in spans.items()}
        return IndexSnapshot(now, self.documents, segments, memtable, start)

    def admission(self, view: SqlView, where: Filter, now: Now) -> Admission:
        return Admission(self.documents, view, where, now.changes.number)

    def matches(self, view: SqlView, terms: Sequence[str], now: Now) -> list[Matches]:
        """Returns the matches of the terms in each segment and in the memtable, as the view shows them."""
        found: dict[int, dict[str, tuple[np.ndarray, np.ndarray]]] = {key: {} for key in self.segments}
        for term, segment, places, counts in sql.ask(view, "postings", terms=view.array(set(terms))) if found else ():
            if segment in found:
                found[segment][term] = np.frombuffer(places, "<u4"), np.frombuffer(counts, np.uint8)
        matches = [Matches(part, part.as_of(now.drops), found[key]) for key, part in self.segments.items()]
        memtable = self.memtable.part
        living = self.memtable.as_of(memtable, now, self.start)
        newest = ((term, self.memtable.postings(term, living.size)) for term in set(terms))
        return [*matches, Matches(memtable, living, {term: one for term, one in newest if one is not None})]


Span = tuple[int, int]
"""The numbers of the first and last row of terms that a segment may contain."""


def _searched(view: SqlView) -> tuple[dict[int, Span], int]:
    """Returns the active segments, and the number up to which rows of terms are in segments."""
    spans = {key: (first, last) for key, first, last in sql.ask(view, "searched")}
    return spans, max((last for _, last in spans.values()), default=0)


def _loaded(view: SqlView, key: int, span: Span, documents: Documents) -> SegmentView:
    rows = sql.rows_of(view, key)
    part = SegmentView.of(rows, documents.places(rows.documents))
    first, last = span
    return part.after(*sql.drops(sql.ask(view, "drops_between", first=first, last=last))) if len(rows) else part
