"""Sessions of real agent programs are summarized when they end, beside the lessons that they taught."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hivelore.local.lock import read_owner
from support.agent_programs import ClaudeCode, Codex, Program
from support.agent_sessions import injected_text, settled, verb
from support.model_script import conclude, use
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

RULE = "Never restart the staging database by day."
"""A session that teaches nothing has no summary. The lines for the model that stands in may be stored with it."""
TASK = f"The nightly deployment to staging hangs since Monday, find out why and mend it. {RULE}"
CAUSE = "The root cause was that the staging database listens on port 5433, because the metrics proxy took 5432."
SHELL = {
    "claude-code": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "copilot": ("bash", "command"),
}


def summaries(env: dict[str, str]) -> list[dict[str, Any]]:
    found = verb(env, "list", "--source", "session_summary", "--project", "*", "--json")
    return json.loads(found)["memories"]


def run_in(shell: tuple[str, str], command: str) -> str:
    tool, argument = shell
    return use(tool, **{argument: command})


def pid(env: dict[str, str]) -> int:
    owner = read_owner(Path(env["HIVELORE_HOME"]))
    assert owner is not None
    return owner.pid


@pytest.mark.parametrize("kind", SHELL)
def test_the_next_session_gets_the_summary_of_one_that_stored_nothing(
    program: Program, kind: str, env: dict[str, str]
) -> None:
    verb(env, "setup", kind)
    looking = run_in(SHELL[kind], "ls /")
    first = program.run(f"{TASK}\n{looking}\n{conclude(CAUSE)}")
    assert first.code == 0, first.err
    until(lambda: summaries(env) != [])
    injected = injected_text(program, "Why does the deployment to staging hang?\n>> say Because.")
    assert CAUSE in injected
    assert RULE in injected


def test_a_correction_is_a_lesson_beside_the_summary_of_a_fix(claude_code: ClaudeCode, env: dict[str, str]) -> None:
    verb(env, "setup", "claude-code")
    again = use("Bash", command="sh release.sh")
    helping = use("Bash", command="printf 'exit 0' > release.sh")
    begun = claude_code.run(f"{TASK}\n{again}\n{helping}\n{again}\n>> say It is released now.")
    session = begun.events[0]["session_id"]
    correction = "No, never release on a Friday, always ask the people on call first."
    assert claude_code.run(f"{correction}\n>> say Understood.", "--resume", session).code == 0
    lessons = [one["content"] for one in settled(env) if one["source"] == "manual"]
    assert len(lessons) == 2
    assert correction in lessons
    assert any(one.startswith(RULE) for one in lessons)
    (summary,) = summaries(env)
    assert "printf 'exit 0'" in summary["content"]
    assert "release.sh: No such file" in summary["content"]


@pytest.mark.parametrize("fault", [signal.SIGSTOP, signal.SIGKILL])
def test_a_session_without_a_service_is_summarized_exactly_once(
    program: ClaudeCode | Codex, kind: str, env: dict[str, str], fault: signal.Signals
) -> None:
    verb(env, "setup", kind)
    service = pid(env)
    os.kill(service, fault)
    try:
        run = program.run(f"{TASK}\n{conclude(CAUSE)}")
    finally:
        if fault is signal.SIGSTOP:
            os.kill(service, signal.SIGCONT)
    assert run.code == 0, run.err
    verb(env, "start")
    until(lambda: summaries(env) != [])
    until(lambda: json.loads(verb(env, "status", "--json"))["hookEventsWaiting"] == 0)
    (summary,) = summaries(env)
    assert CAUSE in summary["content"]
    assert summary["version"] == 1
    assert [one["version"] for one in settled(env) if one["content"].startswith(RULE)] == [1]
