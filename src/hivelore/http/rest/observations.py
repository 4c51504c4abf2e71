"""The routes of what is known about running things (C22, C23)."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from starlette.responses import Response as RawResponse

from hivelore.api.requests import PAGE_RANGE, listed_life, position_of
from hivelore.core.agents import Role
from hivelore.core.operation import Lane
from hivelore.errors import Forbidden, Invalid
from hivelore.http.context import Asking, Caller
from hivelore.http.operations import version_of
from hivelore.http.rest import operational_answers as answers
from hivelore.http.rest.memories import json, memory_id_of
from hivelore.http.rest.operational_models import BulkRequest, ChangeRequest, ObservationRequest
from hivelore.memories.model import MemoryId
from hivelore.observations import observation_codec as wire
from hivelore.observations.curation import RatedQuery
from hivelore.observations.outcomes import Effect, ObservationResult, State
from hivelore.observations.token_budget import MAX_TOKENS
from hivelore.sessions.injection import environment_line

router = APIRouter(tags=["operations"])


@router.get("/memories", response_model=answers.RatedPageAnswer)
async def page(
    caller: Asking,
    limit: Annotated[int, Query(ge=PAGE_RANGE[0], le=PAGE_RANGE[1])] = 50,
    after: str | None = None,
    service: str | None = None,
    category: str | None = None,
    status: Literal["all", "active", "inactive"] = "all",
    project: str | None = None,
) -> Response:
    """What is known about running things, newest first. ``service=general``: what holds for all."""
    state = None if status == "all" else State(status)
    choice = RatedQuery(service=service, category=category, state=state, project=project, limit=limit)
    position = position_of(after)
    found = await caller.run(Lane.READ, lambda _: caller.app.curation.page(choice, caller.viewer, position))
    return json(wire.rated_page(found))


@router.post("/memories", status_code=201, response_model=answers.ObservedAnswer)
async def observe(request: ObservationRequest, caller: Asking) -> Response:
    """What was seen: 201 where it is a new memory, 200 where it is known. An operator's own is taken as it is."""
    app, viewer = caller.app, caller.viewer
    if viewer.role is Role.OPERATOR:
        made = await caller.run(
            Lane.WRITE,
            lambda _: app.curation.create(
                request.observation,
                request.category,
                viewer,
                service=request.service,
                confidence=request.confidence,
                persistent=request.persistent or False,
                project=request.project,
                at=request.at,
            ),
        )
        done = ObservationResult(memory=made.memory, effect=Effect.NEW)
        return json(wire.observed(done, made), 201)
    if request.confidence is not None or request.persistent is not None:
        raise Forbidden("How sure something is, and that time does not wear it off, only an operator says.")
    seen = request.seen()
    done = await caller.run(Lane.WRITE, lambda until: app.observation_service.observe(seen, viewer, until))
    is_known = done.effect in (Effect.REINFORCED, Effect.KNOWN)
    return json(wire.observed(done, app.curation.rated(done.memory, viewer)), 200 if is_known else 201)


@router.delete("/memories/bulk", response_model=answers.DeletedAnswer)
async def forget_many(
    caller: Asking, request: BulkRequest | None = None, ids: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Delete many for good, by ids in the body or as ``ids=`` again and again. Says how many there were."""
    named = [*(request.ids if request is not None else ()), *(ids or ())]
    if not named:
        raise Invalid('Name what to delete: {"ids": ["..."]}, or ids=...&ids=...', field="ids")
    return json({"deleted": await _forgotten(caller, named)})


@router.post("/memories/decay", response_model=answers.DecayAnswer)
async def decay(caller: Asking) -> Response:
    """How many time has made inactive since this was asked last. Nothing depends on its being asked (C14)."""
    return json({"deactivated": await caller.run(Lane.WRITE, lambda _: caller.app.curation.decay(caller.viewer))})


@router.get("/memories/{memory_id}", response_model=answers.RatedAnswer)
async def get(memory_id: str, caller: Asking) -> Response:
    """One of them."""
    wanted = memory_id_of(memory_id)
    return json(wire.rated(await caller.run(Lane.READ, lambda _: caller.app.curation.get(wanted, caller.viewer))))


@router.get("/memories/{memory_id}/observations", response_model=answers.ConfidenceTimelineAnswer)
async def observations(
    memory_id: str,
    caller: Asking,
    limit: Annotated[int, Query(ge=PAGE_RANGE[0], le=PAGE_RANGE[1])] = 50,
    after: str | None = None,
) -> Response:
    """What was observed of it, oldest first, and how sure it was all the while, until now (C38)."""
    wanted, curation = memory_id_of(memory_id), caller.app.curation
    found = await caller.run(
        Lane.READ, lambda _: listed_life(curation, wanted, caller.viewer, limit=limit, after=after)
    )
    return json(wire.life(found))


@router.put("/memories/{memory_id}", response_model=answers.RatedAnswer)
async def change(
    memory_id: str, request: ChangeRequest, caller: Asking, if_match: Annotated[str | None, Header()] = None
) -> Response:
    """Change the given fields; a new text leaves the confidence as it is. What an agent asks for is proposed to
    operators."""
    wanted, version = memory_id_of(memory_id), version_of(if_match)
    changes = request.change()
    done = await caller.run(Lane.WRITE, lambda _: caller.app.curation.change(wanted, changes, caller.viewer, version))
    return json(wire.rated(done))


@router.delete("/memories/{memory_id}", status_code=204)
async def forget(memory_id: str, caller: Asking) -> Response:
    """Delete one for good. What an agent asks for is proposed to operators."""
    wanted = memory_id_of(memory_id)
    await caller.run(Lane.WRITE, lambda _: caller.app.curation.forget_one(wanted, caller.viewer))
    return RawResponse(status_code=204)


@router.get("/api/operational-context", response_model=answers.BlockAnswer)
async def context(
    caller: Asking,
    service: str | None = None,
    budget: Annotated[int | None, Query(ge=0, le=MAX_TOKENS)] = None,
    tier: Annotated[int | None, Query(ge=0, le=3)] = None,
    model: str | None = None,
) -> Response:
    """What an agent is to be told before it begins (C19), and of its environment before that (C21), each in a fence
    that says that it is data. ``budget``: tokens, else by HIVELORE_MEMORY_BUDGET; 0: nothing of either."""
    app = caller.app
    tokens = app.memory_budget.tokens_for(model, tier) if budget is None else budget
    block = await caller.run(
        Lane.READ, lambda _: app.curation.block(caller.viewer, tokens, service=service, project=caller.project)
    )
    waits = await caller.run(Lane.READ, lambda end: app.cooldowns.format_for_agent(service, end)) if tokens else ""
    told = {"environment": environment_line(waits), "text": block.text}
    return json(
        {name: app.fenced(text) if text else "" for name, text in told.items()}
        | {"included": block.included, "total": block.total, "tokens": block.tokens}
    )


async def _forgotten(caller: Caller, ids: list[str]) -> int:
    wanted = [MemoryId(one.lower()) for one in ids]
    return await caller.run(Lane.WRITE, lambda _: caller.app.curation.forget(wanted, caller.viewer))
