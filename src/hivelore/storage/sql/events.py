"""The event log, and cooldowns."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nlargest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Cooldown, Event, EventFilter, Level, LoggedId
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.sql.statements import (
    INSTANT,
    INTERFACES,
    MAX_SPELLING_PARTS,
    MICROSECOND,
    PLAIN,
    Param,
    Row,
    SqlReader,
    SqlWriter,
    Table,
    about_services,
    after_position,
    begins_with,
    codes,
    condition,
    digest,
    plain,
    to_micros,
)

LEVEL = {Level.INFO: 1, Level.WARNING: 2, Level.ERROR: 3, Level.CRITICAL: 4}
"""Codes grow with severity."""
EVENT = Table(
    Event,
    "event",
    "id",
    "document",
    id=PLAIN,
    at=INSTANT,
    level=codes(LEVEL),
    **plain("text actor"),
    interface=INTERFACES,
    **plain("service session"),
)
COOLDOWN = Table(
    Cooldown,
    "cooldown",
    "service action",
    **plain("service action"),
    until=INSTANT,
    set_at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    **plain("session reason count"),
)


def read_event(row: Row) -> Event:
    """Columns of ``EVENT``, then the id of the memory."""
    return EVENT.read(row, memory=row[-1])


def event_digest(value: Event) -> bytes:
    """Returns the digest by which a session's repeated event is recognised."""
    return digest("event", value.session or "", value.level, value.text)


def event_condition(where: EventFilter, after: tuple[datetime, LoggedId] | None) -> tuple[str, dict[str, Param]]:
    """Returns a filter of events except visibility, to be appended to ``e.namespace = :namespace``."""
    sql, params = after_position("e.at, e.id", after)
    if where.services is not None:
        about, named = about_services("e.service", where.services)
        sql, params = f"{sql} AND {about}", {**params, **named}
    conditions: tuple[tuple[str, str, Param], ...] = (
        ("session", "e.session =", where.session),
        ("actor", "e.actor =", where.actor),
        ("level", "e.level >=", None if where.level is None else LEVEL[where.level]),
        ("since", "e.at >=", None if where.since is None else to_micros(where.since)),
        ("until", "e.at <", None if where.until is None else to_micros(where.until)),
    )
    for name, comparison, value in conditions:
        if value is not None:
            sql += f" AND {comparison} :{name}"
            params[name] = value
    if where.prefix is not None:
        begins, ends = begins_with("e.id", where.prefix)
        sql, params = sql + begins, {**params, **ends}
    return sql, params


class EventReader(SqlReader):
    """Implements ``events.ports.EventReads``."""

    TABLES = (EVENT, COOLDOWN)

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        if where.services is not None and 1 < len(where.services) <= MAX_SPELLING_PARTS:
            each = (replace(where, services=frozenset({one})) for one in where.services)
            found = [event for one in each for event in self.events(one, after, limit)]
            return nlargest(limit, found, key=lambda event: (event.at, event.id))
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = event_condition(where, after)
        sql += f" AND (e.document IS NULL OR (m.key IS NOT NULL{seen}))"
        rows = self.rows(self.SQL["events"].replace("{event_filter}", sql), {**params, **own, "limit": limit})
        return [read_event(row) for row in rows]

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        return [read_event(row) for row in self.rows(self.SQL["events_about"], {"document": document})]

    def event_services(self) -> Collection[Clean]:
        return self.column("event_services")

    def same_events(self, event: Event, within: timedelta, limit: int) -> Sequence[Event]:
        if event.session is None:
            return ()
        given: dict[str, Param] = {
            "session": event.session,
            "service": event.service or "",
            "level": LEVEL[event.level],
            "text": event.text,
            "after": to_micros(event.at) - within // MICROSECOND,
            "before": to_micros(event.at) + within // MICROSECOND,
            "limit": limit,
        }
        return [read_event(row) for row in self.rows(self.SQL["events_repeated"], given)]

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        return self.read_all(COOLDOWN, "cooldowns", at=to_micros(at))


class EventWriter(EventReader, SqlWriter):
    """Implements ``events.ports.EventWrites``."""

    def log_events(self, events: Sequence[Event]) -> None:
        memories = {event.memory for event in events if event.memory is not None}
        found = self.rows(self.SQL["memory_keys_of"], {"ids": self.array(memories)}) if memories else []
        keys: Mapping[MemoryId | None, int | None] = {None: None, **dict(found)}
        known = [event for event in events if event.memory in keys]
        self.run_each("event_insert", [{**EVENT.params(event), "document": keys[event.memory]} for event in known])

    def drop_event(self, event: LoggedId) -> bool:
        return bool(self.count("event_drop", {"id": event}))

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("event_nth", newer=keep - 1)
        at, event = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("events_prune", {"at": at, "id": event, "limit": limit})

    def put_cooldown(self, cooldown: Cooldown) -> None:
        self.run("cooldown_put", COOLDOWN.params(cooldown))

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        self.run("cooldown_drop", {"service": service, "action": action})

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        return self.count("cooldowns_prune", {"at": to_micros(before), "limit": limit})
