"""Requests and results of operational memory (C01, C22, C23, C38)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import Instant, Request, Value
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.model import DEFAULT_TIER, TIERS, Confidence, Observation


class ObservationInput(Request, frozen=True):
    """An observation as an agent or an operator reports it."""

    observation: str
    category: str
    service: str | None = None
    """None if it applies to all services."""
    session: str | None = None
    """Ignored for an operator."""
    project: str | None = None
    """None if it applies to the whole swarm (X20)."""
    tier: Annotated[int, Meta(ge=TIERS[1], le=TIERS[-1])] = DEFAULT_TIER
    """Ignored for an operator, whose tier is 0."""
    at: Instant | None = None
    """Time of the observation. A time in the future counts as now."""
    confidence: float | None = None
    """Limited to 0..1. Only for operators."""
    persistent: bool | None = None
    """True to disable the decay. Only for operators."""


class Effect(StrEnum):
    NEW = "new"
    REINFORCED = "reinforced"
    """Known before; the confidence has risen."""
    CONTRADICTED = "contradicted"
    """New; the confidence of the memories that it contradicts has fallen."""
    UNCERTAIN = "uncertain"
    """New; it may repeat or contradict a known memory, and a reviewer decides."""
    KNOWN = "known"
    """Reported before by the same observer; the confidence is unchanged, its decay starts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationResult:
    memory: Memory
    """The new or the reinforced memory."""
    effect: Effect
    about: tuple[MemoryId, ...] = ()
    """Memories that it contradicts, or may repeat or contradict."""
    why: tuple[str, ...] = ()
    """Reasons, in words."""


@dataclass(frozen=True, slots=True)
class RatedMemory:
    """An operational memory with its confidence now."""

    memory: Memory
    confidence: Confidence
    active: bool


@dataclass(frozen=True, slots=True)
class RatedPage:
    memories: tuple[RatedMemory, ...]
    next: str | None
    """Cursor of the following page."""


class OperationalMemory(Value, frozen=True, kw_only=True):
    """An operational memory as interfaces return it."""

    id: MemoryId
    service: Clean | None
    """None if it applies to all services."""
    category: Clean
    observation: Clean
    tier: int
    """0 if an operator created it."""
    persistent: bool
    """True if it does not decay."""
    session: Clean | None
    project: Clean | None
    """None if it applies to the whole swarm."""
    agent_id: AgentId | None
    created_at: datetime
    updated_at: datetime
    """Time of the last change, or ``observed_at`` if that is later (C11)."""
    observed_at: datetime
    """Time of the last observation, or when an operator set the confidence."""
    version: int
    confidence: float
    """0 to 1, now."""
    active: bool
    """Inactive memories are stored but not injected."""


def describe(rated: RatedMemory) -> OperationalMemory:
    memory = rated.memory
    known = memory.operational
    assert known is not None
    return OperationalMemory(
        id=memory.id,
        service=known.service,
        category=memory.category,
        observation=memory.content,
        tier=known.tier,
        persistent=known.persistent,
        session=memory.session,
        project=memory.project,
        agent_id=memory.owner,
        created_at=memory.created_at,
        updated_at=max(memory.updated_at, known.held.since),
        observed_at=known.held.since,
        version=memory.version,
        confidence=round(rated.confidence, 4),
        active=rated.active,
    )


class TimelinePoint(Value, frozen=True):
    """The confidence at a time."""

    at: datetime
    confidence: Confidence
    active: bool


class ConfidenceTimeline(Value, frozen=True, kw_only=True):
    """The observations of a memory, oldest first, with its confidence over time (C38)."""

    observations: tuple[Observation, ...]
    timeline: tuple[TimelinePoint, ...]
    """Points before and after each observation, where decay begins or ends, where the memory becomes inactive, and now.
    The confidence is linear between them."""
    next: str | None
    """Cursor of the following page."""


class Change(Request, frozen=True, kw_only=True, omit_defaults=True):
    """Changes by an operator. Fields that are UNSET stay as they are."""

    observation: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    service: str | UnsetType | None = UNSET
    project: str | UnsetType | None = UNSET
    """None: applies to the whole swarm."""
    confidence: float | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    """True raises the confidence to the threshold at least; False deactivates the memory until it is observed again."""
    persistent: bool | UnsetType = UNSET
    reason: str | None = None

    def changed_fields(self) -> dict[str, Any]:
        """Returns the fields to change, without the reason."""
        values = {name: getattr(self, name) for name in Change.__struct_fields__ if name != "reason"}
        return {name: value for name, value in values.items() if value is not UNSET}
