"""Injected text that a model repeats does not make the store grow."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.values import replace
from support.hook_home import Home, opened
from support.hooks import PATIENCE
from support.sessions import ClaudeSession
from support.shown import Show

NOTES = (
    "Port 8443 is taken by the proxy, so the dashboard listens on 9443 instead.",
    "The parser was moved to Rust because the old one took four seconds for large files.",
    "Migrations must run before the workers start; otherwise the queue table is missing.",
)
ASKED = (
    "Which port is taken by the proxy?",
    "Why was the parser moved to Rust?",
    "When must the migrations run, before or after the workers start?",
)
LEARNED = "The root cause of the slow build was the cache of the compiler, which each job had rebuilt."
PER_SESSION = 16_384
"""Bytes of the database for any session: events, recalls and injections."""


@dataclass(frozen=True, slots=True)
class Size:
    memories: int
    """Of sessions."""
    versions: int
    database: int
    """Bytes."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Home]:
    with opened(tmp_path, monkeypatch) as home:
        home.hook = replace(home.hook, wait=str(PATIENCE))
        for note in NOTES:
            home.remember(note)
        yield home


def one_session(home: Home, number: int) -> int:
    """Runs a session from the context at its start to the capture at its end. Returns the number of injections."""
    injections = 0
    session = ClaudeSession(f"round-{number}")
    file = home.transcripts / f"round-{number}.jsonl"

    def tell(event: str, **fields: Any) -> str:
        nonlocal injections
        file.write_text("\n".join(session.lines), encoding="utf-8")
        common = {"session_id": f"round-{number}", "transcript_path": str(file)}
        context = home.hook(event, environ=home.environ, **common, **fields).context
        injections += bool(context)
        if context:
            session.line("attachment", attachment={"type": "hook_additional_context", "content": [context]})
        return context

    # One that is missed comes with the prompt.
    started = tell("SessionStart", source="startup") if number % 2 else ""
    asked = ASKED[number % len(ASKED)]
    note = NOTES[number % len(NOTES)]
    recalled = tell("UserPromptSubmit", prompt=asked)
    session.user(f"{asked}\n\n{recalled}")
    session.says(f"{started}\n{recalled}\nAs noted before: {note} {LEARNED}")
    last = f"{recalled}\n\n{note}\n\n{LEARNED}"
    session.says(last)
    tell("Stop", last_assistant_message=last)
    tell("SubagentStart", agent_id="a1", agent_type="Explore")
    tell("SubagentStop", agent_id="a1", agent_type="Explore", agent_transcript_path="", last_assistant_message=last)
    tell("PreCompact", trigger="auto")
    tell("PostCompact", compact_summary=f"{started}\n\nThe user asked: {asked}\n{recalled}\n{note} {LEARNED}")
    tell("SessionStart", source="compact")
    tell("SessionEnd", reason="other")
    return injections


def size(home: Home) -> Size:
    kept = [one for each in home.kept().values() for one in each]
    return Size(len(kept), sum(one.version for one in kept), (home.folder / "hivelore.db").stat().st_size)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(6, id="briefly"), pytest.param(100, id="a hundred", marks=pytest.mark.slow)]
)
def test_rounds_of_recall_and_capture_do_not_grow_the_store(home: Home, rounds: int, show: Show) -> None:
    injections = one_session(home, 0)
    home.settle()
    first = size(home)
    assert (first.memories, first.versions) == (1, 1)  # The lesson, in addition to the notes.
    injections += sum(one_session(home, number) for number in range(1, rounds))
    home.settle()
    last = size(home)
    assert (last.memories, last.versions) == (1, 1)
    assert injections >= 3 * rounds  # At the start or with the prompt, to the sub-agent, and after the compaction.
    # Records of sessions and recalls are pruned after a while.
    assert last.database - first.database <= rounds * PER_SESSION
    if rounds > 6:
        show("Rounds of recall and capture", [f"{rounds} sessions, {injections} injections: {first}, then {last}"])
