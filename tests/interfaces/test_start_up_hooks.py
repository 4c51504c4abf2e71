"""Edits of the start-up file, proposed by real hooks (D42)."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from hivelore.hooks import start_up_file
from hivelore.hooks.install import copy_to
from hivelore.integrations.start_up_files import MOST_BYTES, update
from hivelore.local import endpoint
from hivelore.setup_scripts.start_up_file import Kind, Section, prepend
from support.hooks import Hook, is_at_work
from support.postgres import DATABASES, service_on
from support.service import Service
from support.waiting import until

FILES = ("--agent", "claude-code", "--files")


class Host:
    """The machine of the local agent, in whose start-up file is its setup script."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.operator = service.client(service.operator_key)
        self.workspace = service.home / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self.hook = Hook(copy_to(service.home), service.home, service.home)
        self.operator.call("PUT", "/api/agents/local/setup-script", body={"setupScript": "echo one"})
        self.prepare(self.workspace)

    def prepare(self, folder: Path) -> None:
        client = self.service.client(endpoint.key(endpoint.AGENT_KEY, self.service.home))
        agent: str = client.call("GET", "/api/me")["agentId"]
        update(folder, agent, client, lambda _: None)

    def edit(self, file: Path) -> None:
        file.write_text(file.read_text().replace("echo one", "echo two"))

    def edited(self, file: Path) -> None:
        event = {"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Edit"}
        payload = {**event, "tool_input": {"file_path": str(file)}}
        shown = {"HIVELORE_PROFILE_FILES": "on", "CLAUDE_PID": str(os.getpid())}
        said = self.hook.given(json.dumps(payload).encode(), *FILES, environ=shown)
        assert (said.code, said.out) == (0, b"")

    def proposals(self) -> list[dict[str, Any]]:
        return self.operator.call("GET", "/api/review")["proposals"]

    def proposed(self) -> str:
        until(lambda: bool(self.proposals()))
        (proposal,) = self.proposals()
        return self.operator.call("GET", f"/api/review/{proposal['id']}")["script"]["proposed"]


@pytest.fixture(params=DATABASES)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Host]:
    with Service(tmp_path / "home", **service_on(request.param)) as service:
        host = Host(service)
        yield host
        until(lambda: not is_at_work(str(host.workspace)))  # Otherwise it would start another service.


def test_d42_an_edit_of_the_start_up_file_is_proposed_at_once(host: Host) -> None:
    file = host.workspace / "start-up.sh"
    host.edited(file)
    host.edit(file)
    host.edited(host.workspace / "other.sh")
    host.edited(file)
    assert host.proposed() == "echo two\n"
    assert "echo two" in file.read_text()


def test_d42_an_edit_of_the_start_up_file_is_proposed_at_the_end_of_a_session(host: Host) -> None:
    host.edit(host.workspace / "start-up.sh")
    host.hook("Stop")
    host.hook("SessionEnd", reason="other")
    assert host.proposed() == "echo two\n"


def test_an_edit_in_the_folder_of_one_of_several_agents_is_proposed_at_once(host: Host) -> None:
    folder = host.workspace / "agents" / "ada"
    folder.mkdir(parents=True)
    host.prepare(folder)
    host.edit(folder / "start-up.sh")
    host.edited(folder / "start-up.sh")
    assert host.proposed() == "echo two\n"


@pytest.mark.parametrize(
    "payload",
    [{}, {"tool_input": []}, {"tool_input": {"file_path": 1}}, {"tool_input": {"file_path": "/etc/start-up.sh"}}],
)
def test_other_events_start_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: dict[str, Any]
) -> None:
    monkeypatch.setenv("HIVELORE_WORKSPACE", str(tmp_path))
    monkeypatch.setattr("sys.executable", "/nonexistent")
    (tmp_path / "start-up.sh").write_text("echo mine\n")
    start_up_file.propose_edits(payload, str(tmp_path), is_end=False)
    start_up_file.propose_edits(payload, str(tmp_path), is_end=True)
    start_up_file.propose_edits(
        {"tool_input": {"file_path": str(tmp_path / "start-up.sh")}}, str(tmp_path), is_end=False
    )


def test_the_hook_knows_the_files_and_their_sections() -> None:
    assert list(start_up_file.NAMES) == [kind.file_name for kind in Kind]
    assert start_up_file.LARGEST == MOST_BYTES
    for kind in Kind:
        script = "#!/usr/bin/env node\n1\n" if kind not in (Kind.SH, Kind.BASH) else "echo one\n"
        made = prepend(None, [Section("global", 1, script)], kind)
        assert made is not None
        assert start_up_file.MARKER in made
