"""The routes of memories."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Response
from msgspec import to_builtins
from starlette.responses import Response as RawResponse

from hivelore.api.requests import Listing, answered, asked, listed
from hivelore.core.agents import AgentId
from hivelore.core.operation import Lane
from hivelore.feedback.model import NO_USAGE
from hivelore.http.context import Asking
from hivelore.http.operations import version_of
from hivelore.http.rest import answers
from hivelore.http.rest.models import (
    BatchRequest,
    EditRequest,
    IndexRequest,
    Instant,
    RatingRequest,
    SearchRequest,
    Status,
)
from hivelore.memories.model import Memory, MemoryId, Source
from hivelore.memories.normalizer import to_utc
from hivelore.search.model import ScopeChoice

router = APIRouter(prefix="/api/memory", tags=["memory"])


def json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> RawResponse:
    """An answer written at once, past the framework's own serialisation."""
    return RawResponse(orjson.dumps(body), status, headers=headers, media_type="application/json")


def _tagged(memory: Memory, **more: object) -> RawResponse:
    return json(to_builtins(memory) | more, headers={"ETag": f'"{memory.version}"'})


@router.post("/index", status_code=202, response_model=answers.IndexAnswer)
async def index(request: IndexRequest, caller: Asking) -> Response:
    """Keep a text. Durable and found by keywords when this answers; its vectors follow."""
    draft = request.draft(caller.project)
    done = await caller.run(Lane.WRITE, lambda until: caller.app.memory_service.remember(draft, caller.viewer, until))
    caller.context.metrics.writes.inc()
    told = {"memoryIds": [done.memory.id], "proposal": done.proposal, "dropped": done.dropped}
    return json({"queued": True, **told}, 202)


@router.post("/batch", response_model=answers.BatchAnswer)
async def batch(request: BatchRequest, caller: Asking) -> Response:
    """Keep many texts in one unit, all or none."""
    drafts = [item.draft(caller.project) for item in request.memories]
    done = await caller.run(
        Lane.WRITE, lambda until: caller.app.memory_service.remember_many(drafts, caller.viewer, until)
    )
    caller.context.metrics.writes.inc(len(done))
    return json({"results": to_builtins(done)})


@router.post("/search", response_model=answers.SearchAnswer)
async def search(request: SearchRequest, caller: Asking) -> Response:
    """The memories most worth reading now, best first, each with the parts of its score."""
    project = caller.project if request.project is None else request.project
    query = asked(
        caller.app.redactor,
        text=request.query,
        limit=request.limit,
        scope=request.scope,
        source=request.source,
        agent=None if request.agent_id is None else AgentId(request.agent_id),
        session=request.session,
        project=project,
        now=request.now,
        as_of=request.as_of,
        superseded=request.superseded,
        only_fitting=request.only_fitting,
        diversity=request.diversity,
        budget=request.budget,
    )
    answer = await caller.run(Lane.RECALL, lambda until: caller.app.search_service.recall(query, caller.viewer, until))
    caller.context.metrics.recalls.labels(answer.path.value).inc()
    return json(to_builtins(answered(answer, query, project)))


@router.get("", response_model=answers.PageAnswer)
async def page(
    caller: Asking,
    limit: int = 50,
    after: str | None = None,
    scope: ScopeChoice = ScopeChoice.ALL,
    source: Source | None = None,
    agent_id: Annotated[str | None, Query(alias="agentId")] = None,
    project: str | None = None,
    session: str | None = None,
    tag: str | None = None,
    category: str | None = None,
    status: Status = "all",
    subject: str | None = None,
    as_of: Annotated[Instant, Query(alias="asOf")] = None,
    superseded: bool = False,
    created_after: Annotated[Instant, Query(alias="createdAfter")] = None,
    created_before: Annotated[Instant, Query(alias="createdBefore")] = None,
) -> Response:
    """Memories, newest first. Hand ``next`` back as ``after`` for the following page."""
    listing = Listing(
        limit=limit,
        after=after,
        scope=scope,
        source=source,
        agent=None if agent_id is None else AgentId(agent_id),
        project=project,
        session=session,
        tag=tag,
        category=category,
        status=status,
        subject=subject,
        as_of=as_of,
        superseded=superseded,
        created_after=created_after,
        created_before=created_before,
    )
    app = caller.app
    found = await caller.run(Lane.READ, lambda _: listed(app.reading, app.redactor, listing, caller.viewer))
    return json(to_builtins(found))


@router.delete("", response_model=answers.ForgottenAnswer)
async def forget_path(
    caller: Asking,
    source_path: Annotated[str, Query(alias="sourcePath", min_length=1)],
    agent_id: Annotated[str | None, Query(alias="agentId")] = None,
    project: str | None = None,
) -> Response:
    """Forget what was indexed from a path in a project. Says how many."""
    owner = None if agent_id is None else AgentId(agent_id)
    memory_service = caller.app.memory_service
    count = await caller.run(
        Lane.WRITE, lambda _: memory_service.forget_path(source_path, caller.viewer, owner=owner, project=project)
    )
    return json({"forgotten": count})


@router.get("/stats", response_model=answers.StatsAnswer)
async def stats(caller: Asking) -> Response:
    """Counts of all that the caller may see."""
    return json(to_builtins(await caller.run(Lane.READ, lambda _: caller.app.reading.stats(caller.viewer))))


@router.get("/{memory_id}", response_model=answers.OneMemoryAnswer)
async def get(memory_id: str, caller: Asking, as_of: Annotated[Instant, Query(alias="asOf")] = None) -> Response:
    """One memory by id, also one that expired or was superseded, and what is known of its use. With asOf as it was
    then, where it held."""
    at = to_utc(as_of, "asOf")
    app, memory, viewer = caller.app, memory_id_of(memory_id), caller.viewer
    known, found = await caller.run(
        Lane.READ, lambda _: (app.rating.of(memory, viewer), app.reading.get(memory, viewer, at))
    )
    return _tagged(found, **({} if known.use == NO_USAGE else {"usefulness": to_builtins(known)}))


@router.get("/{memory_id}/chunks", response_model=answers.ChunksAnswer)
async def chunks(memory_id: str, caller: Asking) -> Response:
    """A memory as it is cut for the index."""
    found = await caller.run(Lane.READ, lambda _: caller.app.reading.chunks(memory_id_of(memory_id), caller.viewer))
    return json({"chunks": to_builtins(found)})


@router.get("/{memory_id}/history", response_model=answers.HistoryAnswer)
async def history(memory_id: str, caller: Asking) -> Response:
    """Every version, oldest first, and the memories before and after it."""
    found = await caller.run(Lane.READ, lambda _: caller.app.reading.history(memory_id_of(memory_id), caller.viewer))
    return json(to_builtins(found))


@router.get("/{memory_id}/diff", response_model=answers.DifferenceAnswer)
async def difference(
    memory_id: str,
    caller: Asking,
    older: Annotated[int | None, Query(alias="from")] = None,
    newer: Annotated[int | None, Query(alias="to")] = None,
) -> Response:
    """What is different between two versions: else the present one, or ``to``, and the one before it."""
    reading, viewer = caller.app.reading, caller.viewer
    found = await caller.run(Lane.READ, lambda _: reading.difference(memory_id_of(memory_id), viewer, older, newer))
    return json(to_builtins(found))


@router.patch("/{memory_id}", response_model=answers.MemoryAnswer)
async def edit(
    memory_id: str, request: EditRequest, caller: Asking, if_match: Annotated[str | None, Header()] = None
) -> Response:
    """Change the given fields. With If-Match only if that is still the present version."""
    version = version_of(if_match)
    changes = request.edit()
    return _tagged(
        await caller.run(
            Lane.WRITE,
            lambda until: caller.app.memory_service.edit(
                memory_id_of(memory_id), changes, caller.viewer, version=version, deadline=until
            ),
        )
    )


@router.put("/{memory_id}/rating", response_model=answers.UsefulnessAnswer)
async def rate(memory_id: str, request: RatingRequest, caller: Asking) -> Response:
    """Say whether a memory was of use, in the place of what was said in the same session before."""
    app, memory, viewer = caller.app, memory_id_of(memory_id), caller.viewer
    known = await caller.run(
        Lane.WRITE,
        lambda until: app.rating.rate(memory, viewer, useful=request.useful, session=request.session, until=until),
    )
    return json(to_builtins(known))


@router.delete("/{memory_id}/usefulness", status_code=204)
async def reset_usefulness(memory_id: str, caller: Asking) -> Response:
    """Let nothing be known of its use any more. For operators."""
    await caller.run(Lane.WRITE, lambda _: caller.app.rating.reset(memory_id_of(memory_id), caller.viewer))
    return RawResponse(status_code=204)


@router.delete("/{memory_id}", status_code=204)
async def forget(memory_id: str, caller: Asking, if_match: Annotated[str | None, Header()] = None) -> Response:
    """Forget a memory for good: its text, history, vectors and keywords; of one that was purged, what is kept to bring
    it back."""
    version = version_of(if_match)
    await caller.run(
        Lane.WRITE, lambda _: caller.app.memory_service.forget(memory_id_of(memory_id), caller.viewer, version=version)
    )
    return RawResponse(status_code=204)


def memory_id_of(text: str) -> MemoryId:
    return MemoryId(text.lower())
