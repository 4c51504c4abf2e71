"""From a request to the viewer behind it."""

from dataclasses import dataclass
from urllib.parse import unquote

from starlette.requests import Request

from hivelore.core.agents import Interface, Viewer
from hivelore.core.clock import Clock
from hivelore.core.operation import Lane
from hivelore.errors import Unavailable
from hivelore.health.model import Cause
from hivelore.health.state import HealthState
from hivelore.http.pools import Pools
from hivelore.identity.service import Agents

FRESH = 1.0
"""Seconds that a checked key is taken as still good; hearing that one was revoked ends that at once."""
WATCHED = 300.0
"""Seconds after that in which it may still look at the state of a service whose database fails."""
_MOST_REMEMBERED = 4_096
_DOORS = {"python": Interface.PYTHON, "cli": Interface.CLI}


@dataclass(frozen=True, slots=True)
class _Remembered:
    viewer: Viewer
    until: float


class Authenticator:
    def __init__(self, agents: Agents, pools: Pools, clock: Clock, health: HealthState) -> None:
        self._agents = agents
        self._pools = pools
        self._clock = clock
        self._health = health
        self._known: dict[tuple[str | None, str | None, Interface], _Remembered] = {}
        """Another one once all is forgotten: what was still being asked then goes into the old one."""
        agents.on_change(self.forget)

    async def viewer(self, request: Request, interface: Interface = Interface.REST) -> Viewer:
        """Who asks. Raises Unauthenticated or Forbidden."""
        return await self.known(
            key_of(request), agent_of(request), _interface(request) if interface is Interface.REST else interface
        )

    async def watcher(self, request: Request) -> Viewer:
        """As ``viewer``; while the database fails, whoever was known a short while ago."""
        found = self._known.get((key_of(request), agent_of(request), _interface(request)))
        if found is None or self._clock.monotonic() - found.until > WATCHED:
            return await self.viewer(request)
        if self._health.has_failure(Cause.SERVER):  # Asking it would take long.
            return found.viewer
        try:
            return await self.viewer(request)
        except Unavailable:
            return found.viewer

    async def known(self, key: str | None, agent: str | None, interface: Interface) -> Viewer:
        asked, now, known = (key, agent, interface), self._clock.monotonic(), self._known
        found = known.get(asked)
        if found is not None and found.until > now:
            return found.viewer
        viewer = await self._pools.run(Lane.READ, lambda: self._agents.viewer(key, interface, agent))
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[asked] = _Remembered(viewer, now + FRESH)
        return viewer

    def forget(self) -> None:
        self._known = {}


def _interface(request: Request) -> Interface:
    return _DOORS.get(request.headers.get("x-hivelore-door", ""), Interface.REST)


def key_of(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def agent_of(request: Request) -> str | None:
    given = request.headers.get("x-agent-id")
    return unquote(given).strip() if given else None


def project_of(request: Request) -> str | None:
    given = request.headers.get("x-hivelore-project")
    return unquote(given) if given else None
