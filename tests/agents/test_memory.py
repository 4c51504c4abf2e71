"""Sessions of real agent programs get memories of earlier sessions."""

import os
import shlex
import signal
from pathlib import Path

import pytest

from hivelore.local.lock import read_owner
from support.agent_programs import ClaudeCode, Copilot, Program
from support.agent_sessions import PROGRAMS, injected_text, verb
from support.model_script import SUMMARY, use
from support.trees import everything
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

FACT = "The API requires a Bearer prefix on all auth headers. Without it requests fail with a misleading 403."


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_first_request_of_a_session_has_memories_of_an_earlier_one(
    program: Program, kind: str, env: dict[str, str], home: Path
) -> None:
    before = everything(home)
    verb(env, "setup", kind)
    ours = everything(home).keys() - before.keys()
    learned = program.run(f"{use('memory-store', content=FACT)}\n>> say Kept.")
    assert learned.code == 0, learned.err
    assert FACT in injected_text(program, "Why is my login token rejected?\n>> say Because.")

    verb(env, "unsetup")
    left = everything(home)
    assert ours
    assert left.items() >= before.items()
    assert not ours & {name for name, content in left.items() if content is not None}


@pytest.mark.parametrize("tool", ["Write", "Bash"])
def test_a_file_written_by_one_session_is_injected_into_another(
    claude_code: ClaudeCode, env: dict[str, str], tool: str
) -> None:
    verb(env, "setup", "claude-code")
    folder = Path(env["HIVELORE_WORKSPACE"]) / "shared" / "memory"
    file = str(folder / "auth-header-fix.md")
    by_shell = shlex.join(["echo", FACT]) + f" > {shlex.quote(file)}"
    write = {"Write": use("Write", file_path=file, content=FACT), "Bash": use("Bash", command=by_shell)}
    written = claude_code.run(f"{write[tool]}\n>> say Kept.")
    assert written.code == 0, written.err
    until(lambda: FACT in verb(env, "list", "--source", "file_index", "--json"))
    assert FACT in injected_text(claude_code, "Why is my login token rejected?\n>> say Because.")


def test_a_completed_task_becomes_a_memory(claude_code: ClaudeCode, env: dict[str, str]) -> None:
    verb(env, "setup", "claude-code")
    steps = [
        use("TaskCreate", subject="Move the proxy", description="To port 5433, as agreed", activeForm="Moving"),
        use("TaskUpdate", taskId="1", status="completed"),
    ]
    claude_code.environment["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"  # With many models the task list is off by default.
    run = claude_code.run("\n".join([*steps, ">> say Done."]), "--include-hook-events")
    assert run.code == 0, run.err
    hooks = {event["hook_event"]: event for event in run.events if event.get("subtype") == "hook_response"}
    assert hooks["TaskCompleted"]["exit_code"] == 0
    until(
        lambda: (
            "To port 5433, as agreed" in verb(env, "list", "--source", "task_completion", "--project", "*", "--json")
        )
    )


def test_a_sub_agent_gets_the_note_for_its_own_task_and_not_that_of_its_parent(
    claude_code: ClaudeCode, env: dict[str, str]
) -> None:
    verb(env, "setup", "claude-code")
    verb(env, "remember", FACT, "--project", "")
    own = "The nightly backup needs 40 GB in /var/spool; with less it stops without an error."
    verb(env, "remember", own, "--project", "")
    asked, delegated = "Why is my login token rejected?", "Find out why the nightly backup stops."
    # Where the call of the tool is not reported in time, a sub-agent gets what fits the task of its parent.
    claude_code.environment["HIVELORE_HOOK_WAIT"] = "20"
    helper = use("Agent", description="Look", subagent_type="general-purpose", prompt=delegated)
    claude_code.model.scripts |= {asked: f"{helper}\n>> say Done.", delegated: ">> say Found."}
    given = injected_text(claude_code, asked, of=f'"text": "{delegated}')
    assert own in given
    assert FACT not in given
    assert FACT in injected_text(claude_code, asked)


def test_a_sub_agent_of_copilot_gets_memories_that_match_its_task(copilot: Copilot, env: dict[str, str]) -> None:
    verb(env, "setup", "copilot")
    verb(env, "remember", FACT, "--project", "")
    marked = "Begin with the logs."
    helper = use("task", agent_type="explore", name="look", description="Look", prompt=f"{marked}\n>> say Found.")
    asked = f"Find out why the API rejects our auth headers with a 403.\n{helper}\n>> say Done."
    assert FACT in injected_text(copilot, asked, of=f"\\n\\n{marked}")


def test_the_goal_of_a_conversation_survives_a_compaction(claude_code: ClaudeCode, env: dict[str, str]) -> None:
    verb(env, "setup", "claude-code")
    goal = "Look for the kettle and bring it back."
    begun = claude_code.run(f"{goal}\n>> say I am looking.")
    session = begun.events[0]["session_id"]
    assert claude_code.run("/compact", "--resume", session).code == 0
    until(lambda: SUMMARY in verb(env, "list", "--source", "session_summary", "--project", "*", "--json"))
    assert goal in injected_text(claude_code, "Go on.\n>> say Going on.", "--resume", session)


# Gemini CLI and Copilot also continue, but only after they have waited for the tools (15 and 60 seconds).
@pytest.mark.parametrize("kind", ["claude-code", "codex", "opencode"])
def test_a_session_continues_while_the_service_is_stopped(program: Program, kind: str, env: dict[str, str]) -> None:
    verb(env, "setup", kind)
    owner = read_owner(Path(env["HIVELORE_HOME"]))
    assert owner is not None
    os.kill(owner.pid, signal.SIGSTOP)
    try:
        run = program.run("What is new?\n>> say Nothing much.")
    finally:
        os.kill(owner.pid, signal.SIGCONT)
    assert run.code == 0, run.err
    assert "Nothing much." in run.out
