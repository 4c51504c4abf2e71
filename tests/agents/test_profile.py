"""The profile of an agent in Claude Code: its system prompt, and its files from the start of a session to its end."""

import json
import shlex
from pathlib import Path

import pytest

from hivelore.hooks.install import file_in
from hivelore.identity.prompt import PartName, closing_mark, opening_mark
from support.agent_programs import ClaudeCode, Codex
from support.agent_sessions import verb
from support.command_line import HIVELORE
from support.hooks import finish_hooks, is_at_work
from support.model_script import use
from support.waiting import until

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

OWN = "My own notes: caf\xe9.\r\nNo newline at the end".encode("latin-1")
LEARNED = "- The staging database listens on port 5433."
PROMPT = "Please write down what you learned."


def test_d04_claude_code_gets_each_part_once_and_keeps_its_notes(
    claude_code: ClaudeCode, env: dict[str, str], home: Path, work: Path
) -> None:
    own = home / ".claude" / "CLAUDE.md"
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(OWN)
    verb(env, "setup", "claude-code", "--profile")
    verb(env, "agent", "join", "--description", "Reads diffs.", "--capability", "python")
    verb(env, "repo", "add", "https://example.com/acme/shop", "--guidelines", "Run make before you push.")
    system = verb(env, "prompt", "--agent", "local", "--repo", "shop")
    meanwhile = work / "meanwhile.json"
    variables = (f"{name}={value}" for name, value in env.items())
    show = shlex.join(["env", *variables, HIVELORE, "agent", "show", "local", "--json"])
    claude_code.model.scripts[PROMPT] = "\n".join(
        [
            use("Read", file_path=str(own)),
            use("Edit", file_path=str(own), old_string="### Learnings\n", new_string=f"### Learnings\n\n{LEARNED}\n"),
            use("Bash", command=f"{show} > {shlex.quote(str(meanwhile))}"),
            ">> say Done.",
        ]
    )
    run = claude_code.run(PROMPT, "--append-system-prompt", system)
    assert run.code == 0, run.err
    finish_hooks(file_in(env["HIVELORE_HOME"]))

    asked = json.dumps(claude_code.model.turns()[0].body["system"])
    parts = [name for name in PartName if opening_mark(name) in asked]
    assert parts == [name for name in PartName if name is not PartName.TASK]
    assert asked.count("Run make before you push.") == 1
    marks = [mark(name) for name in parts for mark in (opening_mark, closing_mark)]
    assert [asked.count(mark) for mark in marks] == [1] * len(marks)
    assert [asked.index(mark) for mark in marks] == sorted(asked.index(mark) for mark in marks)
    assert "### Important Context" in claude_code.model.turns()[1].text()
    assert LEARNED in json.loads(meanwhile.read_text())["notes"]
    assert own.read_bytes() == OWN
    assert not (Path(env["HIVELORE_WORKSPACE"]) / "SOUL.md").exists()


def test_d42_an_edited_start_up_file_is_a_proposal(claude_code: ClaudeCode, env: dict[str, str], work: Path) -> None:
    script = work / "script.sh"
    script.write_text("echo one\n")
    verb(env, "setup", "claude-code", "--profile")
    verb(env, "setup-script", "set", str(script), "--agent", "local")
    verb(env, "workspace", "prepare")
    start_up = Path(env["HIVELORE_WORKSPACE"]) / "start-up.sh"
    claude_code.model.scripts[PROMPT] = "\n".join(
        [
            use("Read", file_path=str(start_up)),
            use("Edit", file_path=str(start_up), old_string="echo one", new_string="echo two"),
            ">> say Done.",
        ]
    )
    run = claude_code.run(PROMPT)
    assert run.code == 0, run.err

    def proposals() -> list[str]:
        return [one["kind"] for one in json.loads(verb(env, "review", "list", "--json"))["proposals"]]

    until(lambda: proposals() == ["setup-script"])
    until(lambda: not is_at_work(str(start_up.parent)))
    assert "echo two" in start_up.read_text()


def test_the_session_of_codex_is_known_by_its_process(
    codex: Codex, env: dict[str, str], home: Path, work: Path
) -> None:
    own = home / ".codex" / "AGENTS.md"
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(OWN)
    verb(env, "setup", "codex", "--profile")
    state = own.with_name(".hivelore-AGENTS.md") / "state.json"
    code = (
        "import json, os, sys\n"
        "(user,) = json.load(open(sys.argv[1]))['users'].values()\n"
        "os.kill(user['pid'], 0)\n"
        "print(open(f'/proc/{user[\"pid\"]}/comm').read())"
    )
    seen = work / "seen"
    command = f"{shlex.join(['/usr/bin/env', 'python3', '-c', code, str(state)])} > {shlex.quote(str(seen))}"
    codex.model.scripts[PROMPT] = "\n".join([use("exec_command", cmd=command), ">> say Done."])
    run = codex.run(PROMPT)
    assert run.code == 0, run.err
    finish_hooks(file_in(env["HIVELORE_HOME"]))
    assert seen.read_text().startswith("codex")
    assert own.read_bytes() == OWN
