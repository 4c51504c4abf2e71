"""The index as this process knows it, and what of it one snapshot shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.documents import Admission, Documents
from hivelore.indexes.keywords.postings.memtable import Memtable
from hivelore.indexes.keywords.postings.ranking import Matches
from hivelore.indexes.keywords.postings.segment import SegmentView
from hivelore.indexes.keywords.postings.sql import Now
from hivelore.search.model import Filter
from hivelore.storage.sql.view import SqlView


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """What was there at a moment. Its parts serve older snapshots too, as far as these show the same segments."""

    now: Now
    documents: Documents
    segments: Mapping[int, SegmentView]
    tail: Memtable
    start: int
    """Rows of terms up to this number lie in segments: the tail may begin before it."""

    @classmethod
    def loaded(cls, view: SqlView, now: Now) -> "IndexSnapshot":
        documents = Documents(view, now.changes.number)
        spans, start = _searched(view)
        tail = Memtable(start)
        tail.follow(view, now.rows, documents.places)
        return cls(
            now, documents, {key: _loaded(view, key, span, documents) for key, span in spans.items()}, tail, start
        )

    def followed(self, view: SqlView, now: Now) -> "IndexSnapshot":
        """As of a view that is newer. Nothing that an older reader uses is changed but what it can tell apart."""
        if now.changes.number > self.now.changes.number:
            self.documents.follow(view, self.now.changes)
        segments, tail, start = self.segments, self.tail, self.start
        if now.drops.number > self.now.drops.number:
            numbers, slots = sql.drops(sql.ask(view, "drops", **sql.since(view, self.now.drops)))
            segments = {key: part.after(numbers, slots) for key, part in segments.items()}
            tail.drop(numbers, slots)
        if now.generation != self.now.generation:
            spans, start = _searched(view)
            known = segments
            segments = {key: known.get(key) or _loaded(view, key, span, self.documents) for key, span in spans.items()}
            if not tail.serves(start):
                tail = Memtable(start)
        tail.follow(view, now.rows, self.documents.places)
        return IndexSnapshot(now, self.documents, segments, tail, start)

    def older(self, view: SqlView, now: Now) -> "IndexSnapshot":
        """As of a view from before the last switch of segments, beside this one."""
        spans, start = _searched(view)
        known = self.segments
        tail = Memtable(start)
        tail.follow(view, now.rows, self.documents.places)
        segments = {key: known.get(key) or _loaded(view, key, span, self.documents) for key, span in spans.items()}
        return IndexSnapshot(now, self.documents, segments, tail, start)

    def admission(self, view: SqlView, where: Filter, now: Now) -> Admission:
        return Admission(self.documents, view, where, now.changes.number)

    def matches(self, view: SqlView, terms: Sequence[str], now: Now) -> list[Matches]:
        """What each part has of the terms, as the view shows it."""
        found: dict[int, dict[str, tuple[np.ndarray, np.ndarray]]] = {key: {} for key in self.segments}
        for term, segment, places, counts in sql.ask(view, "postings", terms=view.array(set(terms))) if found else ():
            if segment in found:
                found[segment][term] = np.frombuffer(places, "<u4"), np.frombuffer(counts, np.uint8)
        matches = [Matches(part, part.as_of(now.drops), found[key]) for key, part in self.segments.items()]
        tail = self.tail.part
        living = self.tail.as_of(tail, now, self.start)
        newest = ((term, self.tail.postings(term, living.size)) for term in set(terms))
        return [*matches, Matches(tail, living, {term: one for term, one in newest if one is not None})]


Span = tuple[int, int]
"""The numbers of the first and the last row of terms that a segment may hold."""


def _searched(view: SqlView) -> tuple[dict[int, Span], int]:
    """The segments that are searched, and the number up to which rows of terms lie in one."""
    spans = {key: (first, last) for key, first, last in sql.ask(view, "searched")}
    return spans, max((last for _, last in spans.values()), default=0)


def _loaded(view: SqlView, key: int, span: Span, documents: Documents) -> SegmentView:
    rows = sql.rows_of(view, key)
    part = SegmentView.of(rows, documents.places(rows.documents))
    first, last = span
    return part.after(*sql.drops(sql.ask(view, "drops_between", first=first, last=last))) if len(rows) else part
