"""During a rebuild of the keyword index every interface says that keywords are incomplete (A24)."""

from pathlib import Path

import pytest

import hivelore
from hivelore.indexing import rebuild
from hivelore.search.service import INCOMPLETE
from support.bridge import Bridge
from support.command_line import CommandLine
from support.service import Service, environment
from support.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a memory that another engine has indexed."""
    home = tmp_path / "home"
    with Service(home, keywords="fts5") as service:
        service.client(service.agent_key).call(
            "POST",
            "/api/memory/index",
            body={"content": "The kettle boils.", "name": "kettle", "scope": "swarm", "source": "manual"},
        )
    return home


def said(service: Service, command_line: CommandLine, folder: Path) -> dict[str, str]:
    """Returns the message of each interface."""
    rest = service.client(service.agent_key).call("POST", "/api/memory/search", body={"query": "kettle"})
    with Bridge(environment(service.home), folder) as bridge:
        mcp = bridge.call("memory-search", query="kettle")
    with hivelore.open(service.url, key=service.agent_key) as hive:
        client = hive.recall("kettle").message
    shown = command_line("recall", "kettle")
    assert shown.code == 0
    return {"rest": rest["message"], "mcp": mcp["message"], "client": client, "cli": shown.err}


def test_every_interface_of_a_service_says_so_until_the_rebuild_is_done(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HIVELORE_HOME", str(home))
    monkeypatch.setattr(rebuild, "STEP_SECONDS", 0.0)
    with Service(home) as service:
        command_line = CommandLine(monkeypatch, capsys)
        answer = said(service, command_line, tmp_path)
        assert {interface: INCOMPLETE in message for interface, message in answer.items()} == dict.fromkeys(
            answer, True
        )
        monkeypatch.undo()
        monkeypatch.setenv("HIVELORE_HOME", str(home))
        until(service.app.index_rebuild.is_complete)
        answer = said(service, command_line, tmp_path)
        assert {interface: INCOMPLETE in message for interface, message in answer.items()} == dict.fromkeys(
            answer, False
        )


def test_an_embedded_hive_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    monkeypatch.setattr(rebuild, "STEP_SECONDS", 0.0)
    with hivelore.open(home) as hive:
        assert INCOMPLETE in hive.recall("kettle").message
