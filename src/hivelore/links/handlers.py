"""Answers the operations of the links between memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.links.model import LinkPage
from hivelore.links.operations import NamedLink
from hivelore.memories.operations import NamedMemory

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_links(app: Application, request: NamedMemory, call: Call) -> LinkPage:
    return app.links.links(app.reading.resolve(request.memory, call.viewer), call.viewer, call.deadline)


def reject_link(app: Application, request: NamedLink, call: Call) -> LinkPage:
    memory, other = (app.reading.resolve(one, call.viewer) for one in (request.memory, request.other))
    return app.links.reject(memory, other, call.viewer, call.deadline)


def restore_link(app: Application, request: NamedLink, call: Call) -> LinkPage:
    memory, other = (app.reading.resolve(one, call.viewer) for one in (request.memory, request.other))
    return app.links.restore(memory, other, call.viewer, call.deadline)
