"""The service as one ASGI application: REST, MCP, health and metrics behind the request guard."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from hivelore.api.registry import OPERATIONS
from hivelore.errors import HiveloreError
from hivelore.http import health, openapi, operations
from hivelore.http.metrics import HealthMetrics, Metrics, MissedAnswerMetrics, TaskMetrics
from hivelore.http.middleware import IncidentResponses, Incidents, RequestGuard, RequestMetrics
from hivelore.http.operations import (
    LOCAL_RECALLS,
    LOCAL_WRITES,
    REMOTE_RECALLS,
    REMOTE_WRITES,
    Authenticator,
    Context,
    Pools,
)
from hivelore.http.problems import TITLES, on_error, problem
from hivelore.mcp.lazy import PATH as MCP_PATH
from hivelore.mcp.lazy import LazyMcpServer
from hivelore.runtime.app import Application
from hivelore.sessions.model import HandoverState

_CODES = {404: "not-found", 405: "method-not-allowed"}
_DETAILS = {
    404: "There is nothing here. GET /openapi.json lists what there is.",
    405: "This cannot be done here. GET /openapi.json lists what can.",
}


def create_asgi(app: Application, loaded: Callable[[], None] = lambda: None) -> ASGIApp:
    """Returns the service of a running application, which it does not close. ``loaded`` is called some time after the
    start, when the last module has been imported."""
    recalls = LOCAL_RECALLS if app.settings.is_all_here else REMOTE_RECALLS
    writes = REMOTE_WRITES if app.store.is_shared else LOCAL_WRITES
    pools, metrics = Pools(recalls, writes), Metrics()
    incidents = Incidents(app.redactor, app.clock)
    context = Context(app, pools, Authenticator(app.agents, pools, app.clock, app.health), metrics, incidents)
    _add_gauges(app, metrics)
    mcp = LazyMcpServer(context, loaded)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with mcp.opened():
            yield
        pools.close()

    api = Starlette(
        routes=[
            *operations.routes(OPERATIONS),
            *health.ROUTES,
            openapi.route(OPERATIONS),
            operations.OperationRoute(MCP_PATH, mcp),
        ],
        middleware=[Middleware(IncidentResponses, incidents=incidents)],
        exception_handlers={HiveloreError: on_error, HTTPException: _on_http},
        lifespan=lifespan,
    )
    api.router.redirect_slashes = False  # A request with an empty id would be redirected to the route without one.
    api.state.context = context
    return RequestGuard(RequestMetrics(api, metrics, app.clock.monotonic), app.settings.allowed_hosts)


def _add_gauges(app: Application, metrics: Metrics) -> None:
    """Adds the metrics that are read from the application on each scrape."""

    def gauge(name: str, text: str, look: Callable[[], int]) -> None:
        metrics.gauge(f"hivelore_{name}", text, lambda: app.health.try_read(look))

    gauge("embedding_queue", "Passages that wait for a vector.", app.embedding.pending)
    gauge("summary_tokens", "Tokens that summaries took today (UTC).", app.token_quota.today)
    for state in HandoverState:
        gauge(
            f"summaries_{state.value}",
            f"Ends of sessions whose summary is {state.value}, of the last days.",
            lambda state=state: app.session_summaries.counts()[state],
        )
    gauge(
        "recalls_lost",
        "Recalls that were not logged, because the store could not be written.",
        lambda: app.write_buffer.lost_recalls,
    )
    gauge("hook_events_waiting", "Events that hooks have put aside.", app.spool_drain.waiting)
    gauge("hook_events_lost", "Events that hooks could not even put aside.", app.spool_drain.lost)
    metrics.registry.register(HealthMetrics(app.health))
    metrics.of_all_tasks.register(TaskMetrics(lambda: app.health.try_read(app.tasks.counts)))
    metrics.registry.register(MissedAnswerMetrics(lambda: app.health.try_read(app.capture.missed_answers)))


async def _on_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    detail = _DETAILS.get(status) or str(error.detail) or TITLES.get(status, "Error")
    answer = problem(status, detail, _CODES.get(status, "error"))
    answer.headers.update(error.headers or {})
    return answer
