"""Very many events of many sessions at once: none is lost or doubled, and no model costs more than it may, whatever
becomes of the service meanwhile."""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any
from uuid import uuid4

import pytest

from support.hook_home import Home, Kept, opened, payload, something_learned
from support.language_server import LanguageServer
from support.sessions import ClaudeSession
from support.shown import Show

TURNS = 4
CAP = 40_000
MANY = 50
"""Sessions."""
_LEARNED = re.compile(r"The root cause of the trouble with [^\n]*? after all\.")


class Echo(LanguageServer):
    """Summarizer that finds the lessons, like a good model."""

    def reply(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[int, object]:
        self.answer = json.dumps({"points": _LEARNED.findall(body["messages"][-1]["content"])[-1:]})
        return super().reply(path, headers, body)


class Work:
    """One session: its events, turn after turn, and the expected memory."""

    def __init__(self, home: Home) -> None:
        self.session = uuid4().hex
        self.learned: list[str] = []
        """Lessons, each stored as a separate memory."""
        self._home = home
        self._file = home.transcripts / f"{self.session}.jsonl"
        self._said = ClaudeSession(self.session)

    def events(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        yield self._event("SessionStart")
        for turn in range(TURNS):
            yield self._event("UserPromptSubmit")
            yield self._subagent("SubagentStart", turn, self._file, "")
            aside = something_learned()
            self.learned.append(aside)
            side = self._file.with_suffix(f".{turn}.jsonl")
            side.write_text("\n".join(ClaudeSession(sidechain=True).user("Look.").says(aside).lines))
            yield self._subagent("SubagentStop", turn, side, aside)
            answer = something_learned()
            self._said.user("Please go on with it.").says(answer)
            self._file.write_text("\n".join(self._said.lines))
            yield self._event("Stop", answer)
            if turn == TURNS - 1:
                self.learned.append(answer)
        yield self._event("PreCompact")
        self.learned.append(something_learned())
        yield self._event("PostCompact", self.learned[-1])
        yield self._event("SessionEnd")

    def run(self) -> int:
        """Runs the session and returns the number of events."""
        count = 0
        for event, fields in self.events():
            said = self._home.hook(event, session_id=self.session, environ=self._home.environ, **fields)
            assert (said.code, said.err) == (0, b"")
            count += 1
        return count

    def found(self, kept: Mapping[str, Sequence[Kept]]) -> list[str]:
        """Returns the stored lessons, with repetitions."""
        memories = kept.get(self.session, [])
        known = [point for point in self.learned for memory in memories if point in memory.content]
        return known if len(known) == len(memories) else [*known, f"and {len(memories) - len(known)} more"]

    def _event(self, event: str, learned: str = "") -> tuple[str, Mapping[str, Any]]:
        return event, payload(event, learned, self._file)

    def _subagent(self, event: str, turn: int, file: Path, learned: str) -> tuple[str, Mapping[str, Any]]:
        return event, {**payload(event, learned, file), "agent_id": f"a{turn}"}


@pytest.fixture
def model() -> Generator[Echo]:
    with Echo() as model:
        yield model


def kill_now_and_then(home: Home, over: Event, every: float) -> int:
    killed = 0
    while not over.wait(every):
        home.kill()
        home.start()
        killed += 1
    return killed


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("summarizer", "sessions", "every"),
    [
        pytest.param("openai", 3, 1.5, id="briefly"),
        pytest.param("openai", MANY, 5.0, id="with a model", marks=pytest.mark.slow),
        pytest.param("extractive", MANY, 5.0, id="by default", marks=pytest.mark.slow),
    ],
)
def test_no_event_of_many_sessions_is_lost_or_stored_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: Echo,
    summarizer: str,
    sessions: int,
    every: float,
    show: Show,
) -> None:
    settings = {
        "HIVELORE_SUMMARIZER_URL": f"{model.url}/v1",
        "HIVELORE_SUMMARIZER_MODEL": "small",
        "HIVELORE_SUMMARIZER_DAILY_TOKENS": str(CAP),
        "OPENAI_API_KEY": "sk-1",
        "ANTHROPIC_API_KEY": "sk-2",
        **({} if summarizer == "extractive" else {"HIVELORE_SUMMARIZER": summarizer}),
    }
    over = Event()
    with opened(tmp_path, monkeypatch, **settings) as home, ThreadPoolExecutor(sessions + 1) as pool:
        work = [Work(home) for _ in range(sessions)]
        killer = pool.submit(kill_now_and_then, home, over, every)
        began = perf_counter()
        events = sum(pool.map(Work.run, work))
        took = perf_counter() - began
        spool = len(list((home.folder / "spool").glob("*.json")))
        over.set()
        killed = killer.result()
        home.settle()
        kept, status = home.kept(), home.status()
    assert {one.session: one.found(kept) for one in work} == {one.session: one.learned for one in work}
    assert model.tokens <= status["tokensToday"] <= CAP
    assert bool(model.asked) == (summarizer == "openai")
    assert status["hookEventsLost"] == 0
    if sessions == MANY:
        show(
            "Very many hooks at once",
            [
                f"{summarizer}: {events} events of {sessions} sessions in {took:.0f} s, of which {spool} waited "
                f"then; {killed} kills, {len(model.asked)} calls of a model, {status['tokensToday']} of {CAP} tokens"
            ],
        )
