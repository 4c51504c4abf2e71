"""The context of a request: application, thread pools, authentication, and the run of an operation."""

import logging
import re
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from msgspec import structs
from starlette.requests import Request

from hivelore.core.agents import Interface, Viewer
from hivelore.core.clock import Clock
from hivelore.core.operation import Call, Lane, Operation
from hivelore.errors import Unavailable
from hivelore.health.model import Cause
from hivelore.health.state import HealthState
from hivelore.http.metrics import Metrics
from hivelore.http.middleware import Incidents
from hivelore.http.pools import Pools
from hivelore.identity.service import Agents
from hivelore.runtime.app import Application
from hivelore.runtime.logs import SLOW_REQUEST, log_event

R = TypeVar("R")
T = TypeVar("T")
_ID = re.compile(r"[0-9A-Fa-f-]{6,36}")
"""An id or its beginning."""
FRESH_SECONDS = 1.0
"""Time for which a checked key stays valid. Revoking a key ends that at once."""
OUTAGE_SECONDS = 300.0
"""Time after that for which it may read the status of a service whose database fails."""
_MAX_CHECKED = 4_096
_INTERFACES = {"python": Interface.PYTHON, "cli": Interface.CLI}


@dataclass(frozen=True, slots=True)
class _CheckedKey:
    viewer: Viewer
    until: float


class Authenticator:
    """Finds the viewer for the key of a request, and keeps the answer for a second."""

    def __init__(self, agents: Agents, pools: Pools, clock: Clock, health: HealthState) -> None:
        self._agents = agents
        self._pools = pools
        self._clock = clock
        self._health = health
        self._checked: dict[tuple[str | None, str | None, Interface], _CheckedKey] = {}
        """Replaced, not cleared, when keys change: a check that is still running then fills the old one."""
        agents.on_change(self.forget)

    async def viewer(self, request: Request, interface: Interface = Interface.REST) -> Viewer:
        """Returns the viewer. Raises Unauthenticated or Forbidden."""
        named = _interface_of(request) if interface is Interface.REST else interface
        return await self.viewer_of_key(_key_of(request), _agent_of(request), named)

    async def viewer_during_outage(self, request: Request) -> Viewer:
        """Returns the viewer; while the database fails, also one whose key was checked a short while ago."""
        found = self._checked.get((_key_of(request), _agent_of(request), _interface_of(request)))
        if found is None or self._clock.monotonic() - found.until > OUTAGE_SECONDS:
            return await self.viewer(request)
        if self._health.has_failure(Cause.SERVER):  # A check would wait for the database server.
            return found.viewer
        try:
            return await self.viewer(request)
        except Unavailable:
            return found.viewer

    async def viewer_of_key(self, key: str | None, agent: str | None, interface: Interface) -> Viewer:
        caller, now, checked = (key, agent, interface), self._clock.monotonic(), self._checked
        found = checked.get(caller)
        if found is not None and found.until > now:
            return found.viewer
        viewer = await self._pools.run(Lane.READ, lambda: self._agents.viewer(key, interface, agent))
        if len(checked) >= _MAX_CHECKED:
            checked.clear()
        checked[caller] = _CheckedKey(viewer, now + FRESH_SECONDS)
        return viewer

    def forget(self) -> None:
        self._checked = {}


def _interface_of(request: Request) -> Interface:
    return _INTERFACES.get(request.headers.get("x-hivelore-interface", ""), Interface.REST)


def _key_of(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def _agent_of(request: Request) -> str | None:
    given = request.headers.get("x-agent-id")
    return unquote(given).strip() if given else None


def project_of(request: Request) -> str | None:
    given = request.headers.get("x-hivelore-project")
    return unquote(given) if given else None


@dataclass(frozen=True, slots=True)
class Context:
    app: Application
    pools: Pools
    authenticator: Authenticator
    metrics: Metrics
    incidents: Incidents

    def deadline(self, lane: Lane) -> float:
        """Returns the deadline of a call that begins now, on the application's clock."""
        return self.app.clock.monotonic() + DEADLINES[lane]

    async def answer(self, operation: Operation[..., R], request: Any, viewer: Viewer, project: str | None) -> R:
        """Runs a declared operation in the pool of its lane, counts it, and logs it if it was slow."""
        began = self.app.clock.monotonic()
        call = Call(viewer=viewer, project=project, deadline=began + DEADLINES[operation.lane])
        try:
            result = await self.pools.run(operation.lane, lambda: operation.run(self.app, request, call), viewer.agent)
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
"""Maximum seconds for a call."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool."""

    context: Context
    viewer: Viewer
    project: str | None
