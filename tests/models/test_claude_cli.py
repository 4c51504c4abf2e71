"""``claude -p`` as a language model: what it is started with, what it answers, and that it never runs on."""

import json
import os
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Unavailable
from hivelore.models import claude_cli
from hivelore.models.claude_cli import ClaudeCommand
from hivelore.sessions.model_summarizer import SCHEMA
from support.waiting import until

PROMPT = Clean("What was learned? ä\n")
USAGE = {"input_tokens": 5, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 7}


def stand_in(folder: Path, does: str) -> str:
    """A program that notes how it was started and then does something."""
    path = folder / "claude"
    noted = "{'arguments': sys.argv[1:], 'input': given, 'environment': dict(os.environ), 'folder': os.getcwd()}"
    path.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\ngiven = sys.stdin.read()\n"
        f"open({str(folder / 'noted')!r}, 'w').write(json.dumps({noted}))\n{does}\n",
        encoding="utf-8",
    )
    path.chmod(0o700)
    return str(path)


def printing(answer: object) -> str:
    return f"print({json.dumps(answer)!r})"


def command(folder: Path, does: str, **environment: str) -> ClaudeCommand:
    known = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    return ClaudeCommand(model="haiku", folder=folder, environment=known, program=stand_in(folder, does))


def ask(model: ClaudeCommand) -> tuple[str, list[int]]:
    spent: list[int] = []
    return model.answer(PROMPT, SCHEMA, spent.append), spent


def test_it_is_started_with_everything_off_that_could_start_it_again(tmp_path: Path) -> None:
    answer = {
        "type": "result",
        "is_error": False,
        "result": "x",
        "structured_output": {"points": ["a"]},
        "usage": USAGE,
    }
    tied = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_CODE_OAUTH_TOKEN": "kept"}
    reply, spent = ask(command(tmp_path, printing(answer), **tied))
    assert json.loads(reply) == {"points": ["a"]}
    assert spent == [112]
    noted = json.loads((tmp_path / "noted").read_text())
    arguments = noted["arguments"]
    options = dict(pairwise(arguments))
    assert noted["input"] == PROMPT
    assert arguments[0] == "-p"
    assert (options["--model"], options["--output-format"], options["--tools"]) == ("haiku", "json", "")
    assert json.loads(options["--settings"]) == {"disableAllHooks": True}
    assert json.loads(options["--json-schema"]) == SCHEMA
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(arguments)
    assert noted["environment"]["HIVELORE_HOOK_DISABLED"] == "1"
    assert int(noted["environment"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]) <= 2_000
    assert noted["environment"]["CLAUDE_CODE_OAUTH_TOKEN"] == "kept"
    assert {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID"}.isdisjoint(noted["environment"])
    assert noted["folder"] == str(tmp_path)


def test_an_answer_in_plain_text_is_accepted(tmp_path: Path) -> None:
    assert ask(command(tmp_path, printing({"type": "result", "result": "- a point"}))) == ("- a point", [])


@pytest.mark.parametrize(
    ("does", "says", "spent"),
    [
        (printing({"is_error": True, "result": "Not logged in", "usage": USAGE}), "Not logged in", [112]),
        (f"{printing({'result': 'x', 'usage': USAGE})}; sys.exit(3)", "failed", [112]),
        ("sys.exit('no such option')", "no such option", []),
        ("print('hello')", "without an answer", []),
        ("print('[' * 100_000)", "without an answer", []),
        ("os.kill(os.getpid(), 9)", "-9", []),
    ],
)
def test_a_failure_has_its_reason(tmp_path: Path, does: str, says: str, spent: list[int]) -> None:
    reply: list[int] = []
    with pytest.raises(Unavailable, match=says):
        command(tmp_path, does).answer(PROMPT, SCHEMA, reply.append)
    assert reply == spent


def test_without_the_program_nothing_is_spent(tmp_path: Path) -> None:
    spent: list[int] = []
    with pytest.raises(Unavailable, match="installed"):
        ClaudeCommand(model="m", folder=tmp_path, environment={}, program=str(tmp_path / "gone")).answer(
            PROMPT, SCHEMA, spent.append
        )
    assert spent == [0]


HANGS = "child = os.fork()\nopen({pids!r}, 'a').write(f'{{os.getpid()}} ')\ntime.sleep(600)"


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def is_gone(pid: int) -> bool:
    """Returns True if the process has ended, even if nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_a_slow_program_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_cli, "TIMEOUT", 1.0)
    with pytest.raises(Unavailable, match="did not answer"):
        ask(command(tmp_path, HANGS.format(pids=str(tmp_path / "pids"))))
    assert len(pids(tmp_path)) == 2
    until(lambda: all(map(is_gone, pids(tmp_path))))


def test_closing_kills_running_programs(tmp_path: Path) -> None:
    model = command(tmp_path, HANGS.format(pids=str(tmp_path / "pids")))
    raised: list[Exception] = []

    def call() -> None:
        try:
            ask(model)
        except Unavailable as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    until(lambda: len(pids(tmp_path)) == 2)
    model.close()
    thread.join()
    assert raised
    until(lambda: all(map(is_gone, pids(tmp_path))))
