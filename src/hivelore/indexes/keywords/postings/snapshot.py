"""The index in memory: segments, the memtable of the newest chunks, and the state that one snapshot shows."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import CodeBook, Labels, Mask
from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.segment import Keys, LiveChunks, Matches, Places, Rows, SegmentView, split_terms
from hivelore.indexes.keywords.postings.sql import Now, attribute_pages, params_after, run
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    ChangeCursor,
    ChangeKind,
)
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.sql.view import SqlView

_LOSES_CHUNKS = (ChangeKind.CONTENT, ChangeKind.FORGOTTEN)
NOTES = 10_000
"""Number of document changes that are remembered for older snapshots."""
UNKNOWN = 0
"""The position of an unknown document."""


class Documents:
    """Labels change in place for all readers. A follower first notes a document, then relabels it. A reader first reads
    the labels, then the notes, and checks documents that are newer than its snapshot in the database. Only one
    thread may follow at a time."""

    def __init__(self, view: SqlView, number: int) -> None:
        self.codes = CodeBook()
        self._notes: list[tuple[int, DocumentKey]] = []
        self._remembers = number
        self._may_have_lost_chunks: set[int] = set()
        self._is_surveyed = False
        pages = [(keys, self.codes.encode(columns)) for keys, columns in attribute_pages(view)]
        self._labels = _joined([_no_labels(), *(labels for _, labels in pages)])
        self._keys: Keys = np.concatenate([np.zeros(1, np.int64), *(keys for keys, _ in pages)])
        self._count = len(self._keys)
        self._late: dict[int, int] = {}
        """Positions of documents that arrived after ones with greater keys, outside the sorted order."""

    def places(self, documents: Keys) -> NDArray[np.int32]:
        keys = self._keys[: self._count]
        at = np.minimum(np.searchsorted(keys, documents), len(keys) - 1)
        places = np.where(keys[at] == documents, at, UNKNOWN).astype(np.int32)
        if self._late:
            for where in np.flatnonzero(places == UNKNOWN).tolist():
                places[where] = self._late.get(int(documents[where]), UNKNOWN)
        return places

    def follow(self, view: SqlView, since: ChangeCursor) -> None:
        """Applies the changes that the view shows and ``since`` did not."""
        shown = view.change_cursor().number
        for _, changes in view.changes(since):
            touched = sorted({one.document for one in changes if one.kind is not ChangeKind.VECTORS})
            self._notes.extend((shown, document) for document in touched)
            self._may_have_lost_chunks.update(one.document for one in changes if one.kind in _LOSES_CHUNKS)
            present = view.attributes(touched)
            known = self.places(np.array(touched, np.int64)) != UNKNOWN
            self._relabel(
                {key: present[key] for key, here in zip(touched, known, strict=True) if here and key in present}
            )
            self._append(
                {key: present[key] for key, here in zip(touched, known, strict=True) if not here and key in present}
            )
        if len(self._notes) > 2 * NOTES:
            self._remembers = self._notes[-NOTES][0]
            self._notes = self._notes[-NOTES:]

    def _relabel(self, documents: dict[DocumentKey, Attributes]) -> None:
        if documents:
            at = self.places(np.fromiter(documents, np.int64))
            self._labels.put(at.astype(np.intp), self.codes.encode(AttributeColumns.of(list(documents.values()))))

    def _append(self, documents: dict[DocumentKey, Attributes]) -> None:
        """Appends documents, ascending by key."""
        if not documents:
            return
        fresh = self._in_order(np.fromiter(documents, np.int64))
        labels = self.codes.encode(AttributeColumns.of(list(documents.values())))
        stop = self._count + len(documents)
        if stop > len(self._keys):
            room = Labels.empty(stop // 4 + 64)
            self._labels = _joined([self._labels.take(slice(self._count)), labels, room])
            self._keys = np.concatenate([self._keys[: self._count], fresh, np.zeros(stop // 4 + 64, np.int64)])
        else:
            self._labels.put(slice(self._count, stop), labels)
            self._keys[self._count : stop] = fresh
        self._count = stop

    def _in_order(self, keys: Keys) -> Keys:
        """Returns the keys to append. A late key is replaced by the last one and remembered in ``_late``."""
        last = int(self._keys[self._count - 1])
        for number in range(int(np.searchsorted(keys, last))):
            self._late[int(keys[number])] = self._count + number
        return np.maximum(keys, last)

    def admitted(self, where: Filter, at: NDArray[np.int32]) -> Mask:
        """Returns a mask of the documents at these positions that pass now, ignoring tags."""
        labels = self._labels
        known = np.where(at < len(labels.codes[0]), at, UNKNOWN)
        return self.codes.admitted(where, labels.take(known.astype(np.intp)))

    def survey(self, view: SqlView) -> None:
        """Finds, once, chunks that no longer exist but still have terms."""
        if not self._is_surveyed:
            self._may_have_lost_chunks.update(row[0] for row in run(view, "orphans"))
            self._is_surveyed = True

    def may_have_lost(self, documents: Keys) -> Sequence[int]:
        """Returns the positions of documents that may lack an indexed chunk."""
        if not self._is_surveyed:
            return range(len(documents))
        shaken = self._may_have_lost_chunks
        return [at for at, document in enumerate(documents.tolist()) if document in shaken] if shaken else ()

    def newer(self, number: int) -> Sequence[DocumentKey] | None:
        """Returns the documents that may have changed after this number; None if that is no longer remembered."""
        notes = self._notes
        if number < self._remembers:
            return None
        newer: set[DocumentKey] = set()
        for at in range(len(notes) - 1, -1, -1):
            if notes[at][0] <= number:
                break
            newer.add(notes[at][1])
        return sorted(newer)


class Admission:
    """The documents that a filter admits, as of the view of a search."""

    def __init__(self, documents: Documents, view: SqlView, where: Filter, number: int) -> None:
        self._documents = documents
        self._view = view
        self._where = where
        self._number = number
        self._keys: Keys | None = None
        if where.needs_store:
            self._keys = self._matching()

    def _matching(self) -> Keys:
        return np.array(self._view.matching_keys(self._where), np.int64)

    def __call__(self, documents: Keys, at: NDArray[np.int32]) -> Mask:
        """Returns a mask of the admitted documents; ``at`` are their positions in ``Documents``."""
        if self._keys is None:
            passing = self._documents.admitted(self._where, at)
            newer = self._documents.newer(self._number)
            if newer is not None and not newer:
                return passing
            if newer is not None:
                admitted = list(self._view.memories_of(newer, self._where))
                return (passing & ~np.isin(documents, newer)) | np.isin(documents, admitted)
            self._keys = self._matching()
        return np.isin(documents, self._keys)


def _no_labels() -> Labels:
    labels = Labels.empty(1)
    labels.codes[:] = -1
    labels.instants[:] = 0
    return labels


def _joined(labels: Iterable[Labels]) -> Labels:
    parts = list(labels)
    return Labels(
        np.concatenate([one.codes for one in parts], axis=1), np.concatenate([one.instants for one in parts], axis=1)
    )


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
        found = run(view, "newest", **params_after(view, self._moment))
        size = len(self.part.rows)
        for place, row in enumerate(found, size):
            self._place_of[row[0]] = place
            self._count(place, split_terms(row[5]), row[6])
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
            numbers, slots = sql.split_drops(sql.run(view, "drops", **sql.params_after(view, self.now.drops)))
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
        for term, segment, places, counts in sql.run(view, "postings", terms=view.array(set(terms))) if found else ():
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
    spans = {key: (first, last) for key, first, last in sql.run(view, "searched")}
    return spans, max((last for _, last in spans.values()), default=0)


def _loaded(view: SqlView, key: int, span: Span, documents: Documents) -> SegmentView:
    rows = sql.read_rows(view, key)
    part = SegmentView.of(rows, documents.places(rows.documents))
    first, last = span
    return part.after(*sql.split_drops(sql.run(view, "drops_between", first=first, last=last))) if len(rows) else part
