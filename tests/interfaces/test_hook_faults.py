"""Every fault with every event: the agent does not wait, and afterwards each lesson is in the store once."""

import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from uuid import uuid4

import pytest

from hivelore.core.values import replace
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.programs import CLAUDE_CODE
from support.hook_faults import FAULTS, Way
from support.hook_home import KNOWN, Home, Kept, conversation, opened, payload, something_learned
from support.shown import Show

EVENTS = sorted(CLAUDE_CODE.kinds, key="SessionStart".__eq__)
"""The one that starts a service where none runs comes last."""
LISTENS = ("SessionStart", "UserPromptSubmit", "SubagentStart")
ROUNDS = 25
"""Of each event under each fault, where it is measured."""
MOST = 0.3
"""Seconds that the 99th percentile of hooks may take."""
BUSY = 0.05
"""Seconds for the start of Python (99th percentile) above which the machine is too busy to measure."""
BRIEF = ("service hung", "disk full, not for hooks", "database locked", "corrupt spool")
"""Faults that `make test` tries once."""
HEADING = f"{'milliseconds that a hook takes':46}{'python':>8}{'p50':>8}{'p99':>8}{'answered':>10}"


@dataclass(frozen=True, slots=True)
class Row:
    fault: str
    event: str
    took: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])
    """Seconds of an empty interpreter, measured alternately."""
    answers: list[bool] = field(default_factory=list[bool])
    """True for each answer that injected text."""

    def __str__(self) -> str:
        figures = (median(self.bare), median(self.took), p99(self.took))
        return (
            f"{self.fault:26}{self.event:20}"
            + "".join(f"{each * 1e3:8.1f}" for each in figures)
            + f"{sum(self.answers):7} of {len(self.answers)}"
        )


def p99(took: list[float]) -> float:
    return quantiles(took, n=100, method="inclusive")[98]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Home]:
    with opened(tmp_path, monkeypatch) as home:
        home.remember(KNOWN)
        yield home


def measure(row: Row, home: Home, way: Way) -> dict[str, str]:
    """Delivers one event of a new session. Returns the expected memory by session."""
    session, learned = uuid4().hex, something_learned()
    file = home.transcripts / f"{session}.jsonl"
    way.transcript(file, conversation(learned))
    hook = replace(home.hook, first=way.first, before=way.before)
    given = {**home.environ, **way.environ}
    began = perf_counter()
    said = hook(row.event, session_id=session, environ=given, **payload(row.event, learned, file))
    row.took.append(perf_counter() - began)
    began = perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    row.bare.append(perf_counter() - began)
    assert (said.code, said.err) == (0, b""), (row, said)
    row.answers.append(bool(said.out))
    if said.out:
        (answer,) = json.loads(said.out).values()
        assert answer.keys() == {"hookEventName", "additionalContext"}
        assert answer["hookEventName"] == row.event
        assert row.event in LISTENS
        assert remove_fences(answer["additionalContext"]) == ""
    content = learned if row.event == "PostCompact" else f"Remember: {learned}"
    return {session: content} if row.event in way.keeps else {}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("fault", "rounds"),
    [
        *(pytest.param(fault, 1, id=f"{fault}, briefly") for fault in BRIEF),
        *(pytest.param(fault, ROUNDS, id=fault, marks=pytest.mark.slow) for fault in FAULTS),
    ],
)
def test_no_fault_affects_the_agent_or_loses_an_event(home: Home, fault: str, rounds: int, show: Show) -> None:
    rows, learned = [Row(fault, event) for event in EVENTS], dict[str, str]()
    with FAULTS[fault](home) as way:
        for row in rows:
            for _ in range(rounds):
                learned |= measure(row, home, way)
    home.settle()
    kept = home.kept()
    assert kept == {session: [Kept(content, 1)] for session, content in learned.items()}
    if rounds > 1:
        show(HEADING, [str(row) for row in rows])
        took, bare = ([one for row in rows for one in each(row)] for each in (attrgetter("took"), attrgetter("bare")))
        assert p99(took) <= MOST or p99(bare) > BUSY
