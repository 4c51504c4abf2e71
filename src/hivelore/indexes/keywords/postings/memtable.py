"""The newest chunks, which no segment holds yet: in memory, growing with the table ``terms``."""

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.keywords.postings.segment import Keys, LiveChunks, Places, Rows, SegmentView
from hivelore.indexes.keywords.postings.sql import Now, ask, since
from hivelore.indexes.keywords.postings.terms import each
from hivelore.indexing.model import ChangeCursor
from hivelore.storage.sql.view import SqlView

Locate = Callable[[Keys], NDArray[np.int32]]
"""Tells the places of documents among ``Documents``."""


class Memtable:
    """Rows of terms with numbers behind ``start``. Only one at a time may ``follow`` and ``drop``; it adds at the end
    only, so everybody else reads what was there before, undisturbed."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.part = SegmentView.of(Rows.of([]), np.empty(0, np.int32))
        self._numbers: Keys = np.empty(0, np.int64)
        """Of the rows of ``part``, and perhaps of some that come after."""
        self._moment = ChangeCursor(start)
        self._place_of: dict[int, int] = {}
        """By slot: they need not come in the order of their slots."""
        self._postings: dict[str, tuple[array[int], bytearray]] = {}

    def serves(self, start: int) -> bool:
        """Whether this is the tail behind a number, and at least half of it is; else a new one is better."""
        return self.start <= start and 2 * int(np.count_nonzero(self._numbers <= start)) <= len(self._numbers)

    def follow(self, view: SqlView, rows: ChangeCursor, locate: Locate) -> None:
        """Take in the rows that a view shows, dropped ones too: an older snapshot may still hold them."""
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
        """Note drops; those of other parts are passed over."""
        known = np.array([slot in self._place_of for slot in slots.tolist()], np.bool_)
        places = np.array([self._place_of[slot] for slot in slots[known].tolist()], np.intp)
        self.part = self.part.without(numbers[known], places)

    def as_of(self, part: SegmentView, now: Now, start: int) -> LiveChunks:
        """What of ``part``, as it once was, is there in a snapshot, and behind ``start``."""
        numbers = self._numbers[: len(part.rows)]
        alive = now.rows.shows(numbers) & (numbers > start)
        alive[part.gone(now.drops)] = False
        return part.living(None if alive.all() else alive)

    def _count(self, place: int, terms: Sequence[str], counts: bytes) -> None:
        for term, count in zip(terms, counts, strict=True):
            known = self._postings.get(term)
            if known is None:
                known = self._postings[term] = (array("I"), bytearray())
            # In this order: who reads has a count for every place.
            known[1].append(count)
            known[0].append(place)

    def postings(self, term: str, size: int) -> tuple[Places, NDArray[np.uint8]] | None:
        """The places, below ``size``, and counts of a term; None where it has none."""
        known = self._postings.get(term)
        if known is None:
            return None
        places = np.frombuffer(bytes(known[0]), np.uintc).astype(np.intp)
        places = places[: np.searchsorted(places, size)]
        return (places, np.frombuffer(bytes(known[1][: len(places)]), np.uint8)) if len(places) else None
