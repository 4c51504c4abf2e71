"""How sure something is: what observations add and take, and what time takes (C11, C12, C14, C37).

A confidence is never written down as time wears it off: it is computed from what it was when it was last observed. So
it is the same however often and whenever it is asked for (X17). What it was then follows from all that was observed, by
when it was seen: what arrives late changes nothing of what an operator has said since.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hivelore.domain.observed import Point, State
from hivelore.domain.operational import Confidence, Held, Kind, Observation, Operational

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An observation, and what it changed."""

    seen: Observation
    since: datetime
    """When something was observed before it."""
    at: datetime
    """From when it counts: what was seen before the memory was created counts from then."""
    before: Operational | None
    """None: it was created."""
    after: Operational


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


def after(known: Operational, seen: Observation, lifecycle: Lifecycle) -> Operational:
    """What is known once something was observed; not before what was observed last. What is inactive comes back by
    being seen again, or by what an operator says."""
    held = known.held
    match seen.kind:
        case Kind.CREATED | Kind.SET:
            assert seen.to is not None
            held = Held(base=seen.to, since=seen.at)
        case Kind.REINFORCED:
            sure = float(confidence_at(known, seen.at, lifecycle))
            if not is_active(known, seen.at, lifecycle):
                sure = max(sure, lifecycle.threshold - lifecycle.reinforcement)
            held = Held(base=clamped(sure + lifecycle.reinforcement), since=seen.at)
        case Kind.CONTRADICTED:
            # Nothing was confirmed: what time takes it goes on taking from when it was.
            held = replace(held, base=clamped(held.base - lifecycle.contradiction))
        case Kind.SWITCHED_OFF:
            held = replace(held, is_off=True)
        case Kind.MADE_PERSISTENT | Kind.MADE_PASSING:
            return replace(known, persistent=seen.kind is Kind.MADE_PERSISTENT)
    return replace(known, held=held)


def replayed(known: Operational, seen: Iterable[Observation], lifecycle: Lifecycle) -> Iterator[Step]:
    """What the observations of a memory come to, one after the other, by their times, whatever the order they arrived
    in. The first is that it was created, and what is known of it but for ``held`` counts."""
    told = sorted(seen, key=lambda one: (one.kind is not Kind.CREATED, one.at))
    known = replace(known, persistent=_began_persistent(known, told))
    step: Step | None = None
    for one in told:
        at = max(one.at, told[0].at)
        known = after(known, replace(one, at=at), lifecycle)
        before, since = (None, at) if step is None else (step.after, step.at)
        step = Step(seen=one, since=since, at=at, before=before, after=known)
        yield step


def _began_persistent(known: Operational, told: Sequence[Observation]) -> bool:
    changes = (one.kind for one in told if one.kind in (Kind.MADE_PERSISTENT, Kind.MADE_PASSING))
    first = next(changes, None)
    return known.persistent if first is None else first is Kind.MADE_PASSING


def drawn(step: Step, lifecycle: Lifecycle) -> list[Point]:
    """The line of its confidence from the observation before this one on: up to this one, and right after it."""
    if step.before is None:
        return [point(step.after, step.at, lifecycle)]
    return [*line(step.before, step.since, step.at, lifecycle), point(step.after, step.at, lifecycle)]


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
