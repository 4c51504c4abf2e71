"""The newest chunks, which no segment holds yet: in memory, growing with the table ``terms``."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters.keywords.postings.part import Keys, Part, Places, Rows
from hivelore.adapters.keywords.postings.sql import ask
from hivelore.adapters.keywords.postings.terms import each
from hivelore.adapters.sqlite.view import SqliteView

Locate = Callable[[Keys], NDArray[np.int32]]
"""Tells the places of documents among ``Documents``."""


class Tail:
    """Chunks with slots behind ``start``. Only one at a time may ``follow``; it adds at the end only, so everybody else
    reads what was there before, undisturbed."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.part = Part.of(Rows.of([]), np.empty(0, np.int32))
        self._upto = start
        self._postings: dict[str, tuple[array[int], bytearray]] = {}

    def serves(self, start: int) -> bool:
        """Whether this is the tail behind a slot, and at least half of it is; else a new one is better."""
        slots = self.part.rows.slots
        return self.start <= start and 2 * int(np.searchsorted(slots, start, "right")) <= len(slots)

    def follow(self, view: SqliteView, slot: int, locate: Locate) -> None:
        """Take in the chunks up to ``slot``, dropped ones too: an older snapshot may still hold them."""
        if slot <= self._upto:
            return
        found = ask(view, "newest", after=self._upto, until=slot)
        size = len(self.part.rows)
        for place, row in enumerate(found, size):
            self._count(place, each(row[5]), row[6])
        rows = Rows.of([row[:4] for row in found])
        self.part = _dropped(self.part.grown(rows, locate(rows.documents)), found, size)
        self._upto = slot

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


def _dropped(part: Part, found: Sequence[Sequence[Any]], size: int) -> Part:
    """With the drops that these rows, which lie at ``size`` and behind it, tell themselves."""
    drops = sorted((row[4], place) for place, row in enumerate(found, size) if row[4])
    if not drops:
        return part
    seqs, places = np.array(drops, np.int64).T
    seqs, places = np.concatenate([part.drops, seqs]), np.concatenate([part.dropped, places])
    order = np.argsort(seqs)
    return replace(part, drops=seqs[order], dropped=places[order])
