"""The routes of taking changes back, and of maintenance."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hivelore.domain import wire_batch as wire
from hivelore.domain.batch import BatchId
from hivelore.domain.maintenance import Wish
from hivelore.server.context import Asking
from hivelore.server.pools import Lane
from hivelore.server.rest import maintenance_answers as answers
from hivelore.server.rest.memories import json
from hivelore.server.rest.models import MaintenanceRequest, UndoRequest
from hivelore.services.asking import BATCHES_RANGE, BatchListing, listed_batches

router = APIRouter(prefix="/api", tags=["maintenance"])


@router.get("/batches", response_model=answers.BatchesAnswer)
async def page(
    caller: Asking,
    limit: Annotated[int, Query(ge=BATCHES_RANGE[0], le=BATCHES_RANGE[1])] = 20,
    after: str | None = None,
    memory: str | None = None,
) -> Response:
    """What was done and can be taken back, newest first; ``memory``: only what changed this one. No workers."""
    listing = BatchListing(limit=limit, after=after, memory=memory)
    found = await caller.run(Lane.READ, lambda until: listed_batches(caller.app.undoing, listing, caller.viewer, until))
    return json(wire.page(found))


@router.get("/batches/{batch_id}", response_model=answers.BatchCaseAnswer)
async def look(batch_id: str, caller: Asking) -> Response:
    """One batch, with the memories that it changed."""
    found = await caller.run(Lane.READ, lambda _: caller.app.undoing.case(BatchId(batch_id.lower()), caller.viewer))
    return json(wire.case(found))


@router.delete("/batches/{batch_id}", status_code=204)
async def drop(batch_id: str, caller: Asking) -> Response:
    """Operators: keep nothing any more of what its memories were. It cannot be taken back then."""
    await caller.run(Lane.WRITE, lambda _: caller.app.undoing.drop(BatchId(batch_id.lower()), caller.viewer))
    return Response(status_code=204)


@router.post("/undo", response_model=answers.UndoneAnswer)
async def undo(request: UndoRequest, caller: Asking) -> Response:
    """Take back a batch, or the last change of a memory: all of it or nothing. Operators and leads."""
    done = await caller.run(
        Lane.SLOW,
        lambda until: caller.app.undoing.undo(request.id, caller.viewer, reason=request.reason, deadline=until),
    )
    return json(wire.undone(done))


@router.post("/maintenance", response_model=answers.MaintainedAnswer)
async def maintain(request: MaintenanceRequest, caller: Asking) -> Response:
    """Operators: what maintenance would do; with ``apply`` it is done."""
    maintenance = caller.app.maintenance
    wish = Wish(
        purge_expired=request.purge_expired, merge=request.merge, reindex=request.reindex, vacuum=request.vacuum
    )
    lane = Lane.SLOW if wish == Wish(purge_expired=True) else Lane.LONG
    if request.apply:
        done = await caller.run(lane, lambda _: maintenance.apply(wish, caller.viewer, request.yes_delete))
    else:
        done = await caller.run(lane, lambda _: maintenance.preview(wish, caller.viewer))
    return json(wire.maintained(done))
