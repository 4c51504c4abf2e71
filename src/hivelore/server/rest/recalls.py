"""The route of the log of recalls."""

from fastapi import APIRouter, Response

from hivelore.domain import wire
from hivelore.server.context import Asking
from hivelore.server.pools import Lane
from hivelore.server.rest import answers
from hivelore.server.rest.memories import json
from hivelore.services.asking import RecallListing, listed_recalls

router = APIRouter(prefix="/api/recalls", tags=["recalls"])


@router.get("", response_model=answers.RecallsAnswer)
async def page(
    caller: Asking, limit: int = 20, after: str | None = None, agent: str | None = None, memory: str | None = None
) -> Response:
    """Who asked what, and what was given why, newest first. Hand ``next`` back as ``after`` for the following page."""
    listing = RecallListing(limit=limit, after=after, agent=agent, memory=memory)
    found = await caller.run(
        Lane.READ, lambda until: listed_recalls(caller.app.recall_log, listing, caller.viewer, until)
    )
    return json(wire.recalls(found))
