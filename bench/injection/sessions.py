"""What capture keeps of sessions: each one is replayed turn by turn through the hooks, and what is stored is compared
with the lessons that the session teaches.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.filling import local
from bench.injection.data import OWN, read_lines
from bench.material import Bench
from bench.report import Section, Table, judged
from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Memory, Source
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load
from hivelore.search.model import Filter, Visibility
from hivelore.sessions.lessons.information import content_terms
from hivelore.sessions.operations import HookEvent

ASIDE = ("ben", "dee", "kim", "ned")
"""Writers whose sessions train no model."""
HALF = 0.5
"""Share of the words of a quote, or of a lesson in other words, that a memory needs."""
MOST_MEMORIES = 1_000
LEAST_FOUND, MOST_STORED = 60, 5
TEXT = """
Sessions of coding agents, half of which teach something. Each is replayed turn by turn through the hooks, as Claude
Code sends them. Without a language model.

- *found*: share of the lessons of which one memory has at least half of the words of each quote. Lessons of *other
  sessions* are given in other words: a memory needs half of their content words. *whole*: the memory has every word.
- *lost*: lessons that were found after a turn and no longer at the end. *retracted*: lessons that a later turn takes
  back and that are still stored.
- *stored from nothing*: share of the sessions that teach nothing and leave a lesson. *anything*: or a session summary.

Sessions of the writers *aside* train no model. The *training* sessions are those that the classifier was trained on.
"""
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Counts:
    lessons: int = 0
    found: int = 0
    whole: int = 0
    lost: int = 0
    retracted: int = 0
    kept: int = 0
    silent: int = 0
    stored: int = 0
    anything: int = 0
    lengths: list[int] = field(default_factory=list[int])
    right: list[bool] = field(default_factory=list[bool])
    """For each memory of a session that teaches: it belongs to a lesson."""


def run(bench: Bench) -> Section:
    own = OWN / "sessions"
    training = [file for file in sorted(own.glob("*.jsonl")) if file.stem not in ASIDE]
    sets = {"aside": [own / f"{name}.jsonl" for name in ASIDE], "training": training}
    if bench.data is not None and (bench.data / "injection" / "sessions").is_dir():
        sets["other sessions"] = sorted((bench.data / "injection" / "sessions").glob("*.jsonl"))
    counts: dict[str, Counts] = {}
    for name, files in sets.items():
        sessions = [one for file in files for one in read_lines(file)]
        counts[name] = measure(bench, sessions[:: max(1, len(sessions) // bench.count(len(sessions), 8))])
        bench.say(f"{name}: {counts[name].found} of {counts[name].lessons} lessons")
    return Section("Lessons of sessions", TEXT.strip(), [_table(counts)])


def measure(bench: Bench, sessions: Sequence[Mapping[str, Any]]) -> Counts:
    counts = Counts()
    with Replay(bench.place()) as replay:
        for session in sessions:
            _count(counts, session, list(replay.states(session)))
    return counts


class Replay:
    """An application that gets the events of sessions, each in a project of its own."""

    def __init__(self, home: Path) -> None:
        self._transcripts = home / "transcripts"
        self._transcripts.mkdir()
        settings = load(home=home / "home", transcripts=(self._transcripts,), briefing_tokens=0, prompt_tokens=0)
        self._app = Application(settings, clock=SystemClock())

    def __enter__(self) -> "Replay":
        self._app.make_keys()
        return self

    def __exit__(self, *_: object) -> None:
        self._app.close()

    def states(self, session: Mapping[str, Any]) -> Iterator[list[Memory]]:
        """Yields the memories of a session after each turn of the agent and after its end."""
        turns = session["turns"]
        prompts = [place for place, turn in enumerate(turns) if turn["role"] == "user"]
        for number, begin in enumerate(prompts):
            end = prompts[number + 1] if number + 1 < len(prompts) else len(turns)
            self._send(session, "UserPromptSubmit", begin, prompt=turns[begin]["text"])
            said = [turn["text"] for turn in turns[begin:end] if turn["role"] == "assistant"]
            if said:
                self._send(session, "Stop", end, last_assistant_message=said[-1])
                yield self._memories(session)
        self._send(session, "SessionEnd", len(turns))
        yield self._memories(session)

    def _send(self, session: Mapping[str, Any], event: str, until: int, **more: str) -> None:
        app, name = self._app, session["id"]
        file = self._transcripts / f"{name}.jsonl"
        file.write_text("".join(f"{json.dumps(one)}\n" for one in claude_lines(session, until)), encoding="utf-8")
        payload = {"hook_event_name": event, "session_id": name, "transcript_path": str(file), **more}
        viewer = replace(local(app), interface=Interface.HOOK)
        app.hooks.handle(HookEvent(program="claude-code", id=app.ids.nonce(), project=name, payload=payload), viewer)
        while app.session_summaries.step():
            pass

    def _memories(self, session: Mapping[str, Any]) -> list[Memory]:
        viewer = local(self._app)
        assert viewer.agent is not None
        where = Filter(visibility=Visibility(own=viewer.agent, swarm=False), project=Clean(session["id"]))
        with self._app.store.read() as view:
            found = view.page(where, None, MOST_MEMORIES)
            return [one for one in found if one.project == session["id"]]


def claude_lines(session: Mapping[str, Any], until: int) -> Iterator[dict[str, Any]]:
    """Yields the lines of a transcript of Claude Code with the first turns of a session."""
    at = datetime.fromisoformat(session["started"])
    for place, turn in enumerate(session["turns"][:until]):
        at += timedelta(seconds=20)
        if turn["role"] == "tool":
            use = {"type": "tool_use", "id": f"toolu_{place}", "name": turn["tool"], "input": turn["input"]}
            yield _line(session, "assistant", [use], at)
            result = {"type": "tool_result", "tool_use_id": f"toolu_{place}", "content": turn["result"]}
            yield _line(session, "user", [{**result, "is_error": bool(turn.get("error"))}], at)
        elif turn["role"] == "assistant":
            yield _line(session, "assistant", [{"type": "text", "text": turn["text"]}], at)
        else:
            yield _line(session, "user", turn["text"], at)


def _line(session: Mapping[str, Any], role: str, content: object, at: datetime) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"{session['id']}-{at.isoformat()}-{role}",
        "timestamp": at.isoformat(),
        "sessionId": session["id"],
        "cwd": session["cwd"],
        "isSidechain": False,
        "message": {"role": role, "content": content},
    }


def _count(counts: Counts, session: Mapping[str, Any], states: Sequence[Sequence[Memory]]) -> None:
    last = states[-1]
    texts = [[one.content for one in state if one.source is not Source.SESSION_SUMMARY] for state in states]
    counts.lengths += map(len, texts[-1])
    if not session["lessons"]:
        counts.silent += 1
        counts.stored += bool(texts[-1])
        counts.anything += bool(last)
        return
    lessons = [_parts(lesson) for lesson in session["lessons"]]
    for lesson, parts in zip(session["lessons"], lessons, strict=True):
        found = [_has(state, parts, HALF) for state in texts]
        if lesson.get("retracted"):
            counts.retracted += 1
            counts.kept += found[-1]
            continue
        counts.lessons += 1
        counts.found += found[-1]
        counts.whole += _has(texts[-1], parts, 1)
        counts.lost += any(found) and not found[-1]
    every = [part for parts in lessons for part in parts]
    counts.right += [any(_coverage(part, text) >= HALF for part in every) for text in texts[-1]]


def _parts(lesson: Mapping[str, Any]) -> list[Counter[str]]:
    """Returns the words of each part of a lesson: its quotes, or what it says in other words."""
    if "quotes" not in lesson:
        return [Counter(content_terms(lesson["text"]))]
    until = lesson["turn"] if lesson.get("retracted") else max(one["turn"] for one in lesson["quotes"])
    return [_words(one["text"]) for one in lesson["quotes"] if one["turn"] <= until]


def _has(texts: Sequence[str], parts: Sequence[Counter[str]], share: float) -> bool:
    return any(all(_coverage(part, text) >= share for part in parts) for text in texts)


def _coverage(part: Counter[str], text: str) -> float:
    """Returns the share of these words that a text has."""
    words = _words(text) | Counter(content_terms(text))
    return (part & words).total() / max(part.total(), 1)


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _table(counts: Mapping[str, Counts]) -> Table:
    def row(name: str, values: Sequence[float | None], target: str = "") -> list[str]:
        return [name, *("" if one is None else f"{one:.0f}" for one in values), target]

    every = list(counts.values())
    found = [100 * one.found / max(one.lessons, 1) for one in every]
    stored = [100 * one.stored / max(one.silent, 1) for one in every]
    rows = [
        row("lessons found", found, judged(found[0] >= LEAST_FOUND, f"at least {LEAST_FOUND}")),
        row("found whole", [100 * one.whole / max(one.lessons, 1) for one in every]),
        row("memories that belong to a lesson", [100 * fmean(one.right) if one.right else None for one in every]),
        row("characters of a memory", [fmean(one.lengths) if one.lengths else None for one in every]),
        row("lessons lost (number)", [one.lost for one in every], judged(every[0].lost == 0, "0")),
        row("retracted lessons kept (number)", [one.kept for one in every], judged(every[0].kept == 0, "0")),
        row("stored from nothing", stored, judged(stored[0] <= MOST_STORED, f"at most {MOST_STORED}")),
        row("anything from nothing", [100 * one.anything / max(one.silent, 1) for one in every]),
    ]
    return Table("", ["", *counts, "target (aside)"], rows)
