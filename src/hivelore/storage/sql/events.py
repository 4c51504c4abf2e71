"""Events and cooldowns as they lie in tables. An event has the key of the memory that it tells of."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from hivelore.events.model import Cooldown, Event
from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import MemoryId
from hivelore.storage.sql.codes import DOOR_OF, INTERFACE, LEVEL, LEVEL_OF
from hivelore.storage.sql.digests import digest
from hivelore.storage.sql.instants import MICROSECOND, from_micros, to_micros
from hivelore.storage.sql.where import Param


def read_event(row: Sequence[Any]) -> Event:
    """Columns id, at, level, text, actor, door, service and session, and the id of the memory."""
    return Event(
        id=row[0],
        at=from_micros(row[1]),
        level=LEVEL_OF[row[2]],
        text=row[3],
        actor=row[4],
        interface=DOOR_OF[row[5]],
        service=row[6],
        session=row[7],
        memory=row[8],
    )


def event_params(value: Event, keys: Mapping[MemoryId, DocumentKey]) -> dict[str, Param]:
    """``keys``: of those memories that are there."""
    return {
        "id": value.id,
        "at": to_micros(value.at),
        "level": LEVEL[value.level],
        "text": value.text,
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "service": value.service,
        "session": value.session,
        "document": None if value.memory is None else keys[value.memory],
    }


def same_event_params(value: Event, within: timedelta) -> dict[str, Param]:
    return {
        "session": value.session,
        "level": LEVEL[value.level],
        "service": value.service or "",
        "text": value.text,
        "after": to_micros(value.at) - within // MICROSECOND,
        "before": to_micros(value.at) + within // MICROSECOND,
    }


def event_digest(value: Event) -> bytes:
    """16 bytes that stand for what its session says in it."""
    return digest("event", value.session or "", value.level, value.service or "", value.text)


def read_cooldown(row: Sequence[Any]) -> Cooldown:
    """Columns service, action, until, set_at, actor, door, session, reason and count."""
    return Cooldown(
        service=row[0],
        action=row[1],
        until=from_micros(row[2]),
        set_at=from_micros(row[3]),
        actor=row[4],
        interface=DOOR_OF[row[5]],
        session=row[6],
        reason=row[7],
        count=row[8],
    )


def cooldown_params(value: Cooldown) -> dict[str, Param]:
    return {
        "service": value.service,
        "action": value.action,
        "until": to_micros(value.until),
        "set_at": to_micros(value.set_at),
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "reason": value.reason,
        "count": value.count,
    }
