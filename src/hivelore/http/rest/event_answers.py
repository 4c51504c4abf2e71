"""What REST answers about what happens while services are run, for /openapi.json alone."""

from datetime import datetime

from hivelore.core.agents import Interface
from hivelore.events.model import Level
from hivelore.http.rest.answers import Shown


class EventAnswer(Shown):
    id: str
    at: datetime
    level: Level
    service: str | None
    """null: it is about no service by name."""
    text: str
    actor: str | None
    """Who told of it; null: an operator who acted for nobody."""
    interface: Interface
    session: str | None
    memory_id: str | None
    """What it tells of, as private as that memory and forgotten with it."""


class EventsAnswer(Shown):
    events: list[EventAnswer]
    next: str | None


class CooldownAnswer(Shown):
    service: str
    action: str
    until: datetime
    count: int
    """How often it was set without being over in between."""
    reason: str | None
    set_at: datetime
    """When it was set last, ..."""
    actor: str | None
    """... and by whom."""
    interface: Interface
    session: str | None


class CooldownsAnswer(Shown):
    cooldowns: list[CooldownAnswer]


class ClearedAnswer(Shown):
    cleared: int
