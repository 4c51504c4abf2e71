"""From a request to the viewer behind it."""

from dataclasses import dataclass
from urllib.parse import unquote

from starlette.requests import Request

from hivelore.domain.agent import Door, Viewer
from hivelore.ports import Clock
from hivelore.server.pools import Lane, Pools
from hivelore.services.agents import Agents

FRESH = 1.0
"""Seconds that a checked key is taken as still good; hearing that one was revoked ends that at once."""
_MOST_REMEMBERED = 4_096
_DOORS = {"python": Door.PYTHON, "cli": Door.CLI}


@dataclass(frozen=True, slots=True)
class _Remembered:
    viewer: Viewer
    until: float


class Gate:
    def __init__(self, agents: Agents, pools: Pools, clock: Clock) -> None:
        self._agents = agents
        self._pools = pools
        self._clock = clock
        self._known: dict[tuple[str | None, str | None, Door], _Remembered] = {}
        """Another one once all is forgotten: what was still being asked then goes into the old one."""
        agents.on_change(self.forget)

    async def viewer(self, request: Request, door: Door = Door.REST) -> Viewer:
        """Who asks. Raises Unauthenticated or Forbidden."""
        if door is Door.REST:
            door = _DOORS.get(request.headers.get("x-hivelore-door", ""), door)
        return await self.known(key_of(request), agent_of(request), door)

    async def known(self, key: str | None, agent: str | None, door: Door) -> Viewer:
        asked, now, known = (key, agent, door), self._clock.monotonic(), self._known
        found = known.get(asked)
        if found is not None and found.until > now:
            return found.viewer
        viewer = await self._pools.run(Lane.READ, lambda: self._agents.viewer(key, door, agent))
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[asked] = _Remembered(viewer, now + FRESH)
        return viewer

    def forget(self) -> None:
        self._known = {}


def key_of(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


def agent_of(request: Request) -> str | None:
    given = request.headers.get("x-agent-id")
    return unquote(given).strip() if given else None


def project_of(request: Request) -> str | None:
    given = request.headers.get("x-hivelore-project")
    return unquote(given) if given else None
