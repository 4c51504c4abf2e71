"""What happened while services were run, as agents and Hivelore itself tell it: the log of events (C06)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.domain.agent import AgentId, Door
from hivelore.domain.memory import MemoryId
from hivelore.domain.search import Visibility
from hivelore.domain.text import Clean

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
    door: Door
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
