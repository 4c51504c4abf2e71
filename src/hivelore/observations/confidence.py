"""Confidence of operational memory and its decay (C14, C37).

Stored is the confidence at the last observation; the current one is computed from it, so it does not depend on when or
how often it is read (X17). The stored value results from replaying all observations in order.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from hivelore.core.agents import AgentId
from hivelore.core.paging import cursor_of, position_of
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.memories.model import Memory
from hivelore.observations.model import Confidence, Held, Observation, ObservationKind, Operational
from hivelore.observations.outcomes import ConfidenceTimeline, RatedMemory, TimelinePoint

WEEK = timedelta(days=7)
_DECIMALS = 9
"""Rounding, so that 0.2 + 0.1 meets a threshold of 0.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    default: float = 0.7
    reinforcement: float = 0.1
    contradiction: float = 0.2
    threshold: float = 0.3
    """Below it a memory is inactive: stored but not injected."""
    grace: timedelta = timedelta(days=30)
    """Time after an observation before decay begins."""
    decay: float = 0.1
    """Loss per week after that."""


def clamp(value: float) -> Confidence:
    """Limits a value to 0..1; NaN becomes 0."""
    return Confidence(round(min(max(value, 0.0), 1.0), _DECIMALS)) if value == value else Confidence(0.0)


def confidence_at(known: Operational, now: datetime, lifecycle: Lifecycle) -> Confidence:
    """Returns the confidence at a time; before the last observation, the value at that observation."""
    held = known.held
    stale = now - held.since - lifecycle.grace
    if known.persistent or stale <= timedelta():
        return held.base
    return clamp(held.base - lifecycle.decay * (stale / WEEK))


def is_active(known: Operational, now: datetime, lifecycle: Lifecycle) -> bool:
    return not known.held.is_off and confidence_at(known, now, lifecycle) >= lifecycle.threshold


def rate(memory: Memory, now: datetime, lifecycle: Lifecycle) -> RatedMemory:
    """Returns an operational memory with its confidence now."""
    known = memory.operational
    assert known is not None
    return RatedMemory(memory, confidence_at(known, now, lifecycle), is_active(known, now, lifecycle))


def decay_points(known: Operational, since: datetime, until: datetime, lifecycle: Lifecycle) -> list[TimelinePoint]:
    """Returns the points of the decay curve after ``since``: where its slope changes or it becomes inactive, and
    ``until``."""
    between = [at for at in _bend_times(known, until, lifecycle) if since < at < until]
    return [point_at(known, at, lifecycle) for at in (*between, until)]


def point_at(known: Operational, at: datetime, lifecycle: Lifecycle) -> TimelinePoint:
    return TimelinePoint(at, confidence_at(known, at, lifecycle), is_active(known, at, lifecycle))


def _bend_times(known: Operational, until: datetime, lifecycle: Lifecycle) -> list[datetime]:
    """Returns when decay begins, crosses the threshold, and reaches zero, up to ``until``."""
    if known.persistent or not lifecycle.decay:
        return []
    base, worn_from = known.held.base, known.held.since + lifecycle.grace
    losses = sorted({0.0, base - lifecycle.threshold, base})
    weeks = [loss / lifecycle.decay for loss in losses if loss >= 0.0]
    return [worn_from + WEEK * one for one in weeks if one <= (until - worn_from) / WEEK]


Observer = tuple[AgentId, Clean | None]
Order = tuple[datetime, str, str, str]
SUPPORTING = (ObservationKind.CREATED, ObservationKind.REINFORCED)
"""Kinds that support the statement."""
REPORTED = (*SUPPORTING, ObservationKind.CONTRADICTED)
"""Kinds that agents report; the others are decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An observation and its effect."""

    observation: Observation
    since: datetime
    """Time of the previous observation."""
    at: datetime
    """Time from which it counts, at least the creation of the memory."""
    before: Operational | None
    """None for the creation."""
    after: Operational


def order_key(seen: Observation) -> Order:
    """Returns the position of an observation among those of its service and category; equal keys mean the same
    observation."""
    return seen.at, seen.text or "", seen.actor or "", seen.session or ""


def replay(known: Operational, seen: Iterable[Observation], lifecycle: Lifecycle) -> Iterator[Step]:
    """Yields the effect of each observation in order of time, starting with the creation. Of ``known``, all but
    ``held`` is used."""
    ordered = sorted(seen, key=_replay_order)
    known = replace(known, persistent=_was_persistent_at_creation(known, ordered))
    observers = _ObserverStates(ordered[0].actor if ordered else None)
    step: Step | None = None
    for one in ordered:
        at = max(one.at, ordered[0].at)
        known = observers.apply(known, replace(one, at=at), lifecycle)
        before, since = (None, at) if step is None else (step.after, step.at)
        step = Step(observation=one, since=since, at=at, before=before, after=known)
        yield step


def apply_observation(known: Operational, seen: Observation, lifecycle: Lifecycle) -> Operational:
    """Returns the state after an observation by a new observer, not earlier than the last observation."""
    return _ObserverStates(None).apply(known, seen, lifecycle)


def is_repeated_by_observer(earlier: Iterable[Observation], seen: Observation, owner: AgentId | None) -> bool:
    """Returns True if this observer reported the same before. ``owner``: the first observer."""
    who = _observer(seen, owner)
    return who is not None and any(_observer(one, owner) == who for one in earlier if one.kind in SUPPORTING)


def step_points(step: Step, lifecycle: Lifecycle) -> list[TimelinePoint]:
    """Returns the curve from the previous observation to this one, and the point right after it."""
    if step.before is None:
        return [point_at(step.after, step.at, lifecycle)]
    return [*decay_points(step.before, step.since, step.at, lifecycle), point_at(step.after, step.at, lifecycle)]


@dataclass(slots=True)
class _ObserverStates:
    """The last statement of each observer about a memory."""

    owner: AgentId | None
    """First observer; None for an operator."""
    statements: dict[Observer, tuple[ObservationKind, float]] = field(
        default_factory=dict[Observer, tuple[ObservationKind, float]]
    )
    """Last statement of an observer, and its contribution to the confidence."""
    supporters: set[AgentId] = field(default_factory=set[AgentId])
    opponents: set[AgentId] = field(default_factory=set[AgentId])
    """Opponents since the memory was last inactive."""

    def apply(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Operational:
        """Returns the state after an observation. A new observation or an operator reactivates an inactive memory."""
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
                held = replace(held, base=clamp(held.base - lifecycle.contradiction))
            case ObservationKind.SET:
                assert seen.to is not None
                held = Held(base=seen.to, since=seen.at)
            case ObservationKind.SWITCHED_OFF:
                held = replace(held, is_off=True)
            case ObservationKind.MADE_PERSISTENT | ObservationKind.MADE_PASSING:
                return replace(known, persistent=seen.kind is ObservationKind.MADE_PERSISTENT)
        return known.with_confidence(held)

    def _reinforced(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Held:
        who = _observer(seen, self.owner)
        said, owed = (None, 0.0) if who is None else self.statements.get(who, (None, 0.0))
        worth = owed if said in SUPPORTING else lifecycle.reinforcement
        sure = clamp(confidence_at(known, seen.at, lifecycle) + worth - owed)
        # A repeated memory is at least as certain as a new one, within its base: earlier observations lower nothing.
        sure = clamp(max(sure, min(known.held.base, lifecycle.default)))
        if not is_active(known, seen.at, lifecycle):
            sure = clamp(max(sure, lifecycle.threshold))
            self._forget_opponents()
        self._support(seen, worth)
        return Held(base=sure, since=seen.at)

    def _contradicted(self, known: Operational, seen: Observation, lifecycle: Lifecycle) -> Held:
        held, who = known.held, _observer(seen, self.owner)
        said, owed = (None, 0.0) if who is None else self.statements.get(who, (None, 0.0))
        if said is ObservationKind.CONTRADICTED:
            return held
        base = held.base - lifecycle.contradiction - owed
        is_alone = self.supporters - {seen.actor} and not self.opponents - {seen.actor}
        if seen.actor is not None and is_alone and is_active(known, seen.at, lifecycle):
            # A single opponent cannot make it inactive now.
            base = max(base, held.base - confidence_at(known, seen.at, lifecycle) + lifecycle.threshold)
        # A contradiction confirms nothing, so the decay continues from the last confirmation.
        after = replace(held, base=clamp(base))
        if who is not None:
            self.statements[who] = ObservationKind.CONTRADICTED, after.base - held.base + owed
            self.opponents.add(who[0])
        return after

    def _support(self, seen: Observation, worth: float) -> None:
        who = _observer(seen, self.owner)
        if who is not None:
            self.statements[who] = ObservationKind.REINFORCED, worth
            self.supporters.add(who[0])

    def _forget_opponents(self) -> None:
        """Clears opponents after reactivation, so that new contradictions count again."""
        self.opponents.clear()
        self.statements = {
            who: said for who, said in self.statements.items() if said[0] is not ObservationKind.CONTRADICTED
        }


def _observer(seen: Observation, owner: AgentId | None) -> Observer | None:
    """Returns None for an operator who acts for no agent: each of their statements counts."""
    if seen.actor is None:
        return None
    return (seen.actor, seen.session) if seen.actor == owner else (seen.actor, None)


def _replay_order(one: Observation) -> tuple[bool, datetime, bool, tuple[str, ...]]:
    """Decisions follow observations of the same instant, in the order they were made."""
    is_observed = one.kind in REPORTED
    words = (one.kind.value, *order_key(one)[1:]) if is_observed else ()
    return one.kind is not ObservationKind.CREATED, one.at, not is_observed, words


def _was_persistent_at_creation(known: Operational, seen: Sequence[Observation]) -> bool:
    changes = (one.kind for one in seen if one.kind in (ObservationKind.MADE_PERSISTENT, ObservationKind.MADE_PASSING))
    first = next(changes, None)
    return known.persistent if first is None else first is ObservationKind.MADE_PASSING


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
    steps = list(replay(known, seen, lifecycle))
    positions = [(at, number) for at, some in groupby(one.at for one in steps) for number, _ in enumerate(some, 1)]
    first = 0 if after is None else bisect_right(positions, after)
    page, is_last = steps[first : first + limit], first + limit >= len(steps)
    points = [one for step in page for one in step_points(step, lifecycle)]
    if is_last:
        points += decay_points(known, steps[-1].at, now, lifecycle)
    return ConfidenceTimeline(
        observations=tuple(one.observation for one in page),
        timeline=tuple(replace(one, confidence=Confidence(round(one.confidence, 4))) for one in points),
        next=None if is_last else cursor_of(positions[first + limit - 1][0], str(positions[first + limit - 1][1])),
    )


def timeline_position(after: str | None) -> tuple[datetime, int] | None:
    """Reads the cursor of a timeline. Raises Invalid."""
    position = position_of(after)
    if position is None:
        return None
    at, number = position
    if number.isascii() and number.isdigit() and len(number) < 10:
        return at, int(number)
    raise Invalid("after is not the `next` of a page. Start again without it.", field="after")
