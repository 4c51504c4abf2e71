"""What a session gets at its start, next to the newest notes and to random ones. Fits the weights of the choice."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from bench.filling import local
from bench.injection.data import OWN, read_lines
from bench.material import Bench
from bench.report import Section, Table, judged
from bench.running import Service, environment
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.hooks.install import copy_to
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Scope, Source
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load
from hivelore.search.ranking import SearchConstants
from hivelore.sessions.model import AgentEvent, EventId, EventKind, Session, Task
from hivelore.sessions.start_candidates import StartCandidates
from hivelore.sessions.start_context import FITTED, LABEL_TOKENS, WEIGHTS, Candidate, Weights, choose, fitted_features

BUDGET = 1_500
"""Tokens of the context: the default of HIVELORE_BRIEFING_TOKENS."""
LEAST_USEFUL = 80
FILLERS = 150
RANDOM_ORDERS = 20
RIDGE = 1.0
"""Penalty of the squared weights, of features with unit variance."""
TEXT = f"""
Starts of sessions in projects with the notes of a year, about a fifth of which are useful for the session. Each start
has a git repository with the branch and the changed files, a task (`HIVELORE_TASK_FILE`) and a service with the notes;
the hook runs as in an agent program. *without the task* leaves out the task, which few sessions have. *with {FILLERS}
fillers* adds as many newer notes by one author ("Build 12 succeeded, no warnings.").

- *useful notes*: share of the useful notes that the context contains.
- *useful lines*: share of the lines of the context that are useful.
- *tokens*: estimated, at most {BUDGET:,}.

*left out* is the choice with weights that were fitted to the other starts of the set. *newest* fills the budget with
the newest notes, as versions before this did. *random* does so in random order.
"""
_FILLER_TEXTS = (
    "Build {} succeeded, no warnings.",
    "Ran the linter again, {} files, nothing to report.",
    "Session {} ended without changes.",
    "Working tree clean before run {}.",
    "Test run {} is green.",
    "Looked at the open branches, {} of them, nothing new.",
)


@dataclass(frozen=True, slots=True)
class StartNote:
    id: str
    text: str
    at: datetime
    author: str
    is_useful: bool
    is_summary: bool


@dataclass(frozen=True, slots=True)
class Start:
    id: str
    project: str
    branch: str
    changed_files: Sequence[str]
    task: str
    notes: Sequence[StartNote]

    @property
    def useful(self) -> frozenset[str]:
        return frozenset(note.id for note in self.notes if note.is_useful)


@dataclass(slots=True)
class Figures:
    """Shares and tokens, one for each start."""

    useful: list[float] = field(default_factory=list[float])
    right: list[float] = field(default_factory=list[float])
    tokens: list[float] = field(default_factory=list[float])

    def add(self, start: Start, notes: frozenset[str], tokens: float) -> None:
        self.useful.append(100 * len(notes & start.useful) / len(start.useful))
        self.right.append(100 * len(notes & start.useful) / len(notes) if notes else 0.0)
        self.tokens.append(tokens)


def starts_in(file: Path) -> Iterator[Start]:
    for one in read_lines(file):
        notes = [
            StartNote(
                note["id"],
                note["text"],
                datetime.fromisoformat(note["date"]).replace(tzinfo=UTC),
                note["author"],
                note["useful"],
                note.get("source") == "session_summary",
            )
            for note in one["notes"]
        ]
        yield Start(one["id"], one["project"], one["branch"], one["changed_files"], one["task"], notes)


def with_fillers(start: Start) -> Start:
    last = max(note.at for note in start.notes)
    fillers = [
        StartNote(
            f"filler{number}",
            _FILLER_TEXTS[number % len(_FILLER_TEXTS)].format(number),
            last + timedelta(hours=number + 1),
            "nightly",
            False,
            False,
        )
        for number in range(FILLERS)
    ]
    return replace(start, notes=[*start.notes, *fillers])


def run(bench: Bench) -> Section:
    sets = {"our own": OWN / "session_starts.jsonl"}
    if bench.data is not None:
        sets["other starts"] = bench.data / "injection" / "session_starts.jsonl"
    tables = list[Table]()
    for name, file in sets.items():
        if file.is_file():
            starts = list(starts_in(file))
            starts = starts[: bench.count(len(starts), 2)]
            tables.append(_table(name, starts, bench))
            bench.say(f"{name}: {len(starts)} session starts")
    return Section("Session starts", TEXT.strip(), tables)


def _table(name: str, starts: Sequence[Start], bench: Bench) -> Table:
    crowded = [with_fillers(start) for start in starts]
    variants: Mapping[str, tuple[Sequence[Start], bool]] = {
        "": (starts, True),
        ", without the task": (starts, False),
        f", with {FILLERS} fillers": (crowded, True),
    }
    rows = list[list[str]]()
    for variant, (of, has_task) in variants.items():
        figures = measure(of, bench, has_task=has_task)
        own = fmean(figures["Hivelore"].useful)
        target = judged(own >= LEAST_USEFUL, f"at least {LEAST_USEFUL}")
        rows.append([f"useful notes{variant}", *(f"{fmean(one.useful):.0f}" for one in figures.values()), target])
        rows.append([f"useful lines{variant}", *(f"{fmean(one.right):.0f}" for one in figures.values()), ""])
        rows.append([f"tokens{variant}", *(f"{fmean(one.tokens):.0f}" for one in figures.values()), ""])
    return Table(f"#### {name}", ["%", "Hivelore", "left out", "newest", "random", "target of Hivelore"], rows)


def measure(starts: Sequence[Start], bench: Bench, *, has_task: bool) -> Mapping[str, Figures]:
    """Returns the figures of each method."""
    figures = {name: Figures() for name in ("Hivelore", "left out", "newest", "random")}
    candidates = list[Sequence[Candidate]]()
    for start in starts:
        home, repository = bench.place(), _repository(bench.place(), start)
        candidates.append(_fill(home, start, has_task=has_task))
        notes, tokens = _context(home, repository, start, has_task=has_task)
        figures["Hivelore"].add(start, notes, tokens)
    samples = [_labelled(start, found) for start, found in zip(starts, candidates, strict=True)]
    random = np.random.default_rng(0)
    for place, start in enumerate(starts):
        weights = fit([sample for other, sample in enumerate(samples) if other != place])
        chosen = choose(candidates[place], BUDGET, datetime.now(UTC), weights=weights)
        figures["left out"].add(start, _ids(chosen), sum(one.tokens for one in chosen))
        newest = sorted(start.notes, key=lambda note: note.at, reverse=True)
        figures["newest"].add(start, *_within_budget(newest))
        for _ in range(RANDOM_ORDERS):
            order = random.permutation(len(start.notes)).tolist()
            figures["random"].add(start, *_within_budget([start.notes[one] for one in order]))
    return figures


def _ids(candidates: Iterable[Candidate]) -> frozenset[str]:
    return frozenset(str(one.memory.external_id) for one in candidates)


def _within_budget(notes: Iterable[StartNote]) -> tuple[frozenset[str], int]:
    taken, left = set[str](), BUDGET
    for note in notes:
        tokens = estimate(note.text) + LABEL_TOKENS
        if tokens <= left:
            taken.add(note.id)
            left -= tokens
    return frozenset(taken), BUDGET - left


def _repository(folder: Path, start: Start) -> Path:
    """Makes a repository with the branch of a start, whose files have uncommitted changes."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    for text in ("before\n", "after\n"):
        for path in start.changed_files:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if text == "before\n":
            git("add", "--all")
            git("commit", "--quiet", "--message", "Begin")
            git("switch", "--quiet", "--create", start.branch)
    return folder


def _fill(home: Path, start: Start, *, has_task: bool) -> Sequence[Candidate]:
    """Stores the notes of a start as shared memories, embedded, and returns the candidates for its context."""
    app = Application(load(home=home), clock=SystemClock())
    try:
        app.make_keys()
        viewer = local(app)
        drafts = [
            Draft(
                content=note.text,
                scope=Scope.SWARM,
                source=Source.SESSION_SUMMARY if note.is_summary else Source.MANUAL,
                external_id=note.id,
                author=note.author,
                project=start.project,
                created_at=note.at,
                expires_at=datetime.now(UTC) + timedelta(days=1_000),
            )
            for note in start.notes
        ]
        app.memory_service.remember_many(drafts, viewer)
        while app.embedding.step():
            pass
        while app.keywords.compact(app.store):
            pass
        if (model := app.active_model.current) is not None:
            with app.store.read() as view:
                model.index.build(view)
        search = app.search_service_with(SearchConstants(ranking=app.settings.ranking_constants))
        event = AgentEvent(
            id=EventId("start"),
            kind=EventKind.STARTED,
            program="claude-code",
            session=Clean("s"),
            at=datetime.now(UTC),
            project=Clean(start.project),
            branch=Clean(start.branch),
            changed_files=tuple(map(Clean, start.changed_files)),
            task=Task("T-1", start.task) if has_task else None,
        )
        session = Session(agent=AgentId("a"), id=Clean("s"), updated_at=event.at)
        return StartCandidates(app.reading, search, app.rating, app.naming).collect(event, session, viewer, None)
    finally:
        app.close()


def _context(home: Path, repository: Path, start: Start, *, has_task: bool) -> tuple[frozenset[str], int]:
    """Runs the hook for the start of a session. Returns the notes in its answer, and the tokens of their lines."""
    hook = [sys.executable, "-I", "-S", str(copy_to(home)), "--agent", "claude-code", "--project", start.project]
    given = {"HIVELORE_HOOK_WAIT": "30"}
    if has_task:
        task = home / "task.json"
        task.write_text(json.dumps({"id": "T-1", "task": start.task}), encoding="utf-8")
        given["HIVELORE_TASK_FILE"] = str(task)
    payload = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(repository), "source": "startup"}
    with Service(home) as service:
        service.until_ready()
        done = subprocess.run(
            hook,
            input=json.dumps(payload).encode(),
            cwd=repository,
            env=environment(home, **given),
            capture_output=True,
            check=True,
        )
        context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
        lines = re.findall(r"^- \[[^\]]*\] .*(?:\n  .*)*", context, re.MULTILINE)
        client = service.client()
        found = [client.call("GET", f"/api/memory/{line.split()[1].strip('[]')}") for line in lines]
    return frozenset(one["externalId"] for one in found), sum(map(estimate, lines))


Sample = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Features of candidates, and 1 for the useful ones."""


def _labelled(start: Start, candidates: Sequence[Candidate]) -> Sample:
    features = np.array([fitted_features(one) for one in candidates])
    return features, np.array([float(str(one.memory.external_id) in start.useful) for one in candidates])


def fit(samples: Sequence[Sample]) -> Weights:
    """Returns the weights of a logistic regression; those that are not fitted stay as they are."""
    features, useful = (np.concatenate(part) for part in zip(*samples, strict=True))
    scale = np.where(features.std(axis=0) > 0, features.std(axis=0), 1.0)
    scaled, weights = features / scale, np.zeros(features.shape[1])
    penalty = np.diag([0.0, *[RIDGE] * (features.shape[1] - 1)])
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-scaled @ weights))
        hessian = scaled.T @ (scaled * (predicted * (1 - predicted))[:, None]) + penalty
        weights += np.linalg.solve(hessian, scaled.T @ (useful - predicted) - penalty @ weights)
    return replace(WEIGHTS, **dict(zip(FITTED, (weights / scale).tolist(), strict=True)))
