"""The routes that monitors of the service call: health, without a key, and metrics."""

from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hivelore.core.agents import Role
from hivelore.core.operation import Lane
from hivelore.errors import Invalid
from hivelore.health.model import Reason
from hivelore.http.metrics import CONTENT_TYPE
from hivelore.http.operations import Context, OperationRoute
from hivelore.http.problems import problem

LIVE, READY, HEALTH, METRICS = "/health/live", "/health/ready", "/health", "/metrics"
_OK = b'{"status":"ok"}'


async def _live(_: Request) -> Response:
    return Response(_OK, media_type="application/json")


async def _ready(request: Request) -> Response:
    context: Context = request.app.state.context
    health = context.app.health.health()
    if health.is_ready:
        return Response(_OK, media_type="application/json")
    reasons = tuple(
        Reason(cause=one.cause, message=one.message, remedy=one.remedy, since=one.since, lasting=one.lasting)
        for one in health.problems
    )
    detail = " ".join(f"{one.message} {one.remedy}" for one in health.problems)
    return problem(503, detail, "unready", reasons=reasons)


async def _metrics(request: Request) -> Response:
    context: Context = request.app.state.context
    viewer = await context.authenticator.viewer_during_outage(request)
    if request.scope["query_string"]:
        raise Invalid("The metrics take no parameters.", field="query")

    def measure() -> bytes:
        usage = context.app.health.try_read(lambda: context.app.tasks.usage_today(viewer))
        return context.metrics.text(usage or (), with_all_tasks=viewer.role is not Role.WORKER)

    text = await context.pools.run(Lane.READ, measure, viewer.agent)
    return PlainTextResponse(text, media_type=CONTENT_TYPE)


ROUTES = [
    OperationRoute(path, endpoint)
    for path, endpoint in ((LIVE, _live), (READY, _ready), (HEALTH, _ready), (METRICS, _metrics))
]


def _described(name: str, summary: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    answer = {"description": "The result.", "content": {media_type: {"schema": schema}}}
    return {"get": {"operationId": name, "tags": ["service"], "summary": summary, "responses": {"200": answer}}}


_STATUS = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
_READY = "Returns 200 if the service can do its work, else 503 with `reasons`."
DESCRIPTION = {
    LIVE: _described("live", "Returns 200 while the process runs.", "application/json", _STATUS),
    READY: _described("ready", _READY, "application/json", _STATUS),
    HEALTH: _described("health", _READY, "application/json", _STATUS),
    METRICS: _described("metrics", "Returns metrics in Prometheus' text format.", "text/plain", {"type": "string"}),
}
"""The paths for OpenAPI."""
