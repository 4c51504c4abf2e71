"""Answers the operation that takes the events of agent programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.agents import Interface
from hivelore.core.operation import Call
from hivelore.core.values import replace
from hivelore.memories.model import Json
from hivelore.sessions.operations import HookEvent

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def handle_event(app: Application, request: HookEvent, call: Call) -> Json:
    event = replace(request, project=request.project or call.project)
    return app.hooks.handle(event, replace(call.viewer, interface=Interface.HOOK), call.deadline)
