"""Real agent programs run tasks of the swarm, and another run goes on where one was killed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hivelore.runner.orphans import processes_of
from support.agent_programs import CLAUDE_CODE, CODEX, ClaudeCode, Codex
from support.agent_sessions import settled, verb
from support.command_line import HIVELORE, hivelore
from support.model_script import conclude, use
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

TEXT = "Find out why the nightly deployment to staging hangs."
CAUSE = "The root cause was that the staging database listens on port 5433."
WORK = 'if [ -e "$HIVELORE_HOME/ready" ]; then echo done; else exec sleep 1000; fi'
"""A command that hangs until it is ready."""
MARKER = "[MEMORY:timing:jellyfin] Takes 60s to start"
PERMITTED = ("--", "--dangerously-skip-permissions")


class Host:
    """A machine with an agent program and a runner; the service is that of ``env``."""

    def __init__(self, env: dict[str, str], program: ClaudeCode | Codex, path: Path) -> None:
        self.env = env
        self.program = program
        self.path = path
        verb(env, "start")
        self.key = verb(env, "agent", "add", "worker").strip()

    def environment(self) -> dict[str, str]:
        return {**self.env, **self.program.environment, "HOME": self.env["HOME"], "HIVELORE_KEY": self.key}

    def send(self, *lines: str, **more: str) -> str:
        options = [word for name, value in more.items() for word in (f"--{name}", value)]
        return json.loads(verb(self.env, "task", "send", "\n".join((TEXT, *lines)), *options, "--json"))["id"]

    def task(self, task: str) -> Any:
        return json.loads(verb(self.env, "task", "show", task, "--json"))

    def words(self, *more: str) -> list[str]:
        return ["run", "--agent", "worker", "--once", "--program", str(self.path), *more]

    def run(self, *more: str) -> str:
        done = hivelore(*self.words(*more), env=self.environment())
        assert done.code == 0, done.out + done.err
        return done.out

    def left(self) -> list[int]:
        runs = Path(self.env["HIVELORE_HOME"]) / "runs"
        return [pid for folder in runs.iterdir() for pid in processes_of(folder.name)]


@pytest.fixture
def host(claude_code: ClaudeCode, env: dict[str, str]) -> Host:
    return Host(env, claude_code, CLAUDE_CODE)


def test_d60_claude_code_runs_a_task_to_its_end(host: Host) -> None:
    verb(host.env, "setup", "claude-code")
    task = host.send(conclude(MARKER), conclude(CAUSE))
    host.run(*PERMITTED)
    found = host.task(task)
    assert found["task"]["state"] == "completed"
    assert "Takes 60s to start" in found["task"]["output"]
    assert found["usage"]["costMicros"] > 0
    assert found["usage"]["inputTokens"] > 0
    session = found["task"]["sessionId"]
    assert [one["session"] for one in found["sessions"]] == [session]
    (system,) = {turn.body["system"][-1]["text"] for turn in host.program.model.turns()}
    assert "You are an agent of a swarm" in system
    memories = settled(host.env)
    assert any(one["sourceTaskId"] == task for one in memories if one["source"] == "task_completion")
    again = host.send(">> say Done.")
    seen = len(host.program.model.turns())
    host.run(*PERMITTED)
    asked = host.program.model.turns()[seen].text()
    assert asked.count("(confidence: 0.7)") == 1
    assert asked.count("Relevant Past Knowledge") == 1
    assert asked.count("Completed task:") == 1
    assert host.task(again)["task"]["state"] == "completed"
    observed = json.loads(verb(host.env, "observations", "--json"))["memories"]
    assert [(one["observation"], one["session"], one["confidence"]) for one in observed] == [
        ("Takes 60s to start", session, 0.7)
    ]


def test_x16_a_killed_run_goes_on_with_its_conversation(host: Host) -> None:
    task = host.send(use("Bash", command=WORK), conclude(CAUSE))
    with subprocess.Popen(
        [HIVELORE, *host.words(*PERMITTED)], env=host.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as runner:
        until(lambda: host.task(task)["task"]["sessionId"] is not None)
        until(lambda: len(host.program.model.turns()) >= 1)
        runner.kill()
    (Path(host.env["HIVELORE_HOME"]) / "ready").touch()
    until(lambda: host.left() == [])
    session = host.task(task)["task"]["sessionId"]
    verb(host.env, "task", "pause", task)
    verb(host.env, "task", "resume", task)
    seen = len(host.program.model.turns())
    host.run(*PERMITTED)
    again = host.program.model.turns()[seen]
    said = json.dumps(again.body["messages"])
    assert said.count(TEXT) == 2
    assert "Your work on this task was interrupted." in said
    found = host.task(task)
    assert (found["task"]["state"], found["task"]["sessionId"]) == ("completed", session)


def test_d23_a_child_goes_on_with_a_copy_of_the_conversation_of_its_parent(host: Host) -> None:
    parent = host.send(conclude(CAUSE))
    host.run(*PERMITTED)
    child = host.send(">> say It is mended.", parent=parent)
    host.run(*PERMITTED)
    assert CAUSE in host.program.model.turns()[-1].text()
    one, other = (host.task(task) for task in (parent, child))
    assert other["task"]["sessionId"] != one["task"]["sessionId"]
    assert other["usage"]["costMicros"] == one["usage"]["costMicros"]


def test_a_limit_of_costs_fails_the_task_for_good(host: Host) -> None:
    task = host.send(">> say Done.")
    done = hivelore(*host.words("--cost-limit", "0.0001", *PERMITTED), env=host.environment())
    assert done.code == 8
    found = host.task(task)["task"]
    assert found["state"] == "failed"
    assert "Reached maximum budget" in found["failure"]


def test_d57_claude_code_that_is_not_signed_in_claims_nothing(host: Host) -> None:
    task = host.send(">> say Done.")
    environment = {name: value for name, value in host.environment().items() if name != "ANTHROPIC_API_KEY"}
    done = hivelore(*host.words(), env=environment)
    assert done.code == 11
    assert "is not signed in" in done.err
    assert host.task(task)["task"]["state"] == "open"


def test_d60_codex_runs_a_task_and_goes_on_with_it(codex: Codex, env: dict[str, str]) -> None:
    host = Host(env, codex, CODEX)
    provider = f'{{name="stand-in", base_url="{codex.model.url}/v1", wire_api="responses", env_key="STANDIN_KEY"}}'
    settings = ['model="gpt-5"', 'model_provider="standin"', f"model_providers.standin={provider}"]
    more = ["--harness", "codex", "--", *(word for setting in settings for word in ("-c", setting))]
    parent = host.send(conclude(f"{MARKER}\n{CAUSE}".replace("\n", " ")))
    host.run(*more)
    one = host.task(parent)
    assert one["task"]["state"] == "completed"
    assert one["usage"]["inputTokens"] > 0
    assert "You are an agent of a swarm" in codex.model.turns()[0].text()
    child = host.send(">> say It is mended.", parent=parent)
    host.run(*more)
    other = host.task(child)
    assert "Takes 60s to start" in codex.model.turns()[-1].text()
    assert other["task"]["sessionId"] != one["task"]["sessionId"]
    assert other["usage"]["inputTokens"] == one["usage"]["inputTokens"]
