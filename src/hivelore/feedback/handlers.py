"""Answers the operations of the recall log and of usefulness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.errors import TooLarge
from hivelore.feedback.model import Usefulness
from hivelore.feedback.operations import ListRecalls, RateMemory
from hivelore.feedback.recalls import RecallPage
from hivelore.memories.model import NAME_LENGTH
from hivelore.memories.operations import NamedMemory
from hivelore.search.model import RecallId

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_recalls(app: Application, request: ListRecalls, call: Call) -> RecallPage:
    for field, given in (("agent", request.agent), ("memory", request.memory)):
        if given is not None and len(given) > NAME_LENGTH:
            raise TooLarge(f"{field} has {len(given):,} characters: it is too long to be an id.", field=field)
    after = position_of(request.after)
    return app.recall_log.page(
        call.viewer,
        None if after is None else (after[0], RecallId(after[1])),
        request.limit,
        agent=None if request.agent is None else app.agents.resolve(request.agent),
        memory=None if request.memory is None else app.reading.resolve(request.memory, call.viewer),
        deadline=call.deadline,
    )


def rate_memory(app: Application, request: RateMemory, call: Call) -> Usefulness:
    return app.rating.rate(
        app.reading.resolve(request.memory, call.viewer),
        call.viewer,
        useful=request.useful,
        session=request.session,
        until=call.deadline,
    )


def reset_usefulness(app: Application, request: NamedMemory, call: Call) -> None:
    app.rating.reset(app.reading.resolve(request.memory, call.viewer), call.viewer)
