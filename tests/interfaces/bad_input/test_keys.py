"""Bad keys at each interface. Access is refused, and the data does not change."""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hivelore
from hivelore.core.agents import Role
from hivelore.errors import HiveloreError
from hivelore.python.hive import EmbeddedHive
from hivelore.runtime.app import Application
from support.bad_input import INTERFACES, UNAUTHENTICATED, Expected, expected_at, names_every_interface
from support.bridge import Bridge
from support.command_line import CommandLine, settings
from support.interfaces import OK, BridgeInterface, CliInterface, McpServer, Outcome, PythonInterface, RestInterface
from support.service import Service, environment

WRONG, EXPIRED, REVOKED = "a wrong secret", "an expired one", "a revoked one"
"""Placeholders for keys that a place has or had."""
KEYS: Mapping[str, tuple[str | None, Expected]] = {
    # A user who can open the files is the operator.
    "no key": (None, UNAUTHENTICATED | {"embedded": OK, "bridge": OK, "cli": OK}),
    # An environment variable that is empty counts as unset.
    "empty key": ("", UNAUTHENTICATED | {"bridge": OK, "cli": OK}),
    "blank key": (" ", UNAUTHENTICATED),
    "nonsense for a key": ("nonsense", UNAUTHENTICATED),
    "two words for a key": ("two words", UNAUTHENTICATED),
    "half of a key": ("hl_1_0123456789_abc", UNAUTHENTICATED),
    "long key": ("hl_1_" + "0" * 20_000, UNAUTHENTICATED),
    "unknown key": ("hl_1_0000000000_" + "0" * 64, UNAUTHENTICATED),
    "key of another swarm": ("hl_2_0000000000_" + "0" * 64, UNAUTHENTICATED),
    "wrong secret": (WRONG, UNAUTHENTICATED),
    "expired key": (EXPIRED, UNAUTHENTICATED),
    "revoked key": (REVOKED, UNAUTHENTICATED),
}


@dataclass(frozen=True)
class Places:
    """A service, and a data directory that no process has open; each with keys that were once valid."""

    service: Service
    folder: Path
    keys: Mapping[str, Mapping[str, str]]

    def memories(self) -> list[str]:
        found: list[str] = []
        for place in (self.folder, self.service.home):
            with hivelore.open(place, key=(place / "operator.key").read_text().strip()) as hive:
                found += [memory.content for memory in hive.list().memories]
        return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Generator[Places]:
    folder = tmp_path_factory.mktemp("folder")
    with pytest.MonkeyPatch.context() as changes, Service(tmp_path_factory.mktemp("service")) as service:
        for name, value in settings(tmp_path_factory.mktemp("nowhere")).items():
            changes.setenv(name, value)
        changes.delenv("HIVELORE_URL")
        with hivelore.open(folder) as hive:
            assert isinstance(hive, EmbeddedHive)
            hive.remember("Kept in a folder.")
            here = _issued(hive._app)
        with hivelore.open(service.home) as hive:
            hive.remember("Kept by a service.")
        yield Places(service, folder, dict.fromkeys(INTERFACES, _issued(service.app)) | {"embedded": here})


def _issued(app: Application) -> Mapping[str, str]:
    revoked, ada = app.agents.add("rex", Role.WORKER), app.agents.add("ada", Role.WORKER)
    app.agents.revoke("rex")
    assert ada.agent is not None
    expired = app.agents.issue(ada.agent.id, datetime(2020, 1, 1, tzinfo=UTC))
    other = ada.text[:-1] + ("0" if ada.text[-1] != "0" else "1")
    return {WRONG: other, EXPIRED: expired.text, REVOKED: revoked.text}


ListMemories = Callable[[str, str | None], Outcome]


@pytest.fixture
def list_memories(places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> ListMemories:
    """Lists memories at an interface, with a key."""

    def python(name: str, place: str | Path, key: str | None) -> Outcome:
        try:
            with hivelore.open(place, key=key) as hive:
                return PythonInterface(name, hive).ask("list")
        except HiveloreError as error:
            return Outcome(type(error).__name__, str(error), str(error))

    def cli(key: str | None) -> Outcome:
        monkeypatch.setenv("HIVELORE_HOME", str(places.service.home))
        if key is not None:
            monkeypatch.setenv("HIVELORE_KEY", key)
        return CliInterface(CommandLine(monkeypatch, capsys)).ask("list")

    def bridge(key: str | None) -> Outcome:
        given = {} if key is None else {"HIVELORE_KEY": key}
        with Bridge(environment(places.service.home, **given), places.folder) as started:
            return BridgeInterface(started).ask("recall", query="kept")

    service = places.service
    ways: Mapping[str, Callable[[str | None], Outcome]] = {
        "embedded": lambda key: python("embedded", places.folder, key),
        "client": lambda key: python("client", service.url, key),
        "rest": lambda key: RestInterface(service.port, key).ask("list"),
        "mcp": lambda key: McpServer(service.port, key).ask("recall", query="kept"),
        "bridge": bridge,
        "cli": cli,
    }
    return lambda interface, key: ways[interface](places.keys[interface].get(key or "", key))


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", KEYS)
def test_cell(places: Places, list_memories: ListMemories, name: str, interface: str) -> None:
    key, expected = KEYS[name]
    outcome = list_memories(interface, key)
    assert outcome.kind == expected_at(interface, expected), outcome.said
    if outcome.kind != OK:
        assert re.search(r"Send it as|Ask an operator|Start the service once", outcome.said)
        assert "Kept" not in outcome.shown
        assert not (key and len(key) > 15 and key in outcome.shown)
    assert places.memories() == ["Kept in a folder.", "Kept by a service."]


def test_every_cell_has_an_expectation() -> None:
    assert [name for name, (_, expected) in KEYS.items() if not names_every_interface(expected)] == []
