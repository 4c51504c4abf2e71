"""Values of the event log of running services (C06) and of cooldowns."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.memories.model import MemoryId
from hivelore.observations.model import SERVICE_LENGTH
from hivelore.search.model import Visibility

LoggedId = NewType("LoggedId", str)
"""Id of an event in the log."""
TEXT_LENGTH = 4_000
"""Maximum characters of an event text."""
REPEAT_WINDOW = timedelta(hours=1)
"""Within this time, the same report of the same session counts once: a hook may report at the end of a turn what a
stream reported before."""


class Level(StrEnum):
    """Severity, lowest first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class Event(Value, frozen=True, kw_only=True, rename=json_names(memory="memoryId")):
    id: LoggedId
    at: datetime
    """When it happened."""
    level: Level
    text: Clean
    actor: AgentId | None
    """Who reported it; None: an operator who did not act for an agent."""
    interface: Interface
    service: Clean | None = None
    """None: about no service in particular."""
    session: Clean | None = None
    memory: MemoryId | None = None
    """The memory that the event is about. It determines who sees the event, and is deleted with it. None: visible to
    all."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if not self.text.strip():
            raise ValueError("an event needs a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    seen: Visibility
    """Visibility of the memories that events are about."""
    level: Level | None = None
    """Minimum severity."""
    services: frozenset[Clean] | None = None
    """The spellings of a service, at least one; ``GENERAL`` among them: events about no service."""
    session: Clean | None = None
    actor: AgentId | None = None
    """Only events that this agent reported."""
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    prefix: str | None = None
    """Only events whose id begins with this."""


class EventPage(Value, frozen=True, kw_only=True):
    """Events, newest first, then by id; ``next`` is the cursor of the following page."""

    events: tuple[Event, ...]
    next: str | None


ACTION_LENGTH = 100
REASON_LENGTH = 500
MAX_COOLDOWN = timedelta(days=366)


class Cooldown(Value, frozen=True, kw_only=True):
    """A time during which an action of a service should not be repeated. One per action and service."""

    service: Clean
    action: Clean
    until: datetime
    set_at: datetime
    """When it was last set."""
    actor: AgentId | None
    """Who set it; None: several agents, or an operator who did not act for an agent."""
    interface: Interface
    session: Clean | None = None
    reason: Clean | None = None
    count: int = 1
    """How often it was set while active."""

    def __post_init__(self) -> None:
        if self.until.tzinfo is not UTC or self.set_at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if not 1 <= len(self.service) <= SERVICE_LENGTH or not 1 <= len(self.action) <= ACTION_LENGTH:
            raise ValueError("a cooldown is for an action of a service, with names of at most 100 characters")
        if self.count < 1:
            raise ValueError("a cooldown was set at least once")
