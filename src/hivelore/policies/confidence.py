"""How sure something is: what time takes of it (C14, C37).

A confidence is never written down as time wears it off: it is computed from what it was when it was last observed. So
it is the same however often and whenever it is asked for (X17). What it was then follows from all that was observed
(``policies.replay``).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hivelore.domain.observed import Point, State
from hivelore.domain.operational import Confidence, Operational

WEEK = timedelta(days=7)
_DECIMALS = 9
"""0.2 + 0.1 is not 0.3 in floats, and a threshold is to be met to the letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    default: float = 0.7
    reinforcement: float = 0.1
    contradiction: float = 0.2
    threshold: float = 0.3
    """What is less sure is inactive: kept, and not told."""
    grace: timedelta = timedelta(days=30)
    """So long nothing is worn off after an observation."""
    decay: float = 0.1
    """What a week takes after that."""


def clamped(value: float) -> Confidence:
    """Within 0 to 1; what is no number is as good as nothing."""
    return Confidence(round(min(max(value, 0.0), 1.0), _DECIMALS)) if value == value else Confidence(0.0)


def confidence_at(known: Operational, now: datetime, lifecycle: Lifecycle) -> Confidence:
    """How sure it is at a time. A time before the last observation is as that."""
    held = known.held
    stale = now - held.since - lifecycle.grace
    if known.persistent or stale <= timedelta():
        return held.base
    return clamped(held.base - lifecycle.decay * (stale / WEEK))


def is_active(known: Operational, now: datetime, lifecycle: Lifecycle) -> bool:
    return not known.held.is_off and confidence_at(known, now, lifecycle) >= lifecycle.threshold


def line(known: Operational, since: datetime, until: datetime, lifecycle: Lifecycle) -> list[Point]:
    """How sure it is while nothing is observed, without the beginning: at the end, and before it where the line bends
    or it becomes inactive."""
    between = [at for at in _bends(known, until, lifecycle) if since < at < until]
    return [point(known, at, lifecycle) for at in (*between, until)]


def point(known: Operational, at: datetime, lifecycle: Lifecycle) -> Point:
    state = State.ACTIVE if is_active(known, at, lifecycle) else State.INACTIVE
    return Point(at, confidence_at(known, at, lifecycle), state)


def _bends(known: Operational, until: datetime, lifecycle: Lifecycle) -> list[datetime]:
    """When time begins to wear it off, has brought it down to the threshold, and to nothing; none that is later."""
    if known.persistent or not lifecycle.decay:
        return []
    base, worn_from = known.held.base, known.held.since + lifecycle.grace
    losses = sorted({0.0, base - lifecycle.threshold, base})
    weeks = [loss / lifecycle.decay for loss in losses if loss >= 0.0]
    return [worn_from + WEEK * one for one in weeks if one <= (until - worn_from) / WEEK]
