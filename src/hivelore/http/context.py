"""What every route works with: the application, its pools, and who asks."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from msgspec import structs

from hivelore.api import calls
from hivelore.core.agents import Viewer
from hivelore.core.operation import Call, Lane, Operation
from hivelore.errors import Invalid
from hivelore.http.auth import Authenticator, project_of
from hivelore.http.incidents import Incidents
from hivelore.http.metrics import Metrics
from hivelore.http.pools import Pools
from hivelore.runtime.app import Application
from hivelore.runtime.logs import SLOW_REQUEST, log_event

R = TypeVar("R")
T = TypeVar("T")
_ID = re.compile(r"[0-9A-Fa-f-]{6,36}")
"""An id or its beginning."""


@dataclass(frozen=True, slots=True)
class Context:
    app: Application
    pools: Pools
    gate: Authenticator
    metrics: Metrics
    mishaps: Incidents

    def deadline(self, lane: Lane) -> float:
        """When a call that begins now is given up, on the application's clock."""
        return self.app.clock.monotonic() + DEADLINES[lane]

    async def answer(self, operation: Operation[..., R], request: Any, viewer: Viewer, project: str | None) -> R:
        """Runs a declared operation in the pool of its lane, counts it, and logs it if it was slow."""
        began = self.app.clock.monotonic()
        call = Call(viewer=viewer, project=project, deadline=began + DEADLINES[operation.lane])
        try:
            result = await self.pools.run(
                operation.lane, lambda: calls.run(self.app, operation, request, call), viewer.agent
            )
        finally:
            self._log_if_slow(operation, request, viewer, self.app.clock.monotonic() - began)
        if operation.stored is not None:
            self.metrics.writes.inc(operation.stored(result))
        if operation.retrieval_mode is not None:
            self.metrics.recalls.labels(operation.retrieval_mode(result)).inc()
        return result

    def _log_if_slow(self, operation: Operation[..., Any], request: Any, viewer: Viewer, seconds: float) -> None:
        """Logs the operation, its time, the agent, and the ids in the path: no contents."""
        if seconds < SLOW_REQUEST or operation.lane is Lane.SLOW:
            return
        in_path = () if operation.http is None else operation.http.in_path
        ids = {
            field.encode_name: value
            for field in structs.fields(request)
            if field.encode_name in in_path and _ID.fullmatch(value := str(getattr(request, field.name)))
        }
        log_event(
            "Slow request.",
            logging.WARNING,
            operation=operation.name,
            seconds=round(seconds, 3),
            agent=viewer.agent,
            **ids,
        )


DEADLINES = {Lane.RECALL: 10.0, Lane.READ: 10.0, Lane.WRITE: 30.0, Lane.SLOW: 600.0}
"""Seconds a call may take before it is given up."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One request: who asks, from which project, and a way to run the blocking services."""

    context: Context
    viewer: Viewer
    project: str | None

    @property
    def app(self) -> Application:
        return self.context.app

    async def run(self, lane: Lane, call: Callable[[float], T]) -> T:
        """Run ``call`` in a pool; it is given its deadline."""
        deadline = self.context.deadline(lane)
        return await self.context.pools.run(lane, lambda: call(deadline), self.viewer.agent)


async def _caller(request: Request) -> Caller:
    context: Context = request.app.state.context
    caller = Caller(context, await context.gate.viewer(request), project_of(request))
    if request.scope["query_string"]:
        _refuse_what_is_not_asked_for(request)
    return caller


def _refuse_what_is_not_asked_for(request: Request) -> None:
    """A filter whose name has a slip of the pen would else be none, and one that comes twice half of what was meant."""
    route: APIRoute = request.scope["route"]
    known = {field.alias for field in route.dependant.query_params}
    lists = {field.alias for field in route.dependant.query_params if _takes_many(field.field_info.annotation)}
    seen: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            choice = f"what there is: {', '.join(sorted(known))}" if known else "there is none here"
            raise Invalid(f"There is no parameter {name[:40]!r}; {choice}.", field="query")
        if name in seen and name not in lists:
            raise Invalid(f"{name} comes twice: say it once.", field=name)
        seen.add(name)


def _takes_many(annotation: object) -> bool:
    return any(get_origin(one) is list for one in (annotation, *get_args(annotation)))


Asking = Annotated[Caller, Depends(_caller)]
