"""Answers the operation that takes the events of agent programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.agents import Interface
from hivelore.core.operation import Call
from hivelore.core.values import replace
from hivelore.memories.model import Json
from hivelore.memories.normalizer import to_utc
from hivelore.sessions.model import EventId
from hivelore.sessions.operations import HookEvent
from hivelore.sessions.programs import Envelope

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def handle_event(app: Application, request: HookEvent, call: Call) -> Json:
    envelope = Envelope(
        program=request.program,
        id=EventId(request.id),
        payload=request.payload,
        event=request.event,
        at=to_utc(request.at, "at"),
        project=request.project or call.project,
        task_id=request.task_id,
        task_file=request.task_file,
    )
    return app.hooks.handle(envelope, replace(call.viewer, interface=Interface.HOOK), call.deadline)
