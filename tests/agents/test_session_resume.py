"""A session of Claude Code that one host began is continued on another, with the conversation that it had."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.agent_programs import CLAUDE_CODE, ClaudeCode
from support.anthropic_server import anthropic_server
from support.command_line import HIVELORE
from support.model_script import use
from support.model_server import ModelServer
from support.service import Service
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

KETTLE = "The kettle stands in the attic."


@dataclass
class Host:
    """A host: home folder, workspace, and home folder of Hivelore, with the key of the same agent."""

    claude: ClaudeCode
    work: Path
    env: dict[str, str]

    def verb(self, *words: str) -> Any:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("hivelore")), *words, "--json"],
            cwd=self.work,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return json.loads(done.stdout if done.returncode == 0 else done.stderr)

    def lines(self, session: str) -> int:
        (file,) = Path(self.env["HOME"], ".claude", "projects").glob(f"*/{session}.jsonl")
        return len(file.read_text(encoding="utf-8").splitlines())


@pytest.fixture
def model() -> Generator[ModelServer]:
    with anthropic_server() as running:
        yield running


@pytest.fixture
def hosts(tmp_path: Path, model: ModelServer) -> Generator[list[Host]]:
    with Service(tmp_path / "service") as service:
        key = service.add("runner")
        made: list[Host] = []
        for name in ("one", "two"):
            home, work = tmp_path / name / "home", tmp_path / name / "my work.d"
            home.mkdir(parents=True)
            work.mkdir()
            ours = {
                "HIVELORE_HOME": str(tmp_path / name / "hivelore"),
                "HIVELORE_WORKSPACE": str(tmp_path / name / "workspace"),
                "HIVELORE_URL": service.url,
                "HIVELORE_KEY": key,
                "HIVELORE_STORE_TRANSCRIPTS": "1",
            }
            env = {"HOME": str(home), "PATH": "/usr/bin:/bin", **ours}
            made.append(Host(ClaudeCode(home, work, model, **ours), work, env))
            assert "error" not in made[-1].verb("setup", "claude-code")
        yield made


def stored(host: Host, session: str) -> int:
    """Returns the number of stored entries."""
    found = host.verb("session", "list")["sessions"]
    return next((one["entries"] for one in found if one["sessionId"] == session), 0)


def test_a_session_that_was_killed_goes_on_on_another_host(hosts: list[Host], model: ModelServer) -> None:
    one, two = hosts
    first = one.claude.run(f"{KETTLE}\n>> say Noted.")
    assert first.code == 0, first.err
    session = first.events[0]["session_id"]
    until(lambda: stored(one, session) >= one.lines(session) > 0)

    _kill_in_a_turn(one, session, model)

    restored = two.verb("session", "restore", session)
    assert restored["command"] == f"claude --resume {session}"
    before = len(model.turns())
    second = two.claude.run("Where is it?\n>> say In the attic.", "--resume", session)
    assert second.code == 0, second.err
    asked = model.turns()[before:]
    assert any(KETTLE in turn.text() and "Where is it?" in turn.text() for turn in asked)
    assert second.events[-1]["session_id"] == session

    # The first host sends what it may still have, and goes on with what the second one added.
    until(lambda: stored(two, session) >= two.lines(session))
    assert one.verb("session", "save", session)["sessionId"] == session
    assert one.verb("session", "restore", session)["outcome"] == "extended"
    before = len(model.turns())
    third = one.claude.run("And again?\n>> say Still there.", "--resume", session)
    assert third.code == 0, third.err
    assert any("Where is it?" in turn.text() for turn in model.turns()[before:])


def test_the_newest_session_of_a_chain_goes_on(hosts: list[Host], model: ModelServer) -> None:
    one, two = hosts
    first = one.claude.run(f"{KETTLE}\n>> say Noted.").events[0]["session_id"]
    until(lambda: stored(one, first) > 0)
    forked = one.claude.run("It is green.\n>> say Noted.", "--resume", first, "--fork-session").events[0]["session_id"]
    assert forked != first
    until(lambda: stored(one, forked) >= one.lines(forked))
    restored = two.verb("session", "restore", first)
    assert restored["command"] == f"claude --resume {forked}"
    before = len(model.turns())
    assert two.claude.run("Where is it?\n>> say In the attic.", "--resume", forked).code == 0
    asked = model.turns()[before:]
    assert any(KETTLE in turn.text() and "It is green." in turn.text() for turn in asked)


def test_a_session_can_be_handed_over(hosts: list[Host]) -> None:
    one, two = hosts
    run = one.claude.run(f"{KETTLE}\n>> say I decided to leave it there because it is safe. Shall I move it?")
    session = run.events[0]["session_id"]
    until(lambda: stored(one, session) > 0)
    text = two.verb("handover", session[:8])["text"]
    assert KETTLE in text
    assert "Shall I move it?" in text


def test_n09_a_task_goes_on_on_another_host_from_the_middle_of_a_turn(
    hosts: list[Host], model: ModelServer, tmp_path: Path
) -> None:
    one, two = hosts
    once = f"mkdir '{tmp_path}/once' && sleep 300 || true"
    steps = (KETTLE, use("Bash", command="echo gr$(echo ee)n"), use("Bash", command=once))
    task = one.verb("task", "send", "\n".join(steps))
    words = [HIVELORE, "run", "--once", "--program", str(CLAUDE_CODE), "--", "--dangerously-skip-permissions"]
    with subprocess.Popen(words, cwd=one.work, env=one.claude.environment, stdout=subprocess.DEVNULL) as runner:
        until(lambda: len(model.turns()) >= 2)
        until(lambda: one.verb("task", "show", task["id"])["task"]["sessionId"] is not None)
        session = one.verb("task", "show", task["id"])["task"]["sessionId"]
        until(lambda: stored(one, session) >= one.lines(session) > 3)
        runner.kill()
    assert "error" not in two.verb("task", "pause", task["id"])
    assert "error" not in two.verb("task", "resume", task["id"])
    before = len(model.turns())
    done = subprocess.run(
        words, cwd=two.work, env=two.claude.environment, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.dumps(model.turns()[before].body["messages"])
    assert "Your work on this task was interrupted." in said
    assert '"name": "Bash"' in said
    assert "green" in said
    found = two.verb("task", "show", task["id"])
    assert (found["task"]["state"], found["task"]["sessionId"]) == ("completed", session)


def _kill_in_a_turn(host: Host, session: str, model: ModelServer) -> None:
    before = len(model.turns())
    command = [*host.claude.command, "--resume", session]
    running = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=host.work,
        env=host.claude.environment,
        start_new_session=True,
    )
    assert running.stdin is not None
    running.stdin.write(f"Wait for it.\n{use('Bash', command='sleep 120')}".encode())
    running.stdin.close()
    until(lambda: len(model.turns()) > before)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
