"""A hive in this process and one behind a service. Both have the same memories: one of ada, one of bob, one shared."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

import hivelore
from hivelore.core.agents import Interface as Way
from hivelore.core.agents import Role
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.runtime.app import Application
from support.bridge import Bridge
from support.command_line import CommandLine, settings
from support.interfaces import BridgeInterface, CliInterface, Interface, McpServer, PythonInterface, RestInterface
from support.memories import EVERYTHING
from support.postgres import service_on
from support.service import Service, environment

HIDDEN = "quokka"
"""A word that only bob's memory has."""


@dataclass(frozen=True)
class Side:
    """One of the two hives, with ada's key and the ids of two memories."""

    app: Application
    key: str
    own: str
    hidden: str

    def state(self) -> dict[str, Any]:
        """Returns every memory, without fields that reads change, after an integrity check."""
        assert list(self.app.store.check()) == []
        with self.app.store.read() as view:
            return {memory.id: _kept(memory) for memory in view.page(EVERYTHING, None, 10_000)}

    def forget(self, memories: set[str]) -> None:
        operator = self.app.agents.viewer(_operator_key(self.app), Way.SERVICE)
        for memory in memories:
            self.app.memory_service.forget(MemoryId(memory), operator)


def _operator_key(app: Application) -> str:
    return (app.settings.home / "operator.key").read_text().strip()


def _kept(memory: Memory) -> Any:
    parts = {name: getattr(memory, name) for name in Memory.__struct_fields__}
    return {name: part for name, part in parts.items() if name not in ("accessed_at", "access_count")}


def _filled(app: Application) -> Side:
    """Adds two agents, with memories of each."""
    ada, bob = (app.agents.add(name, Role.WORKER).text for name in ("ada", "bob"))
    drafts = [
        (ada, Draft(content="The wombat digs.", tags=("kept",))),
        (bob, Draft(content=f"The {HIDDEN} hides.", name=f"about the {HIDDEN}", tags=(HIDDEN,))),
        (bob, Draft(content="The dunnart is everybody's.", scope=Scope.SWARM)),
    ]
    viewers = {key: app.agents.viewer(key, Way.PYTHON) for key in (ada, bob)}
    own, hidden, _ = [app.memory_service.remember(draft, viewers[key]).memory.id for key, draft in drafts]
    return Side(app, ada, own, hidden)


@dataclass(frozen=True)
class World:
    sides: dict[str, Side]
    """By name of interface."""
    hives: dict[str, Hive]
    service: Service
    bridge: Bridge
    """One process for the whole module; no request may end it."""


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    kind = getattr(request, "param", "sqlite")
    folder, home = tmp_path_factory.mktemp("no project"), tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as changes, Service(home, **service_on(kind)) as service:
        for name, value in settings(tmp_path_factory.mktemp("embedded")).items():
            changes.setenv(name, value)
        for name, value in service_on(kind).items():
            changes.setenv(f"HIVELORE_{name.upper()}", value)
        changes.delenv("HIVELORE_URL")
        with hivelore.open() as first:
            assert isinstance(first, EmbeddedHive)
            key = _filled(first._app).key
        behind = _filled(service.app)
        with hivelore.open(key=key) as embedded, hivelore.open(service.url, key=behind.key) as client:
            assert isinstance(embedded, EmbeddedHive)
            here = _found(embedded._app, key)
            sides = {"embedded": here} | dict.fromkeys(("client", "rest", "mcp", "bridge", "cli"), behind)
            with Bridge(environment(service.home, HIVELORE_KEY=behind.key), folder) as bridge:
                yield World(sides, {"embedded": embedded, "client": client}, service, bridge)
                bridge.hang_up()
                assert bridge.ended() == 0


def _found(app: Application, key: str) -> Side:
    """Returns the side that was filled before it was reopened."""
    with app.store.read() as view:
        ids = {memory.content.split()[1]: memory.id for memory in view.page(EVERYTHING, None, 10)}
    return Side(app, key, ids["wombat"], ids[HIDDEN])


@pytest.fixture
def interface(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Interface]:
    """Returns an interface by name, with ada as the caller."""

    def cli() -> Interface:
        monkeypatch.setenv("HIVELORE_HOME", str(world.service.home))
        monkeypatch.setenv("HIVELORE_KEY", world.sides["cli"].key)
        return CliInterface(CommandLine(monkeypatch, capsys))

    port, key = world.service.port, world.sides["rest"].key
    builders: dict[str, Callable[[], Interface]] = {
        "embedded": lambda: PythonInterface("embedded", world.hives["embedded"]),
        "client": lambda: PythonInterface("client", world.hives["client"]),
        "rest": lambda: RestInterface(port, key),
        "mcp": lambda: McpServer(port, key),
        "bridge": lambda: BridgeInterface(world.bridge),
        "cli": cli,
    }
    return lambda name: builders[name]()
