"""import claude-code and import codex: sessions and notes of these programs are imported once."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hivelore.cli import connection
from hivelore.core.text import Clean
from hivelore.memories.drafts import Draft
from hivelore.sessions.lesson_recorder import lesson_draft
from hivelore.sessions.lessons.summary_draft import build_draft
from hivelore.sessions.model import Lesson, LessonKind, Summary, Transcript
from hivelore.sessions.transcripts import read_conversation
from hivelore.transfer import backfill
from support.command_line import CommandLine
from support.sessions import FOLDER, ClaudeSession, CodexSession, a_fix, an_end

NOTE = """\
---
name: Never mock the clock
description: "Tests set a clock of their own."
type: feedback
---
Never mock the clock in the tests of this project: set one by hand instead.
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user who has worked with Claude Code."""
    folder = tmp_path / "of-ada"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(folder / ".codex"))
    write(folder / ".claude/projects/-home-ada-shop/s1.jsonl", a_fix().lines)
    write(folder / ".claude/projects/-home-ada-shop/s2.jsonl", ClaudeSession("s2").user("Hello there.").lines)
    write(folder / ".claude/projects/-home-ada-shop/agent-7.jsonl", a_fix().lines)
    write(folder / ".claude/projects/-home-ada-shop/s1/subagents/agent-8.jsonl", a_fix().lines)
    write(folder / ".claude/projects/-home-ada-shop/memory/clock.md", NOTE.splitlines())
    write(folder / ".claude/projects/-home-ada-shop/memory/MEMORY.md", ["# Memory", "- [Clock](clock.md): no mocks"])
    return folder


def write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def own(cli: CommandLine, me: str) -> dict[str, dict[str, Any]]:
    """Returns the private memories of the agent by name."""
    page = cli.json("list", "--all", "--scope", "agent", "--project", "*", "--agent", me)
    return {memory["name"]: memory for memory in page["memories"]}


@pytest.mark.usefixtures("home")
def test_sessions_and_notes_are_imported_with_their_origin(cli: CommandLine, me: str) -> None:
    report = cli.json("import", "claude-code", "--agent", me)
    assert (report["created"], report["empty"], report["skipped"]) == (2, 2, [])
    memories = own(cli, me)
    note = memories.pop("Never mock the clock")
    ((name, summary),) = memories.items()
    assert name == "Session: The checkout test fails, please have a look."
    assert "currency of the customer" in summary["content"]
    assert summary["externalId"] == "session:claude-code:s1"
    assert summary["createdAt"].startswith("2026-03-01T12:")
    assert summary["metadata"]["origin"].endswith("/s1.jsonl")
    assert (note["category"], note["summary"]) == ("feedback", "Tests set a clock of their own.")
    assert note["content"].startswith("Never mock the clock in the tests")
    assert {one["project"] for one in (note, summary)} == {"/home/ada/shop"}
    assert all(one["tags"] == ["imported"] and one["source"] == "manual" for one in (note, summary))


def test_a_second_import_adds_only_new_sessions(cli: CommandLine, me: str, home: Path) -> None:
    cli.json("import", "claude-code", "--agent", me)
    assert cli.json("import", "claude-code", "--agent", me)["unchanged"] == 2
    session = a_fix().says("The root cause of the slow start was the cache, which is rebuilt each time.")
    write(home / ".claude/projects/-home-ada-shop/s1.jsonl", session.lines)
    report = cli.json("import", "claude-code", "--agent", me)
    assert (report["created"], report["changed"], report["unchanged"]) == (0, 1, 1)


@pytest.mark.usefixtures("home")
def test_a_preview_stores_nothing(cli: CommandLine, me: str) -> None:
    report = cli.json("import", "claude-code", "--dry-run", "--agent", me)
    assert report["files"] == 4
    assert {one["project"] for one in report["memories"]} == {"/home/ada/shop"}
    shown = cli("import", "claude-code", "--dry-run")
    assert "Never mock the clock" in shown.out
    assert "2 of them would become memories. Nothing was stored." in shown.out
    assert own(cli, me) == {}


def test_an_import_can_be_limited_to_a_project_and_a_date(cli: CommandLine, me: str, home: Path) -> None:
    other = ClaudeSession("s9", folder="/home/ada/other")
    for line in ("Please look. " * 20, "No, never restart the broker by hand."):
        other.user(line).says("The root cause was a full disk on the build machine.")
    write(home / ".claude/projects/-home-ada-other/s9.jsonl", other.lines)
    for path in (home / ".claude/projects/-home-ada-shop").rglob("*.*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    chosen = cli.json("import", "claude-code", "--dry-run", "--project", "/home/ada/other")
    assert [one["externalId"] for one in chosen["memories"]] == ["session:claude-code:s9"]
    recent = cli.json("import", "claude-code", "--dry-run", "--since", "7d")
    assert recent["files"] == 1


def test_codex_sessions_are_imported(cli: CommandLine, me: str, home: Path) -> None:
    session = CodexSession().user("Please mend the checkout, it fails for old carts. " * 3)
    session.says("The root cause is that carts from before March have no currency field.")
    session.user("No, use the currency of the customer instead of EUR.").says("Done.")
    write(home / ".codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-s1.jsonl", session.lines)
    write(home / ".codex/memories/build.md", ["The build needs node 22; older ones fail silently."])
    assert cli.json("import", "codex", "--agent", me)["created"] == 2
    memories = own(cli, me)
    assert {one["externalId"] for one in memories.values()} == {"session:codex:s1", "memory:codex:.codex/build.md"}


def test_a_long_codex_session_keeps_its_id(cli: CommandLine, me: str, home: Path) -> None:
    session = CodexSession().item({"type": "reasoning", "summary": ["x" * 8_000_000]})
    session.user("Please mend the checkout, it fails for old carts. " * 3)
    session.says("The root cause is that carts from before March have no currency field.")
    session.user("No, use the currency of the customer instead of EUR.").says("Done.")
    write(home / ".codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-s1.jsonl", session.lines)
    assert cli.json("import", "codex", "--agent", me)["created"] == 1
    (memory,) = own(cli, me).values()
    assert (memory["externalId"], memory["project"]) == ("session:codex:s1", "/home/ada/shop")


def live_summary(project: str = FOLDER) -> Draft:
    summary = Summary(("Carts take the currency of their customer.",), by="claude")
    return without_trust(build_draft(an_end(project=project), summary, "Session: The checkout test fails"))


def live_lesson() -> Draft:
    lesson = Lesson(kind=LessonKind.CORRECTION, text="Use the currency of the customer.", name="Currency")
    return without_trust(lesson_draft(lesson, an_end(project=FOLDER), Clean("lesson:claude-code:s1:a"), "extractive"))


def without_trust(draft: Draft) -> Draft:
    """Returns a draft that a client may send."""
    return Draft(**{name: getattr(draft, name) for name in Draft.__struct_fields__})


@pytest.mark.parametrize("captured", [live_summary(), live_summary("elsewhere"), live_lesson()])
@pytest.mark.usefixtures("home")
def test_a_session_that_was_captured_live_is_left_alone(cli: CommandLine, me: str, captured: Draft) -> None:
    with connection.hive(me) as hive:
        hive.remember_many([captured])
    preview = cli.json("import", "claude-code", "--dry-run", "--agent", me)
    assert (len(preview["memories"]), preview["captured"]) == (1, 1)
    assert "1 session was captured live" in cli("import", "claude-code", "--dry-run", "--agent", me).out
    report = cli.json("import", "claude-code", "--agent", me)
    assert (report["created"], report["changed"], report["empty"], report["captured"]) == (1, 0, 2, 1)
    assert "1 captured live" in cli("import", "claude-code", "--agent", me).out
    assert own(cli, me)[str(captured.name)]["content"] == captured.content


@pytest.mark.usefixtures("home")
def test_a_session_that_another_agent_captured_is_imported(cli: CommandLine, me: str) -> None:
    with connection.hive() as hive:
        stored = hive.remember_many([live_summary()])
        assert cli.json("import", "claude-code", "--agent", me)["created"] == 2
        hive.forget(stored[0].memory.id)


def test_an_imported_session_that_was_captured_since_is_left_alone(cli: CommandLine, me: str, home: Path) -> None:
    cli.json("import", "claude-code", "--agent", me)
    with connection.hive(me) as hive:
        assert hive.remember_many([live_summary()])[0].changed
    session = a_fix().says("The root cause of the slow start was the cache, which is rebuilt each time.")
    write(home / ".claude/projects/-home-ada-shop/s1.jsonl", session.lines)
    report = cli.json("import", "claude-code", "--agent", me)
    assert (report["changed"], report["unchanged"], report["captured"]) == (0, 1, 1)


def test_an_unreadable_file_is_reported_and_the_others_are_imported(cli: CommandLine, me: str, home: Path) -> None:
    write(home / ".claude/projects/-home-ada-shop/memory/big.md", ["x" * 2_000_001])
    result = cli("import", "claude-code", "--agent", me, "--json")
    assert result.code == 7
    assert json.loads(result.out)["created"] == 2
    assert "big.md: larger than" in result.err


def test_a_session_with_half_an_emoji_is_imported(cli: CommandLine, me: str, home: Path) -> None:
    session = a_fix().user("No, always round the currency of a\ud83dcart by hand.").says("Understood \ude00.")
    session.runs("echo \ud83d", "\ud83d")
    write(home / ".claude/projects/-home-ada-shop/s1.jsonl", session.lines)
    assert len(cli.json("import", "claude-code", "--dry-run", "--agent", me)["memories"]) == 2
    assert cli.json("import", "claude-code", "--agent", me)["created"] == 2
    assert any("always round the currency of a?cart by hand" in one["content"] for one in own(cli, me).values())


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_file_that_cannot_be_parsed_is_reported_and_the_others_are_imported(
    cli: CommandLine, me: str, home: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    def parse(program: str, lines: Sequence[str], *, cut: bool) -> Transcript:
        if any("Hello there." in line for line in lines):
            raise KeyError("unknown format")
        return read_conversation(program, lines, cut=cut)

    monkeypatch.setattr(backfill, "read_conversation", parse)
    result = cli("import", "claude-code", "--agent", me, *more)
    assert result.code == 7
    assert "s2.jsonl: cannot be parsed (KeyError" in result.err
    assert ("2 of them would become memories" if more else "2 new memories") in result.out


@pytest.mark.parametrize("more", [["--dry-run"], ["--since", "7d"], ["--project", "x"]])
def test_options_of_programs_are_refused_for_files(cli: CommandLine, more: list[str]) -> None:
    result = cli("import", "memories.jsonl", *more)
    assert result.code != 0
    assert "claude-code or codex" in result.err


@pytest.mark.usefixtures("home")
def test_an_unused_program_has_nothing_to_import(cli: CommandLine) -> None:
    assert cli.json("import", "codex", "--dry-run") == {"memories": [], "files": 0, "captured": 0}
