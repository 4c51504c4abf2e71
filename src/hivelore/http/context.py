"""What every route works with: the application, its pools, and who asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar, get_args, get_origin

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from hivelore.core.agents import Viewer
from hivelore.core.operation import Lane
from hivelore.errors import Invalid
from hivelore.http.auth import Authenticator, project_of
from hivelore.http.incidents import Incidents
from hivelore.http.metrics import Metrics
from hivelore.http.pools import Pools
from hivelore.runtime.app import Application

T = TypeVar("T")


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
