"""Compaction and purging, in short steps between the calls.

Compaction turns the newest chunks into segments, and small segments into larger ones. A step prepares its writes on a
snapshot. A segment is filled term by term before it is searched, and its row records the progress, so a killed process
continues where it stopped. One transaction activates it in place of its sources, which are emptied afterwards.

Purging erases dropped chunks from the postings, guided by their own terms, and from the table of terms.
"""

import json
from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log

import numpy as np

from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.sql import EMPTYING, FILLING, SEARCHED, Keys, Now, Rows, Segment, split_terms
from hivelore.storage.ports import MemoryStore
from hivelore.storage.sql.view import SqlTransaction, SqlView

Posting = tuple[str, bytes, bytes]
"""A term with its positions and counts."""

SWEEP = "postings.sweep"
"""The setting that is set while rows of dropped chunks may exist that no segment contains."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the steps; the defaults keep the writer busy for about 10 ms."""

    newest: int = 1_000
    """Chunks in the memtable that make a new segment."""
    segment: int = 4_000
    """The most chunks that become one segment."""
    alike: int = 4
    """Number of segments of similar size that are merged into one."""
    sparse: float = 0.25
    """A segment with a greater share of dropped chunks is rewritten."""
    postings: int = 1_000
    """Postings that are written or deleted in one transaction."""
    size: int = 500_000
    """Bytes of positions that are written in one transaction."""


class Compaction:
    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._inverted: tuple[Hashable, list[Posting]] | None = None
        """All postings, by term, of the segment that is filled from rows of terms."""
        self._moved: tuple[Hashable, Mapping[int, Keys]] | None = None
        """Positions of the rows of each source in the merged segment."""

    def step(self, store: MemoryStore) -> bool:
        """Does one step; returns False if there was nothing to do."""
        with store.read() as view:
            work = self._next(sql.require_view(view))
        if work is None:
            return False
        store.write(lambda tx: work.do(sql.require_transaction(tx)))
        return True

    def _next(self, view: SqlView) -> "Work | None":
        now, segments = sql.now(view), sql.read_segments(view)
        filling = [one for one in segments if one.state == FILLING]
        searched = [one for one in segments if one.state == SEARCHED]
        emptying = [one for one in segments if one.state == EMPTYING]
        for one in filling:
            if not one.sources:
                return self._fill(one, now, self._from_terms(view, one, now))
        newest = self._newest(view, max((one.last for one in searched), default=0), sql.settled_number(view, now.rows))
        if newest is not None:
            return newest
        for one in filling:
            return self._fill(one, now, self._from_segments(view, one, now))
        if emptying:
            return _empty(view, emptying, self._sizes.postings)
        if view.setting(SWEEP):
            return _sweep(view, segments, self._sizes.postings)
        return self._merge(view, searched)

    # beginning

    def _newest(self, view: SqlView, last: int, settled: int) -> "Work | None":
        """``settled``: no more rows of terms with a number up to this can appear."""
        if sql.run(view, "count_newest", after=last, settled=settled)[0][0] < self._sizes.newest:
            return None
        found = sql.run(view, "oldest_of_newest", after=last, settled=settled, limit=self._sizes.segment)
        rows = Rows.of([row[:4] for row in found if not row[4]])
        return Begin(rows, last + 1, max(row[5] for row in found), (), left=len(found) > len(rows))

    def _merge(self, view: SqlView, searched: Sequence[Segment]) -> "Work | None":
        tiers: dict[int, list[Segment]] = {}
        for one in searched:
            tier = int(log(max(one.chunks / self._sizes.newest, 1.0), self._sizes.alike) + 1e-9)
            tiers.setdefault(tier, []).append(one)
        for _, alike in sorted(tiers.items()):
            if len(alike) >= self._sizes.alike:
                return _merging(view, alike[: self._sizes.alike])
        for one in searched:
            if self._is_sparse(view, one):
                return _merging(view, [one])
        return None

    def _is_sparse(self, view: SqlView, segment: Segment) -> bool:
        limit = self._sizes.sparse * segment.chunks
        span = {"first": segment.first, "last": segment.last}
        if sql.run(view, "count_dropped", **span)[0][0] <= limit:
            return False
        _, dropped = sql.split_drops(sql.run(view, "drops_between", **span))
        _, here = sql.read_rows(view, segment.key).places(dropped)
        return int(np.count_nonzero(here)) > limit

    # filling

    def _fill(self, segment: Segment, now: Now, postings: Iterator[Posting]) -> "Work":
        some: list[Posting] = []
        size = 0
        for one in islice(postings, self._sizes.postings):
            some.append(one)
            size += len(one[1])
            if size > self._sizes.size:
                break
        return Fill(segment, now.generation, some) if some else SwitchOn(segment)

    def _from_terms(self, view: SqlView, segment: Segment, now: Now) -> Iterator[Posting]:
        """Yields the postings behind ``segment.upto``."""
        of = segment.key, now.generation, now.incarnation
        if self._inverted is None or self._inverted[0] != of:
            self._inverted = of, _inverted(view, segment)
        return (one for one in self._inverted[1] if one[0] > segment.upto)

    def _from_segments(self, view: SqlView, segment: Segment, now: Now) -> Iterator[Posting]:
        of = segment.key, now.incarnation
        if self._moved is None or self._moved[0] != of:
            slots = sql.read_rows(view, segment.key).slots
            self._moved = of, {source: _moved(sql.read_rows(view, source), slots) for source in segment.sources}
        limit = max(self._sizes.postings, self._sizes.alike + 1)
        found = sql.run(view, "postings_behind", upto=segment.upto, segments=view.array(segment.sources), limit=limit)
        if len(found) == limit:  # the last term may have more
            found = [row for row in found if row[0] != found[-1][0]]
        return _merged(found, self._moved[1])


# The writes of a step.


@dataclass(frozen=True, slots=True)
class Begin:
    """Creates a segment to be filled."""

    rows: Rows
    first: int
    last: int
    sources: tuple[int, ...]
    left: bool
    """True if dropped chunks are left out."""

    def do(self, unit: SqlTransaction) -> None:
        unit.claim(b"postings.segments")
        segments = sql.read_segments(unit)
        searched = {one.key: one for one in segments if one.state == SEARCHED}
        if any(one.state == FILLING and bool(one.sources) == bool(self.sources) for one in segments):
            return
        if not set(self.sources) <= set(searched):
            return
        if not self.sources and self.first != max((one.last for one in searched.values()), default=0) + 1:
            return
        span = {"first": self.first, "last": self.last, "count": len(self.rows)}
        key = sql.run(unit, "segment_begin", sources=json.dumps(self.sources), **span)[0][0]
        slots, chunks, documents, lengths = self.rows.blobs()
        columns = {"slots": slots, "chunks": chunks, "documents": documents, "lengths": lengths}
        sql.run(unit, "segment_rows_put", segment=key, **columns)
        if self.left:
            unit.set_setting(SWEEP, "after")


@dataclass(frozen=True, slots=True)
class Fill:
    segment: Segment
    generation: int
    """Postings read in an earlier generation may contain purged words."""
    postings: list[Posting]

    def do(self, unit: SqlTransaction) -> None:
        if self.segment not in sql.read_segments(unit) or sql.now(unit).generation != self.generation:
            return
        key = self.segment.key
        each = [
            {"term": term, "segment": key, "places": places, "counts": counts}
            for term, places, counts in self.postings
            if counts
        ]
        sql.run_each(unit, "posting_put", each)
        sql.run(unit, "segment_upto", segment=self.segment.key, upto=self.postings[-1][0])


@dataclass(frozen=True, slots=True)
class SwitchOn:
    segment: Segment

    def do(self, unit: SqlTransaction) -> None:
        if self.segment not in sql.read_segments(unit):
            return
        sql.run(unit, "segment_state", segment=self.segment.key, state=SEARCHED)
        for source in self.segment.sources:
            sql.run(unit, "segment_state", segment=source, state=EMPTYING)
        sql.advance_generation(unit)


@dataclass(frozen=True, slots=True)
class Empty:
    segments: tuple[Segment, ...]
    postings: list[tuple[str, int]]

    def do(self, unit: SqlTransaction) -> None:
        each = [{"term": term, "segment": segment} for term, segment in self.postings]
        sql.run_each(unit, "posting_delete", each)
        for one in self.segments:
            if self.postings:
                sql.run(unit, "segment_upto", segment=one.key, upto=self.postings[-1][0])
            else:
                sql.run(unit, "segment_delete", segment=one.key)
                sql.run(unit, "segment_rows_delete", segment=one.key)


@dataclass(frozen=True, slots=True)
class Sweep:
    slots: list[int]

    def do(self, unit: SqlTransaction) -> None:
        each = [{"slot": slot} for slot in self.slots]
        sql.run_each(unit, "terms_delete", each)
        sql.run_each(unit, "drop_delete", each)
        if not self.slots:
            unit.set_setting(SWEEP, "")


Work = Begin | Fill | SwitchOn | Empty | Sweep


def empty_some(unit: SqlTransaction, limit: int) -> bool:
    """Continues emptying inactive segments; returns False if there is none."""
    emptying = [one for one in sql.read_segments(unit) if one.state == EMPTYING]
    if emptying:
        _empty(unit, emptying, limit).do(unit)
    return bool(emptying)


def _empty(view: SqlView, emptying: Sequence[Segment], limit: int) -> Empty:
    upto = min(one.upto for one in emptying)
    group = tuple(one for one in emptying if one.upto == upto)
    found = sql.run(view, "terms_behind", upto=upto, segments=view.array([one.key for one in group]), limit=limit)
    if len(found) == limit and found[0][0] != found[-1][0]:  # the last term may have more
        found = [row for row in found if row[0] != found[-1][0]]
    return Empty(group, [(term, segment) for term, segment in found])


def _sweep(view: SqlView, segments: Sequence[Segment], limit: int) -> Sweep:
    """Finds drops of chunks that are in no segment. The newest drop stays: readers use it as their position."""
    last = max((one.last for one in segments if one.state == SEARCHED), default=0)
    mine = np.array([row[0] for row in sql.run(view, "drops_behind_us", last=last)], np.int64)
    held = [sql.read_rows(view, one.key).slots for one in segments]
    return Sweep(mine[~np.isin(mine, np.concatenate([np.empty(0, np.int64), *held]))][:limit].tolist())


def _merging(view: SqlView, sources: Sequence[Segment]) -> Begin:
    joined = Rows.of([]).joined(*(sql.read_rows(view, one.key) for one in sources)).by_slot()
    first, last = min(one.first for one in sources), max(one.last for one in sources)
    _, dropped = sql.split_drops(sql.run(view, "drops_between", first=first, last=last))
    rows = joined.take(~np.isin(joined.slots, dropped))
    keys = tuple(one.key for one in sources)
    return Begin(rows, first, last, keys, left=len(rows) < len(joined))


def _merged(found: Sequence[tuple[str, int, bytes, bytes]], moved: Mapping[int, Keys]) -> Iterator[Posting]:
    """Merges the postings of the sources by term. A term whose chunks are all left out has no positions."""
    if not found:
        return
    terms = list(dict.fromkeys(row[0] for row in found))
    number_of = {term: number for number, term in enumerate(terms)}
    places = np.concatenate([moved[source][np.frombuffer(blob, "<u4")] for _, source, blob, _ in found])
    counts = np.frombuffer(b"".join(row[3] for row in found), np.uint8)
    numbers = np.repeat([number_of[row[0]] for row in found], [len(row[3]) for row in found])
    order = np.lexsort((places, numbers))
    order = order[(places[order] >= 0) & (counts[order] > 0)]
    bounds = np.searchsorted(numbers[order], np.arange(len(terms) + 1)).tolist()
    all_places, all_counts = places[order].astype("<u4").tobytes(), counts[order].tobytes()
    for term, start, stop in zip(terms, bounds[:-1], bounds[1:], strict=True):
        yield term, all_places[4 * start : 4 * stop], all_counts[start:stop]


def _moved(rows: Rows, slots: Keys) -> Keys:
    """Returns the new position of each row among ``slots``, -1 for rows that are left out."""
    if not len(slots):
        return np.full(len(rows), -1, np.int64)
    at = np.minimum(np.searchsorted(slots, rows.slots), len(slots) - 1)
    return np.where(slots[at] == rows.slots, at, -1)


def _inverted(view: SqlView, segment: Segment) -> list[Posting]:
    place_of = {slot: place for place, slot in enumerate(sql.read_rows(view, segment.key).slots.tolist())}
    postings: dict[str, tuple[array[int], bytearray]] = {}
    for slot, terms, counts in sql.run(view, "in_span", first=segment.first, last=segment.last):
        place = place_of.get(slot)
        if place is None:
            continue
        for term, count in zip(split_terms(terms), counts, strict=True):
            known = postings.setdefault(term, (array("I"), bytearray()))
            known[0].append(place)
            known[1].append(count)
    return [(term, places.tobytes(), bytes(counts)) for term, (places, counts) in sorted(postings.items())]


_PURGING = "postings.wiping"
"""The setting that is set while there is something to purge."""

CHUNKS = 1
"""Chunks purged in one step."""
POSTINGS = 500
"""Postings of inactive segments deleted in one step."""


def request_purge(unit: SqlTransaction) -> None:
    unit.set_setting(_PURGING, "asked")


def is_purged(view: SqlView) -> bool:
    return not view.setting(_PURGING)


def purge_step(unit: SqlTransaction) -> None:
    """Continues purging. A dropped chunk keeps its position in its segment, so nothing is renumbered."""
    if is_purged(unit) or empty_some(unit, POSTINGS):
        return
    dropped = sql.run(unit, "to_wipe", limit=CHUNKS)
    if not dropped:
        unit.set_setting(_PURGING, "")
        return
    slots = np.array([slot for slot, _ in dropped], np.int64)
    for segment in sql.read_segments(unit):
        places, here = sql.read_rows(unit, segment.key).places(slots)
        terms = [split_terms(row[1]) for row in dropped]
        _remove_terms(unit, segment.key, {int(place): terms[at] for at, place in enumerate(places) if here[at]})
        if segment.state == sql.FILLING:
            _reset_progress(unit, segment)
    for slot in slots.tolist():
        sql.run(unit, "terms_delete", slot=slot)
    # Prepared writes may contain these terms, and cached snapshots contain the deleted rows.
    sql.advance_generation(unit)


def _reset_progress(unit: SqlTransaction, segment: sql.Segment) -> None:
    """Moves the progress of filling, which is a term, to the previous term if that term was purged."""
    if segment.upto and not sql.run(unit, "posting_of", term=segment.upto, segment=segment.key):
        before = sql.run(unit, "term_before", upto=segment.upto, segment=segment.key)
        sql.run(unit, "segment_upto", segment=segment.key, upto=before[0][0] if before else "")


def clear(unit: SqlTransaction) -> None:
    """Removes everything except the newest drop, which readers use as their position."""
    for statement in ("clear_postings", "clear_segments", "clear_segment_rows", "clear_terms", "clear_drops"):
        sql.run(unit, statement)
    for setting in (_PURGING, SWEEP):
        unit.set_setting(setting, "")
    sql.advance_generation(unit)


def _remove_terms(unit: SqlTransaction, segment: int, terms_at: dict[int, Sequence[str]]) -> None:
    places_of: dict[str, list[int]] = {}
    for place, terms in terms_at.items():
        for term in terms:
            places_of.setdefault(term, []).append(place)
    for term, gone in places_of.items():
        for row in sql.run(unit, "posting_of", term=term, segment=segment):
            places, counts = np.frombuffer(row[0], "<u4").copy(), np.frombuffer(row[1], np.uint8).copy()
            counts[np.isin(places, gone)] = 0
            stay = np.flatnonzero(counts)
            if len(stay):
                away = np.flatnonzero(counts == 0)
                places[away] = places[stay[np.minimum(np.searchsorted(stay, away), len(stay) - 1)]]
                params = {"places": places.tobytes(), "counts": counts.tobytes()}
                sql.run(unit, "posting_change", term=term, segment=segment, **params)
            else:
                sql.run(unit, "posting_delete", term=term, segment=segment)
