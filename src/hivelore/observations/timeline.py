"""Confidence timeline: the observations of a memory, in pages, with its confidence over time."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

from hivelore.memories.model import Memory
from hivelore.observations.confidence import Lifecycle, decay_points, replay, step_points
from hivelore.observations.model import Observation
from hivelore.observations.outcomes import ConfidenceTimeline


def build_timeline(
    memory: Memory,
    seen: Iterable[Observation],
    after: tuple[datetime, int] | None,
    limit: int,
    now: datetime,
    lifecycle: Lifecycle,
) -> ConfidenceTimeline:
    """Returns a page of the timeline until ``now``. ``after``: an instant and the number of its observations already
    read."""
    known = memory.operational
    assert known is not None
    told = list(replay(known, seen, lifecycle))
    places = _positions([one.at for one in told])
    first = 0 if after is None else bisect_right(places, after)
    page, is_last = told[first : first + limit], first + limit >= len(told)
    points = [one for step in page for one in step_points(step, lifecycle)]
    if is_last:
        points += decay_points(known, told[-1].at, now, lifecycle)
    return ConfidenceTimeline(
        memory=memory,
        observations=tuple(one.observation for one in page),
        timeline=tuple(points),
        next=None if is_last else _format_position(places[first + limit - 1]),
    )


def _positions(times: Sequence[datetime]) -> list[tuple[datetime, int]]:
    """Numbers the entries of equal time."""
    return [(at, number) for at, some in groupby(times) for number, _ in enumerate(some, 1)]


def _format_position(place: tuple[datetime, int]) -> str:
    at, number = place
    return f"{at.isoformat()}~{number}"
