"""Answers the operations of the event log and of cooldowns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.events.model import Cooldown, Event, EventPage, LoggedId
from hivelore.events.operations import (
    ClearCooldowns,
    ClearedCooldowns,
    CooldownList,
    ForgetEvent,
    ListCooldowns,
    ListEvents,
    RecordEvent,
    SetCooldown,
)

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_events(app: Application, request: ListEvents, call: Call) -> EventPage:
    after = position_of(request.after)
    return app.events.page(
        call.viewer,
        None if after is None else (after[0], LoggedId(after[1])),
        request.limit,
        level=request.level,
        service=request.service,
        session=request.session,
        since=request.since,
        until=request.until,
        deadline=call.deadline,
    )


def record_event(app: Application, request: RecordEvent, call: Call) -> Event:
    return app.events.record(
        request.level,
        request.text,
        call.viewer,
        service=request.service,
        session=request.session,
        at=request.at,
        deadline=call.deadline,
    )


def forget_event(app: Application, request: ForgetEvent, call: Call) -> None:
    app.events.forget(app.events.resolve(request.event, call.viewer), call.deadline)


def list_cooldowns(app: Application, request: ListCooldowns, call: Call) -> CooldownList:
    return CooldownList(tuple(app.cooldowns.list_visible(call.viewer, request.service, call.deadline)))


def set_cooldown(app: Application, request: SetCooldown, call: Call) -> Cooldown:
    return app.cooldowns.set(
        request.service,
        request.action,
        call.viewer,
        minutes=request.minutes,
        until=request.until,
        reason=request.reason,
        session=request.session,
        deadline=call.deadline,
    )


def clear_cooldowns(app: Application, request: ClearCooldowns, call: Call) -> ClearedCooldowns:
    return ClearedCooldowns(app.cooldowns.clear(request.service, request.action, call.viewer, call.deadline))
