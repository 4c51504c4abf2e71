"""What sessions of real agent programs teach governs later sessions, and what they do not teach leaves nothing."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hivelore.sessions.lessons.information import content_terms
from support.agent_programs import ClaudeCode, Resumable
from support.agent_sessions import injected_text, settled, verb
from support.model_script import use
from support.past_service import past_service

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

DAYS = 40
SHELL = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd")}
TASK = "Please deploy the new build to staging."
CORRECTION = (
    "No, we never copy builds by hand. "
    "Always deploy with the Ansible playbook ops/site.yml, otherwise the audit log has a gap."
)
IN_OTHER_WORDS = "Bring version 2.4 onto the test server."


def talk(program: Resumable, kind: str, *turns: tuple[str, str, str]) -> None:
    """Runs a session: prompts, each with a command that the agent runs and with its answer."""
    tool, argument = SHELL[kind]
    words: list[str] = []
    for prompt, command, answer in turns:
        steps = [use(tool, **{argument: command})] if command else []
        program.model.scripts[prompt] = "\n".join([*steps, f">> say {answer}"])
        run = program.run(prompt, *words)
        assert run.code == 0, run.err
        words = words or [*program.resume(run)]


def test_a_correction_governs_a_task_in_other_words_after_40_days(
    program: Resumable, kind: str, env: dict[str, str]
) -> None:
    assert not content_terms(CORRECTION) & content_terms(IN_OTHER_WORDS)
    with past_service(env, DAYS):
        verb(env, "setup", kind)
        copied = "I copied the build to the staging host with scp and restarted nginx."
        deployed = "Deployed with `ops/site.yml`, the audit log has the entry."
        talk(program, kind, (TASK, "echo build.tar", copied), (CORRECTION, "echo ops/site.yml", deployed))
        (lesson,) = (one for one in settled(env) if CORRECTION in one["content"])
    learned = datetime.fromisoformat(lesson["createdAt"])
    assert datetime.now(UTC) - learned > timedelta(days=DAYS)
    verb(env, "start")
    assert CORRECTION in injected_text(program, IN_OTHER_WORDS)


def test_a_lesson_of_the_first_turn_survives_later_turns(claude_code: ClaudeCode, env: dict[str, str]) -> None:
    verb(env, "setup", "claude-code")
    lesson = (
        "Remember for this project: the staging database listens on port 5433, never on 5432, "
        "because the metrics proxy took 5432 in March."
    )
    first = (f"{lesson} Please mend export.sh.", "echo 5433 > export.sh", "`export.sh` connects to port 5433 now.")
    later = (
        ("How many rows did it export?", "", "4211 rows."),
        ("Which files are in this folder?", "ls", "There is only export.sh."),
        ("Thanks.", "", "You are welcome."),
        ("That is all for today.", "", "Good night!"),
    )
    talk(claude_code, "claude-code", first, *later)
    assert [one["version"] for one in settled(env) if lesson in one["content"]] == [1]


def test_sessions_that_teach_nothing_leave_nothing(claude_code: ClaudeCode, env: dict[str, str], work: Path) -> None:
    """Three sessions. ``tests/interfaces/test_sessions_at_once.py`` has ten, with the hook client alone."""
    verb(env, "setup", "claude-code")
    sessions = (
        [("Hello!", "", "Hello! How can I help you today?"), ("What is 96 times 30?", "", "96 x 30 = 2880.")],
        [("Rename tmp to intensity in plot.py.", "echo intensity > plot.py", "Renamed `tmp` to `intensity`.")],
        [("Freut mich, schönen Abend!", "", "Schönen Abend!")],
    )
    for turns in sessions:
        talk(claude_code, "claude-code", *turns)
    assert settled(env) == []
