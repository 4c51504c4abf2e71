"""The verbs setup-script and workspace."""

from pathlib import Path

import pytest

from hivelore.errors import Proposed
from support.command_line import CommandLine
from support.service import Service


def test_verbs_show_and_decide(cli: CommandLine, service: Service, tmp_path: Path) -> None:
    cli("agent", "add", "vera")
    file = tmp_path / "script.sh"
    file.write_text("echo one\n")
    assert cli("setup-script", "set", str(file), "--agent", "vera").out == "Changed: version 1.\n"
    assert cli("setup-script", "set", str(file), "--agent", "vera").out == "Unchanged.\n"
    assert "echo one" in cli("setup-script", "show", "--agent", "vera").out
    client = service.client(service.operator_key, "vera")
    with pytest.raises(Proposed) as raised:
        client.call("PUT", "/api/agents/vera/setup-script", body={"setupScript": "echo two"})
    assert "setup script of" in cli("review", "list").out
    assert "+echo two" in cli("review", "show", raised.value.proposal).out
    assert cli("review", "accept", raised.value.proposal).code == 0
    batch = cli.json("batches")["batches"][0]["id"]
    assert "1 to 2" in cli("batches", batch).out
    assert "the setup script" in cli("undo", batch).out
    assert cli("setup-script", "set", str(tmp_path), "--agent", "vera").code == 2
    file.write_bytes(b"x" + "ü".encode() * 70_000)
    assert "too large" in cli("setup-script", "set", str(file)).err
    file.write_bytes(b"\xff")
    assert "not UTF-8" in cli("setup-script", "set", str(file)).err


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


def test_a_workspace_is_prepared_and_its_start_up_file_run(
    cli: CommandLine, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("agent", "add", "walt")
    cli("setup-script", "set", "-", "--agent", "walt", stdin=b"echo ran > ran; exit 3")
    done = cli.json("workspace", "prepare", "--agent", "walt", "--no-repos")
    assert (done["workspace"], done["startUpFile"]) == (str(workspace), str(workspace / "start-up.sh"))
    assert done["exitCode"] is None
    assert not (workspace / "ran").exists()
    monkeypatch.setenv("HIVELORE_RUN_SETUP_SCRIPTS", "1")
    result = cli("workspace", "prepare", "--agent", "walt", "--no-repos", "--json")
    assert (result.code, result.json["exitCode"]) == (3, 3)
    assert "start-up.sh failed with exit code 3" in result.err
    assert (workspace / "ran").exists()
    monkeypatch.setenv("STARTUP_SCRIPT_STRICT", "0")
    assert cli("workspace", "prepare", "--agent", "walt", "--no-repos").code == 0


def test_an_edit_in_the_start_up_file_is_proposed(cli: CommandLine, workspace: Path) -> None:
    cli("agent", "add", "wilma")
    cli("setup-script", "set", "-", "--agent", "wilma", stdin=b"echo one")
    assert cli("setup-script", "sync").code == 2
    cli("workspace", "prepare", "--agent", "wilma", "--no-repos")
    file = workspace / "start-up.sh"
    file.write_text(file.read_text().replace("echo one", "echo two"))
    result = cli("setup-script", "sync", "--agent", "wilma")
    assert (result.code, result.out) == (0, "1 edited script.\n")
    assert "was proposed" in result.err
    assert "echo two" in file.read_text()


def test_an_edit_in_the_folder_of_one_of_several_agents_is_proposed(cli: CommandLine, workspace: Path) -> None:
    cli("agent", "add", "willa")
    cli("setup-script", "set", "-", "--agent", "willa", stdin=b"echo one")
    assert cli("setup-script", "sync", "--own-folder", "--agent", "willa").code == 2
    cli("workspace", "prepare", "--agent", "willa", "--own-folder", "--no-repos")
    (file,) = workspace.glob("agents/*/start-up.sh")
    file.write_text(file.read_text().replace("echo one", "echo two"))
    result = cli("setup-script", "sync", "--own-folder", "--agent", "willa")
    assert (result.code, result.out) == (0, "1 edited script.\n")
    assert "was proposed" in result.err


def test_the_key_of_an_operator_needs_an_agent(
    cli: CommandLine, service: Service, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_KEY", service.operator_key)
    result = cli("workspace", "prepare")
    assert result.code == 2
    assert "--agent" in result.err
