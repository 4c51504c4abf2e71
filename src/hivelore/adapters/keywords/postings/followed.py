"""The index as this process knows it, and what of it one snapshot shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hivelore.adapters.keywords.postings import sql
from hivelore.adapters.keywords.postings.documents import Admission, Documents
from hivelore.adapters.keywords.postings.part import Part
from hivelore.adapters.keywords.postings.ranking import Matches
from hivelore.adapters.keywords.postings.sql import Now
from hivelore.adapters.keywords.postings.tail import Tail
from hivelore.adapters.sqlite.view import SqliteView
from hivelore.domain.search import Filter


@dataclass(frozen=True, slots=True)
class Followed:
    """What was there at a moment. Its parts serve older snapshots too, as far as these show the same segments."""

    now: Now
    documents: Documents
    segments: Mapping[int, Part]
    tail: Tail
    start: int
    """The last slot that lies in a segment: the tail may begin before it."""

    @classmethod
    def loaded(cls, view: SqliteView, now: Now) -> "Followed":
        documents = Documents(view, now.seq)
        segments, start = _searched(view)
        tail = Tail(start)
        tail.follow(view, now.slot, documents.places)
        return cls(now, documents, {key: _loaded(view, key, documents) for key in segments}, tail, start)

    def followed(self, view: SqliteView, now: Now) -> "Followed":
        """As of a view that is newer. Nothing that an older reader uses is changed but what it can tell apart."""
        if now.seq > self.now.seq:
            self.documents.follow(view, self.now.seq, now.seq)
        segments, tail, start = self.segments, self.tail, self.start
        if now.drop > self.now.drop:
            seqs, slots = sql.drops(sql.ask(view, "drops", after=self.now.drop))
            segments = {key: part.after(seqs, slots) for key, part in segments.items()}
            tail.part = tail.part.after(seqs, slots)
        if now.generation != self.now.generation:
            keys, start = _searched(view)
            known = segments
            segments = {key: known.get(key) or _loaded(view, key, self.documents) for key in keys}
            if not tail.serves(start):
                tail = Tail(start)
        tail.follow(view, now.slot, self.documents.places)
        return Followed(now, self.documents, segments, tail, start)

    def older(self, view: SqliteView, now: Now) -> "Followed":
        """As of a view from before the last switch of segments, beside this one."""
        keys, start = _searched(view)
        known = self.segments
        tail = Tail(start)
        tail.follow(view, now.slot, self.documents.places)
        segments = {key: known.get(key) or _loaded(view, key, self.documents) for key in keys}
        return Followed(now, self.documents, segments, tail, start)

    def admission(self, view: SqliteView, where: Filter, now: Now) -> Admission:
        return Admission(self.documents, view, where, now.seq)

    def matches(self, view: SqliteView, terms: Sequence[str], now: Now) -> list[Matches]:
        """What each part has of the terms, as the view shows it."""
        found: dict[int, dict[str, tuple[np.ndarray, np.ndarray]]] = {key: {} for key in self.segments}
        for term, segment, places, counts in sql.ask(view, "postings", terms=sql.array(set(terms))) if found else ():
            if segment in found:
                found[segment][term] = np.frombuffer(places, "<u4"), np.frombuffer(counts, np.uint8)
        matches = [Matches(part, part.as_of(now.slot, now.drop), found[key]) for key, part in self.segments.items()]
        tail = self.tail.part
        living = tail.as_of(now.slot, now.drop, self.start)
        newest = ((term, self.tail.postings(term, living.size)) for term in set(terms))
        return [*matches, Matches(tail, living, {term: one for term, one in newest if one is not None})]


def _searched(view: SqliteView) -> tuple[list[int], int]:
    """The segments that are searched, and the last slot that lies in one."""
    found = sql.ask(view, "searched")
    return [row[0] for row in found], max((row[1] for row in found), default=0)


def _loaded(view: SqliteView, key: int, documents: Documents) -> Part:
    rows = sql.rows_of(view, key)
    part = Part.of(rows, documents.places(rows.documents))
    if not len(rows):
        return part
    found = sql.ask(view, "drops_between", first=int(rows.slots[0]), last=int(rows.slots[-1]))
    return part.after(*sql.drops(found))
