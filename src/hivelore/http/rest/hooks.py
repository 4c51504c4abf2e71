"""The route that hooks of agent programs hand their events over at."""

from fastapi import APIRouter, Response
from starlette.responses import Response as RawResponse

from hivelore.core.agents import Interface
from hivelore.core.operation import Lane
from hivelore.core.values import replace
from hivelore.http.context import Asking
from hivelore.http.rest.memories import json
from hivelore.http.rest.models import HookRequest
from hivelore.local.endpoint import TAKEN

router = APIRouter(prefix="/api/hooks", tags=["hooks"])


@router.post("/{program}", responses={204: {"description": "The program is to be told nothing."}})
async def told(program: str, request: HookRequest, caller: Asking) -> Response:
    """An event of an agent program, in its own words, and what only the hook knew. The answer is what the program takes
    from its hook at this event."""
    envelope = request.envelope(program, caller.project)
    viewer = replace(caller.viewer, interface=Interface.HOOK)
    answer = await caller.run(Lane.READ, lambda until: caller.app.hooks.handle(envelope, viewer, until))
    mark = dict([TAKEN])
    return RawResponse(status_code=204, headers=mark) if answer is None else json(answer, headers=mark)
