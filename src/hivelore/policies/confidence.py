"""How sure something is: what observations add and take, and what time takes (C11, C12, C14, C37).

A confidence is never written down as time wears it off: it is computed from what it was when it was last observed. So
it is the same however often and whenever it is asked for (X17).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

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


def after(known: Operational, seen: Observation, lifecycle: Lifecycle) -> Held:
    """How sure it is once something was observed; not before what was observed last. What is inactive comes back by
    being seen again, or by what an operator says."""
    held = known.held
    match seen.kind:
        case Kind.CREATED | Kind.SET:
            assert seen.to is not None
            return Held(base=seen.to, since=seen.at)
        case Kind.REINFORCED:
            sure = float(confidence_at(known, seen.at, lifecycle))
            if not is_active(known, seen.at, lifecycle):
                sure = max(sure, lifecycle.threshold - lifecycle.reinforcement)
            return Held(base=clamped(sure + lifecycle.reinforcement), since=max(seen.at, held.since))
        case Kind.CONTRADICTED:
            # Nothing was confirmed: what time takes it goes on taking from when it was.
            return replace(held, base=clamped(held.base - lifecycle.contradiction))
        case Kind.SWITCHED_OFF:
            return replace(held, is_off=True)


def replayed(
    known: Operational, seen: Sequence[Observation], lifecycle: Lifecycle
) -> Iterator[tuple[Observation, Held]]:
    """What the observations of a memory come to, one after the other, by their times, whatever the order they arrived
    in. The first is that it was created, and what is known of it but for ``held`` counts."""
    for one in sorted(seen, key=lambda one: (one.kind is not Kind.CREATED, one.at)):
        known = replace(known, held=after(known, one, lifecycle))
        yield one, known.held
