"""The operations of the event log and of cooldowns (C06, C42)."""

from typing import Annotated

from msgspec import Meta

from hivelore.core.agents import Role
from hivelore.core.operation import Lane, Operation, delete, get, post, put
from hivelore.core.values import Instant, Request, Value
from hivelore.events.model import Cooldown, Event, EventPage, Level

_OPERATORS = frozenset({Role.OPERATOR})


class ListEvents(Request, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    after: str | None = None
    level: Level | None = None
    service: str | None = None
    session: str | None = None
    since: Instant | None = None
    until: Instant | None = None


class RecordEvent(Request, frozen=True):
    text: str
    level: Level = Level.INFO
    service: str | None = None
    session: str | None = None
    at: Instant | None = None


class ForgetEvent(Request, frozen=True):
    event: str


class ListCooldowns(Request, frozen=True):
    service: str | None = None


class SetCooldown(Request, frozen=True):
    service: str
    action: str
    minutes: int | None = None
    until: Instant | None = None
    reason: str | None = None
    session: str | None = None


class ClearCooldowns(Request, frozen=True):
    service: str
    action: str | None = None


class CooldownList(Value, frozen=True):
    cooldowns: tuple[Cooldown, ...]


class ClearedCooldowns(Value, frozen=True):
    cleared: int


LIST_EVENTS = Operation(
    name="events",
    verb="events list",
    summary="Lists events, newest first: those of ``level`` or more severe. ``service`` finds every spelling; "
    "``general`` selects events that name no service; ``until`` is exclusive; ``after`` is the ``next`` of the "
    "previous page.",
    request=ListEvents,
    response=EventPage,
    handler="hivelore.events.handlers:list_events",
    lane=Lane.READ,
    http=get("/api/events"),
    tag="operations",
)
RECORD_EVENT = Operation(
    name="record_event",
    verb="events add",
    summary="Records an event. The same event of the same session within an hour is stored once and returned as it was "
    "stored first. ``at`` defaults to now.",
    request=RecordEvent,
    response=Event,
    handler="hivelore.events.handlers:record_event",
    lane=Lane.WRITE,
    http=post("/api/events", status=201),
    tag="operations",
)
FORGET_EVENT = Operation(
    name="forget_event",
    verb="events forget",
    summary="Removes an event from the log. Others expire after HIVELORE_EVENT_DAYS.",
    request=ForgetEvent,
    response=type(None),
    handler="hivelore.events.handlers:forget_event",
    lane=Lane.WRITE,
    http=delete("/api/events/{event}"),
    roles=_OPERATORS,
    tag="operations",
)
LIST_COOLDOWNS = Operation(
    name="cooldowns",
    verb="cooldowns list",
    summary="Lists the cooldowns in force, of one service or of all, by service and action.",
    request=ListCooldowns,
    response=CooldownList,
    handler="hivelore.events.handlers:list_cooldowns",
    lane=Lane.READ,
    http=get("/api/cooldowns"),
    tag="operations",
)
SET_COOLDOWN = Operation(
    name="set_cooldown",
    verb="cooldowns set",
    summary="Starts a cooldown: the action of a service should not be repeated for ``minutes``, or ``until`` a time; a "
    "year at most, for a worker a day. Setting it again counts once more and never shortens it; a repetition by "
    "the same session within an hour changes nothing.",
    request=SetCooldown,
    response=Cooldown,
    handler="hivelore.events.handlers:set_cooldown",
    lane=Lane.WRITE,
    http=put("/api/cooldowns"),
    tag="operations",
)
CLEAR_COOLDOWNS = Operation(
    name="clear_cooldowns",
    verb="cooldowns clear",
    summary="Ends the cooldown of an action, or all cooldowns of a service, and returns how many were in force. A "
    "worker ends only its own.",
    request=ClearCooldowns,
    response=ClearedCooldowns,
    handler="hivelore.events.handlers:clear_cooldowns",
    lane=Lane.WRITE,
    http=delete("/api/cooldowns"),
    tag="operations",
)
OPERATIONS = (LIST_EVENTS, RECORD_EVENT, FORGET_EVENT, LIST_COOLDOWNS, SET_COOLDOWN, CLEAR_COOLDOWNS)
