"""The route of the log of recalls."""

from fastapi import APIRouter, Response

from hivelore.api.requests import RecallListing, listed_recalls
from hivelore.core.operation import Lane
from hivelore.http.context import Asking
from hivelore.http.rest import answers
from hivelore.http.rest.memories import json
from hivelore.memories import codec

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
    return json(codec.recalls(found))
