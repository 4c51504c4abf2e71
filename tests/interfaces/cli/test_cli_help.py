"""Help and reference document: both are complete, and every example runs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivelore.cli import exits
from hivelore.cli.dispatch import VERBS
from hivelore.cli.exits import CODES
from support.agent_swarm import make
from support.command_line import CommandLine, environment, hivelore
from support.service import Service

DOCUMENT = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
GROUPS = {
    "agent": ("add", "list", "revoke", "join", "show", "edit", "history", "diff", "restore", "reset"),
    "events": ("list", "add", "forget"),
    "cooldowns": ("list", "set", "clear"),
    "config": ("list", "set", "delete", "resolved", "reveal", "history", "env", "rotate-key"),
    "repo": ("list", "show", "add", "update", "remove", "sync"),
    "review": ("list", "show", "accept", "reject", "merge"),
    "setup-script": ("show", "set", "history", "diff", "restore", "sync"),
    "workspace": ("prepare",),
}
"""Verbs with subcommands."""
PROCESSES = {
    "serve": "test_cli_service.py",
    "mcp": "test_the_example_of_mcp_runs",
    "hook": "test_hook_client.py",
    "reembed": "test_cli_reembed.py",
    "move": "test_cli_move.py",
    "review": "test_cli_review.py",
    "undo": "test_cli_maintenance.py",
    "repo": "test_cli_repos.py",
}
"""Verbs whose example needs another setting, and where it runs."""


def verbs() -> Iterator[tuple[str, ...]]:
    """Yields every verb as its words."""
    for name in (name for group in VERBS.values() for name in group):
        yield from ((name, each) for each in GROUPS[name]) if name in GROUPS else ((name,),)


def options(command: CommandLine, words: tuple[str, ...]) -> set[str]:
    """Returns the long options of a verb from its help."""
    lines = command(*words, "--help").out.splitlines()
    return {option for line in lines if line.startswith("  --") for option in re.findall(r"--[a-z-]+", line[:28])}


def run_example(cli: CommandLine, example: str, me: str) -> None:
    """Run one line with a valid id instead of ID and a new name instead of reviewer."""
    Path("docs").mkdir(exist_ok=True)
    for file in ("docs/a.md", "README.md"):
        Path(file).write_text("Something to read.")
    Path("memories.jsonl").write_text('{"id": "1", "content": "Taken in."}\n')
    Path("agent-swarm-db.sqlite").unlink(missing_ok=True)
    make(Path("agent-swarm-db.sqlite"), {})
    program, *words = shlex.split(example)
    assert program == "hivelore"
    words = [me if word == "reviewer" else word for word in words]
    if words[:2] == ["events", "forget"]:
        words[words.index("ID")] = cli.json("events", "add", "The backup is late.")["id"]
    if words[0] == "config" and "ID" in words:
        words[words.index("ID")] = cli.json("config", "set", "EXAMPLE", "x")["id"]
    if words[:2] == ["repo", "add"]:
        cli("repo", "remove", "shop")
    if words[:2] == ["config", "resolved"]:
        cli("repo", "add", "https://example.com/acme/shop", "--no-auto")
    if "ID" in words:
        kind = ("observe", "--category", "timing") if words[0] == "curate" else ("remember",)
        memory = cli.json(*kind, f"The API wants a Bearer prefix, says {me}.")["memory"]["id"]
        words[words.index("ID")] = memory
    result = cli(*words)
    assert result.code == 0, result.out + result.err


@pytest.mark.parametrize("words", list(verbs()), ids=" ".join)
def test_every_verb_has_help_with_an_example_of_itself(alone: CommandLine, words: tuple[str, ...]) -> None:
    result = alone(*words, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Usage: hivelore {' '.join(words)}" in result.out
    assert len(re.findall(rf"^Example: hivelore {' '.join(words)}\b", result.out, re.MULTILINE)) == 1
    assert max(len(line) for line in result.out.splitlines()) <= 80


@pytest.mark.parametrize("words", [one for one in verbs() if one[0] not in (*PROCESSES, "stop")], ids=" ".join)
def test_the_example_in_the_help_runs(cli: CommandLine, me: str, words: tuple[str, ...]) -> None:
    (example,) = re.findall(r"^Example: (.+)$", cli(*words, "--help").out, re.MULTILINE)
    if words == ("agent", "revoke"):
        cli("agent", "add", me)
    if words == ("config", "rotate-key"):
        cli("config", "set", "EXAMPLE_TOKEN", "x", "--secret")
    if words[0] in ("setup-script", "workspace"):
        cli("agent", "add", me)
        for text in (b"echo one", b"echo two"):
            cli("setup-script", "set", "-", "--agent", me, stdin=text)
        cli("workspace", "prepare")
    if words == ("unsetup",):
        cli("setup", "claude-code")
    run_example(cli, example, me)


def test_the_example_of_stop_runs(alone: CommandLine) -> None:
    assert alone("stop").code == 0


def test_the_example_of_mcp_runs(service: Service) -> None:
    result = hivelore("mcp", env=environment(service.home))
    assert (result.code, result.out) == (0, "")


def test_the_overview_describes_each_verb(alone: CommandLine) -> None:
    overview = alone("--help").out
    assert overview == alone().out
    for name in (name for group in VERBS.values() for name in group):
        assert re.search(rf"^  {name} +[A-Z].*\.$", overview, re.MULTILINE), name


def test_the_version_is_printed(alone: CommandLine) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", alone("--version").out)


@pytest.mark.parametrize("words", list(verbs()), ids=" ".join)
def test_verbs_with_a_result_offer_json(alone: CommandLine, words: tuple[str, ...]) -> None:
    assert ("--json" in options(alone, words)) == (words[0] not in ("serve", "mcp", "hook", "teach", "completion"))


@pytest.mark.parametrize("words", list(verbs()), ids=" ".join)
def test_the_document_lists_every_verb_and_option(alone: CommandLine, words: tuple[str, ...]) -> None:
    entry = re.search(rf"^- [^\n]*?`{' '.join(words)}\b.*?(?=\n- |\n\n)", DOCUMENT + "\n\n", re.MULTILINE | re.DOTALL)
    assert entry, f"docs/cli.md does not describe {' '.join(words)}"
    said = set(re.findall(r"--[a-z-]+", entry[0]))
    assert options(alone, words) - said <= {"--json", "--agent"}


def test_the_document_lists_no_unknown_option(alone: CommandLine) -> None:
    known = {option for words in verbs() for option in options(alone, words)} | {"--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", DOCUMENT)) <= known


def test_the_document_lists_every_exit_code() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", DOCUMENT, re.MULTILINE)
    report = {int(number) for row in rows for number in row.split(", ")}
    assert report == {0, *CODES.values(), exits.LEFT_OUT, exits.INTERRUPTED, exits.CLOSED_PIPE}


def test_the_examples_of_the_document_run(cli: CommandLine, me: str) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    examples = [line for block in blocks for line in block.splitlines()]
    assert len(examples) > 15
    for example in examples:
        run_example(cli, example, me)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("recal",), 'Did you mean "recall"?'),
        (("Розы",), 'Unknown command "Розы"'),
        (("recall", "x", "--lmit", "3"), "Did you mean --limit?"),
        (("agent", "ad"), 'Did you mean "add"?'),
        (("get",), "requires an argument"),
        (("get", "a", "b"), "b"),
    ],
)
def test_a_typing_error_is_explained(alone: CommandLine, words: tuple[str, ...], hint: str) -> None:
    result = alone(*words)
    assert (result.code, result.out) == (2, "")
    assert hint in result.err
    assert re.search(r"See 'hivelore .*--help'\.\n$", result.err)
    as_json = alone(*words, "--json")
    assert as_json.error["code"] == "usage"
