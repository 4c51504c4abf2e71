"""The routes about the service itself: agents and keys, who I am, figures, embedding again."""

from collections.abc import Sequence

from fastapi import APIRouter, Response
from starlette.responses import PlainTextResponse
from starlette.responses import Response as RawResponse

from hivelore.api.requests import LIMITS
from hivelore.core.agents import Agent, ApiKey, Role
from hivelore.core.jobs import JobId
from hivelore.core.operation import Lane
from hivelore.errors import Forbidden
from hivelore.http.context import Asking, ImplicitFeedback
from hivelore.http.metrics import CONTENT_TYPE
from hivelore.http.rest import answers
from hivelore.http.rest.memories import json
from hivelore.http.rest.models import AgentRequest, ReembedRequest
from hivelore.memories import codec

router = APIRouter()


@router.get("/metrics", tags=["service"], response_class=PlainTextResponse)
async def metrics(caller: ImplicitFeedback) -> Response:
    """Figures in Prometheus' text format."""
    text = await caller.run(Lane.READ, lambda _: caller.context.metrics.text())
    return RawResponse(text, media_type=CONTENT_TYPE)


@router.get("/api/status", tags=["service"], response_model=answers.StatusAnswer)
async def status(caller: ImplicitFeedback) -> Response:
    """Engines, model and queue."""
    return json(await caller.run(Lane.READ, lambda _: caller.app.status()))


@router.get("/api/check", tags=["service"], response_model=answers.CheckAnswer)
async def check(caller: Asking) -> Response:
    """Try to read, write and search, read the whole database for damage, and compare the indexes with it; what they
    lack is repaired. Takes a while. For operators."""
    _operator(caller)
    checked = await caller.run(Lane.SLOW, lambda _: caller.app.integrity_check.check())
    found = {"problems": list(checked.problems), "repairs": list(checked.repairs), "failedEmbeddings": checked.failed}
    return json(found)


@router.get("/api/me", tags=["agents"], response_model=answers.MeAnswer)
async def me(caller: Asking) -> Response:
    """Who this key is, and what it may do."""
    viewer, app = caller.viewer, caller.app
    own = viewer.agent
    agent = None if own is None else await caller.run(Lane.READ, lambda _: app.agents.agent(own))
    return json(
        {
            "agentId": viewer.agent,
            "name": None if agent is None else agent.name,
            "role": viewer.role.value,
            "acting": viewer.acting,
            "capabilities": list(app.settings.capabilities),
            "leadSees": app.settings.lead_sees.value,
            "limits": LIMITS,
        }
    )


@router.get("/api/agents", tags=["agents"], response_model=answers.AgentsAnswer)
async def agents(caller: Asking) -> Response:
    """All agents; their keys, without secrets, for operators."""
    found = await caller.run(Lane.READ, lambda _: caller.app.agents.list_agents())
    operator = caller.viewer.role is Role.OPERATOR

    def shown(agent: Agent, keys: Sequence[ApiKey]) -> codec.Object:
        return codec.agent(agent) | ({"keys": [codec.api_key(key) for key in keys]} if operator else {})

    return json({"agents": [shown(agent, keys) for agent, keys in found]})


@router.post("/api/agents", status_code=201, tags=["agents"], response_model=answers.IssuedAnswer)
async def add_agent(request: AgentRequest, caller: Asking) -> Response:
    """A new agent with its key, which is shown this one time. The name of one without a key that works gives that
    agent a new one; with a key that works it is a conflict."""
    _operator(caller)
    issued = await caller.run(
        Lane.WRITE, lambda _: caller.app.agents.add(request.name, Role(request.role), request.expires_at)
    )
    assert issued.agent is not None
    return json(
        {"agent": codec.agent(issued.agent), "key": issued.text, "expiresAt": codec.instant(issued.key.expires_at)}, 201
    )


@router.delete("/api/agents/{agent_or_key}", tags=["agents"], response_model=answers.RevokedAnswer)
async def revoke(agent_or_key: str, caller: Asking) -> Response:
    """Revoke one key by its id, or all keys of an agent."""
    _operator(caller)
    count = await caller.run(Lane.WRITE, lambda _: caller.app.agents.revoke(agent_or_key))
    return json({"revoked": count})


@router.post("/api/memory/re-embed", status_code=202, tags=["service"], response_model=answers.JobAnswer)
async def reembed(caller: Asking, request: ReembedRequest | None = None) -> Response:
    """Give every passage a vector of the configured model. A second call joins the first."""
    everything = request is not None and request.everything
    job = await caller.run(Lane.WRITE, lambda _: caller.app.reembedder.begin(caller.viewer, everything=everything))
    return json(codec.job(job), 202)


@router.get("/api/memory/re-embed/{job_id}", tags=["service"], response_model=answers.JobAnswer)
async def look_at_reembedding(job_id: str, caller: Asking) -> Response:
    job = await caller.run(Lane.READ, lambda _: caller.app.reembedder.status(JobId(job_id), caller.viewer))
    return json(codec.job(job))


@router.delete("/api/memory/re-embed/{job_id}", tags=["service"], response_model=answers.JobAnswer)
async def cancel_reembedding(job_id: str, caller: Asking) -> Response:
    job = await caller.run(Lane.WRITE, lambda _: caller.app.reembedder.cancel(JobId(job_id), caller.viewer))
    return json(codec.job(job))


def _operator(caller: Asking) -> None:
    if caller.viewer.role is not Role.OPERATOR:
        raise Forbidden("Only an operator may do this. Use the operator's key.")
