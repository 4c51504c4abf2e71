"""What somebody saw of running things, what it is taken for, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import UNSET, UnsetType

from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.model import DEFAULT_TIER, Confidence, Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationInput:
    """As it came in at a door."""

    text: str
    category: str
    service: str | None = None
    """None: it holds for all."""
    session: str | None = None
    at: datetime | None = None
    """None: now."""
    tier: int = DEFAULT_TIER
    project: str | None = None
    """None: it holds for the whole swarm (X20)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """How two notes stand to each other, as a model has it that reads both: three shares of 1."""

    same: float
    conflict: float
    different: float


class MatchingMode(StrEnum):
    """What is taken for the same observation (X8)."""

    MEANING = "meaning"
    CAUTIOUS = "cautious"
    """As by meaning, but that only quantities contradict; whatever else may, somebody has to decide."""
    STRUCTURAL = "structural"
    """Whatever has the same service and category (C11)."""


class Effect(StrEnum):
    NEW = "new"
    REINFORCED = "reinforced"
    """It was known, and is surer now."""
    CONTRADICTED = "contradicted"
    """It is new, and what it contradicts is less sure now."""
    UNCERTAIN = "uncertain"
    """It is new, and may say the same as, or the opposite of, what was known: somebody has to decide."""
    KNOWN = "known"
    """Who saw it has said so before: it is as sure as it was, and fresh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationResult:
    memory: Memory
    """What holds what was seen: a new one, or the one that was reinforced."""
    effect: Effect
    about: tuple[MemoryId, ...] = ()
    """What it contradicts, or may have to do with."""
    why: tuple[str, ...] = ()
    """In words."""
    dropped: int = 0
    """How many of those nobody is asked about: the review inbox is full of what this agent proposed."""

    @property
    def dropped_message(self) -> tuple[str, ...]:
        """What to tell of that."""
        if not self.dropped:
            return ()
        return (f"{self.dropped} not put to review: too many proposals of yours wait that weigh as much. Tell a lead.",)


class State(StrEnum):
    """C22."""

    ACTIVE = "active"
    INACTIVE = "inactive"


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """How sure something was at a time."""

    at: datetime
    confidence: Confidence
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceTimeline:
    """A memory and what was observed of it, oldest first, with how sure it was all the while (C38)."""

    memory: Memory
    observations: Sequence[Observation]
    timeline: Sequence[TimelinePoint]
    """Before and after each observation, where time begins and ends to wear it off or makes it inactive, and at the
    end now. From one point to the next it runs straight."""
    next: str | None
    """Hand it back for the following page; None: there is none."""


@dataclass(frozen=True, slots=True)
class RatedMemory:
    """An operational memory as it stands at the time of asking."""

    memory: Memory
    confidence: Confidence
    state: State


@dataclass(frozen=True, slots=True)
class RatedPage:
    memories: tuple[RatedMemory, ...]
    next: str | None
    """Hand it back for the following page; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Changes of what is known, as only operators make them; what is UNSET stays."""

    observation: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    service: str | UnsetType | None = UNSET
    project: str | UnsetType | None = UNSET
    confidence: float | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    """True: surer than the threshold from now on; False: out of use until it is seen again."""
    persistent: bool | UnsetType = UNSET
    reason: str | None = None

    def changed_fields(self) -> dict[str, Any]:
        """The fields that change, without the reason."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "reason"}
        return {name: value for name, value in values.items() if value is not UNSET}
