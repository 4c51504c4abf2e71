"""What happened while services were run, as agents and Hivelore itself tell it: the log of events (C06)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.memories.model import MemoryId
from hivelore.observations.model import SERVICE_LENGTH
from hivelore.search.model import Visibility

LoggedId = NewType("LoggedId", str)
"""Of an event in the log."""
TEXT_LENGTH = 4_000
"""Characters of what an event says."""


class Level(StrEnum):
    """How grave it is, the mildest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    id: LoggedId
    at: datetime
    """When it happened."""
    level: Level
    text: Clean
    actor: AgentId | None
    """Who told of it; None: an operator who acted for nobody."""
    interface: Interface
    service: Clean | None = None
    """None: it is about no service by name."""
    session: Clean | None = None
    memory: MemoryId | None = None
    """What it tells of: seen by those who may see that memory, and forgotten with it. None: everybody sees it."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if not self.text.strip():
            raise ValueError("an event says something")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    seen: Visibility
    """Of memories that events tell of."""
    level: Level | None = None
    """Only those at least as grave."""
    service: Clean | None = None
    """Only those about this one; ``GENERAL``: about none."""
    session: Clean | None = None
    actor: AgentId | None = None
    """Only those that this agent told."""
    since: datetime | None = None
    until: datetime | None = None
    """Before this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events, newest first with the id as tie; ``next`` continues behind the last one."""

    events: tuple[Event, ...]
    next: str | None


ACTION_LENGTH = 100
REASON_LENGTH = 500
MAX_COOLDOWN = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """There is one for each action of a service; once its time has come it is over, and counts no more."""

    service: Clean
    action: Clean
    until: datetime
    set_at: datetime
    """When it was set, as it was told of last."""
    actor: AgentId | None
    """Who set it; None: an operator who acted for nobody, or several agents."""
    interface: Interface
    session: Clean | None = None
    reason: Clean | None = None
    count: int = 1
    """How often it was set without being over in between."""

    def __post_init__(self) -> None:
        if self.until.tzinfo is not UTC or self.set_at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if not 1 <= len(self.service) <= SERVICE_LENGTH or not 1 <= len(self.action) <= ACTION_LENGTH:
            raise ValueError("a cooldown is for an action of a service, with names of at most 100 characters")
        if self.count < 1:
            raise ValueError("a cooldown was set at least once")
