"""How events and cooldowns look as JSON."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event, EventPage, Level, LoggedId
from hivelore.memories.codec import Object, instant
from hivelore.memories.model import MemoryId


def event(value: Event) -> Object:
    return {
        "id": value.id,
        "at": instant(value.at),
        "level": value.level.value,
        "service": value.service,
        "text": value.text,
        "actor": value.actor,
        "door": value.interface.value,
        "session": value.session,
        "memoryId": value.memory,
    }


def read_event(data: Mapping[str, Any]) -> Event:
    return Event(
        id=LoggedId(data["id"]),
        at=_instant(data["at"]),
        level=Level(data["level"]),
        service=data["service"],
        text=Clean(data["text"]),
        actor=None if data["actor"] is None else AgentId(data["actor"]),
        interface=Interface(data["door"]),
        session=data["session"],
        memory=None if data["memoryId"] is None else MemoryId(data["memoryId"]),
    )


def events(value: EventPage) -> Object:
    return {"events": [event(one) for one in value.events], "next": value.next}


def read_events(data: Mapping[str, Any]) -> EventPage:
    return EventPage(events=tuple(read_event(one) for one in data["events"]), next=data["next"])


def cooldown(value: Cooldown) -> Object:
    return {
        "service": value.service,
        "action": value.action,
        "until": instant(value.until),
        "count": value.count,
        "reason": value.reason,
        "setAt": instant(value.set_at),
        "actor": value.actor,
        "door": value.interface.value,
        "session": value.session,
    }


def read_cooldown(data: Mapping[str, Any]) -> Cooldown:
    return Cooldown(
        service=Clean(data["service"]),
        action=Clean(data["action"]),
        until=_instant(data["until"]),
        count=data["count"],
        reason=data["reason"],
        set_at=_instant(data["setAt"]),
        actor=None if data["actor"] is None else AgentId(data["actor"]),
        interface=Interface(data["door"]),
        session=data["session"],
    )


def cooldowns(value: Sequence[Cooldown]) -> Object:
    return {"cooldowns": [cooldown(one) for one in value]}


def read_cooldowns(data: Mapping[str, Any]) -> Sequence[Cooldown]:
    return [read_cooldown(one) for one in data["cooldowns"]]


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
