"""A task that Claude Code began on one host is finished on another one, with the conversation that it had."""

import json
import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hivelore.python.client import Client
from hivelore.runner.orphans import processes_of
from support.agent_programs import CLAUDE_CODE, ClaudeCode
from support.agent_sessions import verb
from support.anthropic_server import anthropic_server
from support.command_line import HIVELORE, hivelore
from support.model_script import conclude, use
from support.model_server import ModelServer
from support.service import Service
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

TEXT = "Find out why the nightly deployment to staging hangs."
CAUSE = "The root cause was that the staging database listens on port 5433."
WORK = 'if [ -e "$HIVELORE_HOME/ready" ]; then echo done; else exec sleep 1000; fi'
"""A command that hangs on the first host."""
PERMITTED = ("--program", str(CLAUDE_CODE), "--", "--dangerously-skip-permissions")


class Host:
    """A machine with Claude Code and the key of an agent; the service is elsewhere."""

    def __init__(self, folder: Path, model: ModelServer, service: Service, key: str) -> None:
        ours = {
            "HIVELORE_HOME": str(folder / "hivelore"),
            "HIVELORE_WORKSPACE": str(folder / "workspace"),
            "HIVELORE_URL": service.url,
            "HIVELORE_KEY": key,
            "HIVELORE_STORE_TRANSCRIPTS": "1",
        }
        home = folder / "home"
        home.mkdir(parents=True)
        self.runs = folder / "hivelore" / "runs"
        self.env = {**ClaudeCode(home, folder, model, **ours).environment, **ours}
        verb(self.env, "setup", "claude-code")

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([HIVELORE, "run", *PERMITTED], env=self.env, stdout=subprocess.DEVNULL)

    def run_once(self) -> None:
        done = hivelore("run", "--once", *PERMITTED, env=self.env)
        assert done.code == 0, done.out + done.err

    def left(self) -> list[int]:
        return [pid for folder in self.runs.iterdir() for pid in processes_of(folder.name)]


class Swarm:
    def __init__(self, folder: Path, service: Service, model: ModelServer) -> None:
        self.model = model
        self.operator: Client = service.client(service.operator_key)
        key = service.add("worker-1")
        self.agent: Client = service.client(key)
        self.hosts = [Host(folder / name, model, service, key) for name in ("one", "two")]

    def send(self, *lines: str) -> str:
        return self.operator.call("POST", "/api/tasks", body={"text": "\n".join((TEXT, *lines))})["id"]

    def task(self, task: str) -> Any:
        return self.operator.call("GET", f"/api/tasks/{task}")

    def stored(self) -> Sequence[Any]:
        return self.agent.call("GET", "/api/transcripts")["sessions"]


@pytest.fixture
def swarm(tmp_path: Path) -> Generator[Swarm]:
    with anthropic_server() as model, Service(tmp_path / "service") as service:
        yield Swarm(tmp_path, service, model)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_x16_a_task_goes_on_on_another_host(swarm: Swarm, number: signal.Signals) -> None:
    one, two = swarm.hosts
    (two.runs.parent / "ready").touch()
    task = swarm.send(use("Bash", command=WORK), conclude(CAUSE))
    with one.start() as runner:
        until(lambda: swarm.stored() != [] and swarm.task(task)["task"]["sessionId"] is not None)
        os.kill(runner.pid, number)
        assert runner.wait() == (0 if number is signal.SIGTERM else -number)
    until(lambda: one.left() == [])
    session = swarm.task(task)["task"]["sessionId"]
    if number is signal.SIGKILL:  # Its lease would last for two minutes.
        swarm.operator.call("POST", f"/api/tasks/{task}/pause")
        swarm.operator.call("POST", f"/api/tasks/{task}/resume")
    seen = len(swarm.model.turns())
    two.run_once()
    said = json.dumps(swarm.model.turns()[seen].body["messages"])
    assert said.count(TEXT) == 2
    assert "Your work on this task was interrupted." in said
    found = swarm.task(task)
    assert (found["task"]["state"], found["task"]["sessionId"]) == ("completed", session)
    assert CAUSE in found["task"]["output"]
    assert found["usage"]["costMicros"] > 0
    assert len({one["attempt"] for one in found["sessions"]}) == 2
