"""The default keyword engine: postings in ordinary tables, the newest chunks in memory, scored with numpy.

The rows of a segment never change. Later drops are recorded with their log number. So one segment in memory serves old
and new snapshots, and no reader needs a lock.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.indexes.arrays import CodeBook, Labels, Mask, at_least
from hivelore.indexes.keywords.postings import compaction, sql
from hivelore.indexes.keywords.postings.compaction import Compaction, Sizes
from hivelore.indexes.keywords.postings.sql import (
    Counted,
    Keys,
    Now,
    Places,
    Rows,
    attribute_pages,
    count_terms,
    params_after,
    run,
    split_terms,
)
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    Candidates,
    ChangeCursor,
    ChangeKind,
    KeywordEntry,
)
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter
from hivelore.search.tokenizer import rarity
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sql.view import SqlTransaction, SqlView

# Segments in memory.

_NOWHERE = np.empty(0, np.intp), np.empty(0, np.uint8)
"""The postings of a term that no chunk contains."""
_NO_DROPS = np.empty(0, np.int64)
"""The log numbers, and the positions, of the drops in a segment without any."""


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """The rows of a segment that exist in one snapshot: its first ``size`` rows except the ``dead`` ones."""

    size: int
    dead: Mask | None
    """(size,); None if no row is dead."""
    chunks: int
    length: int
    """Total length of all living chunks."""


@dataclass(frozen=True, slots=True)
class SegmentView:
    rows: Rows
    at: NDArray[np.int32]
    """The position of each chunk's document in ``Documents``."""
    drops: Keys = field(default_factory=lambda: _NO_DROPS)
    """Log numbers of the drops so far."""
    dropped: Places = field(default_factory=lambda: _NO_DROPS)
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


# The documents and the state that one snapshot shows.

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
            numbers, slots = sql.split_drops(run(view, "drops", **params_after(view, self.now.drops)))
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
        for term, segment, places, counts in run(view, "postings", terms=view.array(set(terms))) if found else ():
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
    spans = {key: (first, last) for key, first, last in run(view, "searched")}
    return spans, max((last for _, last in spans.values()), default=0)


def _loaded(view: SqlView, key: int, span: Span, documents: Documents) -> SegmentView:
    rows = sql.read_rows(view, key)
    part = SegmentView.of(rows, documents.places(rows.documents))
    first, last = span
    return part.after(*sql.split_drops(run(view, "drops_between", first=first, last=last))) if len(rows) else part


# Scores.

# The constants of bm25() in SQLite's fts5_aux.c.
SATURATION = 1.2
LENGTH_SHARE = 0.75

AMPLE = 2
"""Chunks to consider per requested document: some share a document, some are not admitted."""
WIDENING = 16
"""Factor by which that grows if it was not enough."""

Scores = NDArray[np.float64]
Admits = Callable[[Keys, NDArray[np.int32]], Mask]
"""Returns a mask of the admitted documents; the second argument has their positions in ``Documents``."""


def rarities(terms: Sequence[str], matches: Sequence[Matches]) -> dict[str, float]:
    """Returns the rarity of each term among all living chunks."""
    chunks = sum([one.living.chunks for one in matches])
    having = [one.having(terms) for one in matches]
    return {term: rarity(chunks, sum(counts)) for term, *counts in zip(terms, *having, strict=True)}


def average_length(matches: Sequence[Matches]) -> float:
    chunks = sum([one.living.chunks for one in matches])
    return sum([one.living.length for one in matches]) / chunks if chunks else 0.0


class Scored:
    """The scores of all chunks: 0 for chunks without any of the terms and for dead ones."""

    def __init__(self, parts: Sequence[SegmentView], scores: Sequence[Scores], admits: Admits) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(one) for one in scores)])
        self._scores = np.concatenate([np.empty(0), *scores])
        self._admits = admits

    def drop(self, chunks: Sequence[int]) -> None:
        """Sets the scores of these chunks to 0."""
        for number, part in enumerate(self._parts):
            start, stop = self._starts[number : number + 2]
            self._scores[start:stop][np.isin(part.rows.chunks[: stop - start], chunks)] = 0.0

    def best(self, limit: int) -> Candidates:
        """Returns the best ``limit`` admitted documents by their best chunk; among ties the older first."""
        take = AMPLE * limit
        while True:
            at = self._top(take)
            chunks, documents, admitted = self._looked_up(at)
            scores, chunks, documents = self._scores[at][admitted], chunks[admitted], documents[admitted]
            order = np.lexsort((chunks, -scores))
            documents, first = np.unique(documents[order], return_index=True)
            if len(documents) >= limit or take >= len(self._scores):
                break
            take *= WIDENING
        first = order[first]
        last = np.lexsort((documents, -scores[first]))[:limit]
        return Candidates(documents[last], chunks[first][last], scores[first][last])

    def _top(self, take: int) -> Places:
        """Returns the positions of the best ``take`` positive scores and of all ties with the last one."""
        at = at_least(self._scores, take)
        return at[self._scores[at] > 0.0]

    def _looked_up(self, at: Places) -> tuple[Keys, Keys, Mask]:
        """Returns the chunk and document of each position, and a mask of the admitted ones."""
        ends = np.searchsorted(at, self._starts)
        chunks, documents = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        known = np.empty(len(at), np.int32)
        for number, part in enumerate(self._parts):
            of_part = slice(ends[number], ends[number + 1])
            places = at[of_part] - self._starts[number]
            chunks[of_part] = part.rows.chunks[places]
            documents[of_part] = part.rows.documents[places]
            known[of_part] = part.at[places]
        return chunks, documents, self._admits(documents, known)


def scored(terms: Sequence[str], matches: Sequence[Matches], weights: dict[str, float], admits: Admits) -> Scored:
    """Scores every living chunk. A repeated term counts each time."""
    average = average_length(matches)
    scores = [_scores(terms, one, weights, average) for one in matches]
    return Scored([one.part for one in matches], scores, admits)


def _scores(terms: Sequence[str], one: Matches, weights: dict[str, float], average: float) -> Scores:
    """Returns the scores of one segment, (size or less,)."""
    postings = [(weights[term], *one.postings[term]) for term in terms if term in one.postings]
    if not postings or not average:  # Without living chunks there is no average length.
        return np.empty(0)
    slope, base = SATURATION * LENGTH_SHARE / average, SATURATION * (1 - LENGTH_SHARE)
    places = np.concatenate([places for _, places, _ in postings]).astype(np.intp, copy=False)
    scores = np.concatenate([counts for _, _, counts in postings]) * 0.5
    scores /= (one.part.rows.lengths * slope + base).take(places) + scores
    start = 0
    for weight, of_term, _ in postings:
        stop = start + len(of_term)
        scores[start:stop] *= weight * (SATURATION + 1)
        start = stop
    scores = np.bincount(places, scores).astype(np.float64, copy=False)
    if one.living.dead is not None:
        scores[one.living.dead[: len(scores)]] = 0.0
    return scores


class Postings:
    """BM25 scores equal to those of ``Fts5``, except for terms that occur more than 127 times in a chunk. It needs a
    SQL store.

    A search inside a transaction loads the whole index again, because its uncommitted state must not be shared."""

    name = "postings"

    def __init__(self, sizes: Sizes | None = None) -> None:
        self._state: IndexSnapshot | None = None
        self._following = Lock()
        self._compaction = Compaction(sizes or Sizes())

    # writing

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        unit = sql.require_transaction(tx)
        for entry in entries:
            fresh = count_terms(entry)
            # Most chunks are new, and then one statement is enough.
            if _add(unit, fresh):
                continue
            ((slot, *known),) = run(unit, "of_chunk", chunk=fresh.chunk)
            if tuple(known) != (fresh.document, fresh.length, fresh.terms, fresh.counts):
                _drop(unit, slot)
                _add(unit, fresh)

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        unit = sql.require_transaction(tx)
        for chunk in chunks:
            for row in run(unit, "of_chunk", chunk=chunk):
                _drop(unit, row[0])

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        self.remove(tx, chunks)
        compaction.request_purge(sql.require_transaction(tx))

    def is_purged(self, view: View) -> bool:
        return compaction.is_purged(sql.require_view(view))

    def purge_step(self, tx: Transaction) -> None:
        compaction.purge_step(sql.require_transaction(tx))

    def compact(self, store: MemoryStore) -> bool:
        with store.read() as view:
            snapshot = sql.require_view(view)
            self._as_of(snapshot, sql.now(snapshot)).documents.survey(snapshot)
        return self._compaction.step(store)

    def clear(self, tx: Transaction) -> None:
        compaction.clear(sql.require_transaction(tx))

    # comparing

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        found = run(sql.require_view(view), "missing", after=after, limit=limit)
        return [DocumentKey(row[0]) for row in found]

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        return [ChunkKey(row[0]) for row in run(sql.require_view(view), "strays", limit=limit)]

    # searching

    def load(self, view: View) -> None:
        snapshot = sql.require_view(view)
        self._as_of(snapshot, sql.now(snapshot))

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        if not terms or limit < 1:
            return Candidates.of(())
        snapshot = sql.require_view(view)
        now = sql.now(snapshot)
        state = self._as_of(snapshot, now)
        matches = state.matches(snapshot, terms, now)
        weights = rarities(terms, matches)
        found = scored(terms, matches, weights, state.admission(snapshot, where, now))
        while True:
            best = found.best(limit)
            gone = self._gone(snapshot, state, best)
            if not gone:
                return Candidates(best.documents, best.chunks, best.scores, weights)
            found.drop(gone)

    @staticmethod
    def _gone(view: SqlView, state: IndexSnapshot, found: Candidates) -> Sequence[int]:
        """Returns the chunks that no longer exist although their terms do: the store decides."""
        doubtful = state.documents.may_have_lost(found.documents)
        if not doubtful:
            return ()
        return [row[0] for row in run(view, "gone", chunks=view.array(found.chunks[doubtful].tolist()))]

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        snapshot = sql.require_view(view)
        now = sql.now(snapshot)
        return rarities(terms, self._as_of(snapshot, now).matches(snapshot, terms, now))

    def _as_of(self, view: SqlView, now: Now) -> IndexSnapshot:
        if isinstance(view, SqlTransaction):
            return IndexSnapshot.loaded(view, now)
        state = self._state
        if state is None or state.now != now:
            with self._following:
                state = self._state
                if state is None or state.now.incarnation != now.incarnation:
                    state = self._state = IndexSnapshot.loaded(view, now)
                elif now.generation < state.now.generation:
                    return state.older(view, now)
                elif _is_newer(now, state.now):
                    state = self._state = state.followed(view, now)
        return state


def _is_newer(one: Now, other: Now) -> bool:
    ours = one.changes.number, one.rows.number, one.drops.number, one.generation
    theirs = other.changes.number, other.rows.number, other.drops.number, other.generation
    return ours != theirs and ours[0] >= theirs[0] and ours[2] >= theirs[2] and ours[3] >= theirs[3]


def _add(unit: SqlTransaction, fresh: Counted) -> bool:
    """Indexes a chunk; returns False if it is indexed already."""
    params = {"chunk": fresh.chunk, "document": fresh.document, "length": fresh.length}
    return bool(run(unit, "put", terms=fresh.terms, counts=fresh.counts, **params))


def _drop(unit: SqlTransaction, slot: int) -> None:
    number = run(unit, "drop", slot=slot)[0][0]
    run(unit, "mark_dropped", number=number, slot=slot)
