"""What every route works with: the application, its pools, and who asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from hivelore.app import Application
from hivelore.domain.agent import Viewer
from hivelore.server.gate import Gate, project_of
from hivelore.server.metrics import Metrics
from hivelore.server.pools import Lane, Pools

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    app: Application
    pools: Pools
    gate: Gate
    metrics: Metrics

    def deadline(self, lane: Lane) -> float:
        """When a call that begins now is given up, on the application's clock."""
        return self.app.clock.monotonic() + DEADLINES[lane]


DEADLINES = {Lane.RECALL: 10.0, Lane.WRITE: 30.0, Lane.SLOW: 600.0}
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
        return await self.context.pools.run(lane, lambda: call(deadline))


async def _caller(request: Request) -> Caller:
    context: Context = request.app.state.context
    return Caller(context, await context.gate.viewer(request), project_of(request))


Asking = Annotated[Caller, Depends(_caller)]
