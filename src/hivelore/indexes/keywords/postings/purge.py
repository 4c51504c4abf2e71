"""Wiping what was dropped: out of the postings, where its own terms say which, and from the table of terms."""

from collections.abc import Sequence

import numpy as np

from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.compaction import SWEEP, empty_some
from hivelore.indexes.keywords.postings.terms import each
from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.view import SqlView

_WIPING = "postings.wiping"
"""The setting that says whether there is something to wipe."""

CHUNKS = 1
"""Wiped in one step."""
POSTINGS = 500
"""Of segments that are switched off, deleted in one step."""


def ask_for(unit: SqlTransaction) -> None:
    unit.set_setting(_WIPING, "asked")


def is_done(view: SqlView) -> bool:
    return not view.setting(_WIPING)


def step(unit: SqlTransaction) -> None:
    """Go on wiping. What was dropped keeps its place in its segment, so nobody has to count anew."""
    if is_done(unit) or empty_some(unit, POSTINGS):
        return
    dropped = sql.ask(unit, "to_wipe", limit=CHUNKS)
    if not dropped:
        unit.set_setting(_WIPING, "")
        return
    slots = np.array([slot for slot, _ in dropped], np.int64)
    for segment in sql.segments(unit):
        places, here = sql.rows_of(unit, segment.key).places(slots)
        terms = [each(row[1]) for row in dropped]
        _take_out(unit, segment.key, {int(place): terms[at] for at, place in enumerate(places) if here[at]})
        if segment.state == sql.FILLING:
            _step_back(unit, segment)
    for slot in slots.tolist():
        sql.ask(unit, "terms_delete", slot=slot)
    # What was prepared before may hold these terms, and older snapshots have the rows that are gone now.
    sql.next_generation(unit)


def _step_back(unit: SqlTransaction, segment: sql.Segment) -> None:
    """How far filling came is said by a term, which may be one that is wiped now: then by the one before it."""
    if segment.upto and not sql.ask(unit, "posting_of", term=segment.upto, segment=segment.key):
        before = sql.ask(unit, "term_before", upto=segment.upto, segment=segment.key)
        sql.ask(unit, "segment_upto", segment=segment.key, upto=before[0][0] if before else "")


def clear(unit: SqlTransaction) -> None:
    """Remove everything but the newest drop, which tells that nothing was dropped since."""
    for statement in ("clear_postings", "clear_segments", "clear_segment_rows", "clear_terms", "clear_drops"):
        sql.ask(unit, statement)
    for setting in (_WIPING, SWEEP):
        unit.set_setting(setting, "")
    sql.next_generation(unit)


def _take_out(unit: SqlTransaction, segment: int, terms_at: dict[int, Sequence[str]]) -> None:
    places_of: dict[str, list[int]] = {}
    for place, terms in terms_at.items():
        for term in terms:
            places_of.setdefault(term, []).append(place)
    for term, gone in places_of.items():
        for row in sql.ask(unit, "posting_of", term=term, segment=segment):
            places, counts = np.frombuffer(row[0], "<u4").copy(), np.frombuffer(row[1], np.uint8).copy()
            counts[np.isin(places, gone)] = 0
            stay = np.flatnonzero(counts)
            if len(stay):
                away = np.flatnonzero(counts == 0)
                places[away] = places[stay[np.minimum(np.searchsorted(stay, away), len(stay) - 1)]]
                params = {"places": places.tobytes(), "counts": counts.tobytes()}
                sql.ask(unit, "posting_change", term=term, segment=segment, **params)
            else:
                sql.ask(unit, "posting_delete", term=term, segment=segment)
