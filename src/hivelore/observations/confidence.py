"""How sure something is: what time takes of it (C14, C37).

A confidence is never written down as time wears it off: it is computed from what it was when it was last observed. So
it is the same however often and whenever it is asked for (X17). What it was then follows from all that was observed
(``observations.confidence``).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.observations.model import Confidence, Held, Observation, ObservationKind, Operational
from hivelore.observations.outcomes import Point, State

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


Observer = tuple[AgentId, Clean | None]
Order = tuple[datetime, str, str, str]
SEEN = (ObservationKind.CREATED, ObservationKind.REINFORCED)
"""The kinds of observations that say that it is so."""
OBSERVED = (*SEEN, ObservationKind.CONTRADICTED)
"""The kinds that agents report; all others are decisions about a memory."""


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


def order_of(seen: Observation) -> Order:
    """The place of an observation among all of its service and category; two with the same one are the same."""
    return seen.at, seen.text or "", seen.actor or "", seen.session or ""


def replayed(known: Operational, seen: Iterable[Observation], lifecycle: Lifecycle) -> Iterator[Step]:
    """The observations of a memory, one after the other by their times, with what each of them changes. The first is
    that it was created, and what is known of it but for ``held`` counts."""
    told = sorted(seen, key=_place)
    known = replace(known, persistent=_began_persistent(known, told))
    voices = _Voices(told[0].actor if told else None)
    step: Step | None = None
    for one in told:
        at = max(one.at, told[0].at)
        known = voices.after(known, replace(one, at=at), lifecycle)
        before, since = (None, at) if step is None else (step.after, step.at)
        step = Step(seen=one, since=since, at=at, before=before, after=known)
        yield step


def after(known: Operational, seen: Observation, lifecycle: Lifecycle) -> Operational:
    """What is known once something was observed by somebody who had not observed it before; not before what was
    observed last."""
    return _Voices(None).after(known, seen, lifecycle)


def is_heard(earlier: Iterable[Observation], seen: Observation, owner: AgentId | None) -> bool:
    """Whether who has seen this had seen it before. ``owner``: who saw it first."""
    who = _observer(seen, owner)
    return who is not None and any(_observer(one, owner) == who for one in earlier if one.kind in SEEN)


def drawn(step: Step, lifecycle: Lifecycle) -> list[Point]:
    """The line of its confidence from the observation before this one on: up to this one, and right after it."""
    if step.before is None:
        return [point(step.after, step.at, lifecycle)]
    return [*line(step.before, step.since, step.at, lifecycle), point(step.after, step.at, lifecycle)]


@dataclass(slots=True)
class _Voices:
    """Who has said what of a memory so far."""

    owner: AgentId | None
    """Who saw it first; None: an operator."""
    heard: dict[Observer, tuple[ObservationKind, float]] = field(
        default_factory=dict[Observer, tuple[ObservationKind, float]]
    )
    """What an observer said last, and how much the confidence owes to it."""
    supporters: set[AgentId] = field(default_factory=set[AgentId])
    opponents: set[AgentId] = field(default_factory=set[AgentId])
    """Since it was inactive the last time."""

    def after(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Operational:
        """What is inactive comes back by being seen again, or by what an operator says."""
        held = known.held
        match seen.kind:
            case ObservationKind.CREATED:
                assert seen.to is not None
                self._support(seen, 0.0)
                held = Held(base=seen.to, since=seen.at)
            case ObservationKind.REINFORCED:
                held = self._reinforced(known, seen, lifecycle)
            case ObservationKind.CONTRADICTED:
                held = self._contradicted(known, seen, lifecycle)
            case ObservationKind.DISPROVED:
                held = replace(held, base=clamped(held.base - lifecycle.contradiction))
            case ObservationKind.SET:
                assert seen.to is not None
                held = Held(base=seen.to, since=seen.at)
            case ObservationKind.SWITCHED_OFF:
                held = replace(held, is_off=True)
            case ObservationKind.MADE_PERSISTENT | ObservationKind.MADE_PASSING:
                return replace(known, persistent=seen.kind is ObservationKind.MADE_PERSISTENT)
        return replace(known, held=held)

    def _reinforced(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Held:
        who = _observer(seen, self.owner)
        said, owed = (None, 0.0) if who is None else self.heard.get(who, (None, 0.0))
        worth = owed if said in SEEN else lifecycle.reinforcement
        sure = clamped(confidence_at(known, seen.at, lifecycle) + worth - owed)
        # What time took is given back as far as one that is new goes: to have been seen earlier, too, lowers nothing.
        sure = clamped(max(sure, min(known.held.base, lifecycle.default)))
        if not is_active(known, seen.at, lifecycle):
            sure = clamped(max(sure, lifecycle.threshold))
            self._forget_opponents()
        self._support(seen, worth)
        return Held(base=sure, since=seen.at)

    def _contradicted(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Held:
        held, who = known.held, _observer(seen, self.owner)
        said, owed = (None, 0.0) if who is None else self.heard.get(who, (None, 0.0))
        if said is ObservationKind.CONTRADICTED:
            return held
        base = held.base - lifecycle.contradiction - owed
        is_alone = self.supporters - {seen.actor} and not self.opponents - {seen.actor}
        if seen.actor is not None and is_alone and is_active(known, seen.at, lifecycle):
            # As far as it stays active now.
            base = max(base, held.base - confidence_at(known, seen.at, lifecycle) + lifecycle.threshold)
        # Nothing was confirmed: what time takes it goes on taking from when it was.
        after = replace(held, base=clamped(base))
        if who is not None:
            self.heard[who] = ObservationKind.CONTRADICTED, after.base - held.base + owed
            self.opponents.add(who[0])
        return after

    def _support(self, seen: Observation, worth: float) -> None:
        who = _observer(seen, self.owner)
        if who is not None:
            self.heard[who] = ObservationKind.REINFORCED, worth
            self.supporters.add(who[0])

    def _forget_opponents(self) -> None:
        """It came back: who sees the opposite from now on is heard again."""
        self.opponents.clear()
        self.heard = {who: told for who, told in self.heard.items() if told[0] is not ObservationKind.CONTRADICTED}


def _observer(seen: Observation, owner: AgentId | None) -> Observer | None:
    """None for an operator who acts for nobody, whose every word counts."""
    if seen.actor is None:
        return None
    return (seen.actor, seen.session) if seen.actor == owner else (seen.actor, None)


def _place(one: Observation) -> tuple[bool, datetime, bool, tuple[str, ...]]:
    """Decisions come behind what was observed at the same instant, in the order in which they were made."""
    is_observed = one.kind in OBSERVED
    words = (one.kind.value, *order_of(one)[1:]) if is_observed else ()
    return one.kind is not ObservationKind.CREATED, one.at, not is_observed, words


def _began_persistent(known: Operational, told: Sequence[Observation]) -> bool:
    changes = (one.kind for one in told if one.kind in (ObservationKind.MADE_PERSISTENT, ObservationKind.MADE_PASSING))
    first = next(changes, None)
    return known.persistent if first is None else first is ObservationKind.MADE_PASSING
