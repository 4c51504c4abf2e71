"""What the prompt hook injects, next to two baselines that inject the best hits of keywords or vectors.

Each prompt is the first one of a session of its own. The notes are shared memories of one project, and session-start
context is off, so that only what answers the prompt is counted.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import fmean

import numpy as np

from bench.filling import local
from bench.injection.data import KEPT_ASIDE, Prompt, Store, other_stores, own_stores
from bench.material import Bench
from bench.plots import Bars
from bench.report import Section, Table, judged
from hivelore.core.agents import Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Scope
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load
from hivelore.search.model import RERANKED, Query
from hivelore.search.tokenizer import query_terms
from hivelore.sessions.operations import HookEvent

BASELINE_LINES = 3
"""Notes that a baseline injects into each prompt."""
LEAST_COSINE = 0.4
"""Of what the baseline with vectors injects."""
FOUND = 5
"""Hits of a recall in which the right note counts as found."""
FOREIGN_OF_EACH = 12
"""Prompts of one store that are asked of another."""
ANSWERED = ("identifier", "error", "vague", "task", "paraphrase")
UNANSWERED = ("same-project", "foreign", "smalltalk")
LEAST = {"all": 75, "identifier": 92, "task": 70, "paraphrase": 50}
MOST = {"foreign": 5, "smalltalk": 2, "same-project": 25}
LEAST_POINTED, LEAST_RELEVANT, MOST_TOKENS, MOST_UNRELIABLE = 90, 60, 40, 10
TEXT = f"""
Prompts typed to an agent, in projects whose notes are memories. Each prompt is sent to the hook of a new session, and
what the hook injects is compared with the notes that should be in front of the agent.

- *injected*: share of the prompts for which a right note is injected. *found* is the share with a right note among the
  first {FOUND} hits of a recall.
- *pointed to*: a line with the name of the right note is injected.
- *relevant lines*, *relevant pointers*: share of the injected notes, and of these lines with names, that are right.
- *foreign*: prompts of another project. *same-project*: work in the project that no note helps with. *smalltalk*:
  thanks, jokes and general knowledge. For these, *injected* is the share that gets any note, and *tokens* the mean
  number of estimated tokens of all text that is injected.

*reliability* compares the relevance of the first {RERANKED} hits of each recall with the share of those that are right.

*keywords* always injects the best {BASELINE_LINES} notes of SQLite's full-text search (any word of the prompt).
*vectors* injects the {BASELINE_LINES} notes nearest to the prompt, from a cosine of {LEAST_COSINE}. Our own stores are
in `bench/data/injection`. Those named *aside* train no model. The other stores are in `HIVELORE_BENCH_DATA`.
"""


@dataclass(frozen=True, slots=True)
class Filled:
    app: Application
    viewer: Viewer


@dataclass(frozen=True, slots=True)
class Given:
    """What a prompt gets."""

    notes: frozenset[str]
    tokens: int = 0
    pointers: frozenset[str] = frozenset()
    """Notes of which only the name is injected."""


@dataclass(slots=True)
class Counts:
    """Figures of one method on one set of stores."""

    reached: dict[str, list[bool]] = field(default_factory=lambda: defaultdict[str, list[bool]](list))
    """For each kind: a right note was injected, or any note if none is right."""
    pointed: dict[str, list[bool]] = field(default_factory=lambda: defaultdict[str, list[bool]](list))
    """As ``reached``, with notes of which only the name is injected."""
    tokens: dict[str, list[int]] = field(default_factory=lambda: defaultdict[str, list[int]](list))
    lines: int = 0
    right: int = 0
    pointers: int = 0
    right_pointers: int = 0

    def add(self, prompt: Prompt, given: Given) -> None:
        gold, both = frozenset(prompt.gold), given.notes | given.pointers
        self.reached[prompt.kind].append(bool(given.notes & gold) if gold else bool(given.notes))
        self.pointed[prompt.kind].append(bool(both & gold) if gold else bool(both))
        self.tokens[prompt.kind].append(given.tokens)
        self.lines += len(given.notes)
        self.right += len(given.notes & gold)
        self.pointers += len(given.pointers)
        self.right_pointers += len(given.pointers & gold)


def share(reached: Mapping[str, Sequence[bool]], kinds: Iterable[str]) -> float | None:
    """Returns a percentage over all prompts of some kinds; None without such prompts."""
    all_of_them = [one for kind in kinds for one in reached.get(kind, ())]
    return 100 * fmean(all_of_them) if all_of_them else None


@dataclass(frozen=True, slots=True)
class Judged:
    """The relevance of a hit, and whether it is right."""

    relevance: float
    is_right: bool


@contextmanager
def filled(home: Path, store: Store) -> Generator[Filled]:
    """Opens an application with the notes of a store as shared memories, embedded, without background work."""
    app = Application(load(home=home, briefing_tokens=0), clock=SystemClock())
    try:
        app.make_keys()
        viewer = local(app)
        drafts = [
            Draft(
                content=note.text,
                scope=Scope.SWARM,
                external_id=note.id,
                author=note.author,
                project=store.name,
                created_at=note.at,
            )
            for note in store.notes
        ]
        app.memory_service.remember_many(drafts, viewer)
        while app.embedding.step():
            pass
        while app.keywords.compact(app.store):
            pass
        if (model := app.active_model.current) is not None:
            with app.store.read() as view:
                model.index.build(view)
        yield Filled(app, viewer)
    finally:
        app.close()


def run(bench: Bench) -> Section:
    own = list(own_stores())
    sets = {
        "aside": [store for store in own if store.name in KEPT_ASIDE],
        "other stores": list(other_stores(bench.data)),
    }
    tables: list[Table] = []
    bars: list[Bars] = []
    for name, stores in sets.items():
        if stores:
            kept = stores[: bench.count(len(stores))]
            judged_hits = list[Judged]()
            tables.append(_table(name, measure(bench, kept, stores, judged_hits)))
            bins = bins_of(judged_hits)
            tables.append(_reliability(name, bins))
            bars.append(_diagram(name, bins))
            bench.say(f"{name}: {len(kept)} stores")
    return Section("Injection into prompts", TEXT.strip(), tables, bars)


def measure(
    bench: Bench, stores: Sequence[Store], all_stores: Sequence[Store], judged_hits: list[Judged]
) -> Mapping[str, Counts]:
    """Returns the figures of each method. Appends the relevance of each hit to ``judged_hits``."""
    counts = {name: Counts() for name in ("found", "Hivelore", "keywords", "vectors")}
    for place, store in enumerate(stores):
        foreign = [
            foreign_prompt(prompt)
            for other in all_stores
            if other is not store
            for prompt in [one for one in other.prompts if one.gold][place :: len(other.prompts) // FOREIGN_OF_EACH]
        ]
        prompts = [*store.prompts, *foreign]
        prompts = prompts[:: max(1, len(prompts) // bench.count(len(prompts), 8))]
        keywords, vectors = _keyword_baseline(store), _vector_baseline(store, bench.embedder)
        with filled(bench.place(), store) as opened:
            hook = hook_of(opened, store)
            for prompt in prompts:
                query = Query(text=Clean(prompt.text), limit=RERANKED, project=Clean(store.name), reads=RERANKED)
                hits = opened.app.search_service.recall(query, opened.viewer).hits
                ids = [str(hit.memory.external_id) for hit in hits]
                judged_hits += [Judged(hit.relevance, it in prompt.gold) for hit, it in zip(hits, ids, strict=True)]
                counts["found"].add(prompt, Given(frozenset(ids[:FOUND])))
                counts["Hivelore"].add(prompt, hook(prompt))
                counts["keywords"].add(prompt, keywords(prompt))
                counts["vectors"].add(prompt, vectors(prompt))
    return counts


def foreign_prompt(prompt: Prompt) -> Prompt:
    """Returns a prompt as one of another project."""
    return Prompt(prompt.id, prompt.text, "foreign", (), ())


def hook_of(opened: Filled, store: Store) -> Callable[[Prompt], Given]:
    """Returns a function that sends a prompt to the hook, each in a new session."""
    app, numbers = opened.app, count()
    viewer = replace(opened.viewer, interface=Interface.HOOK)
    agent = viewer.agent
    assert agent is not None

    def given(prompt: Prompt) -> Given:
        name = f"s{next(numbers)}"
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": name, "cwd": "/", "prompt": prompt.text}
        event = HookEvent(program="claude-code", id=name, project=store.name, payload=payload)
        reply = app.hooks.handle(event, viewer)
        if not isinstance(reply, dict):
            return Given(frozenset())
        output = reply["hookSpecificOutput"]
        assert isinstance(output, dict)
        session = app.session_buffer.load(agent, Clean(f"claude-code:{name}"))
        assert session is not None
        with app.store.read() as view:
            found = [(view.get(one.memory), one.is_pointer) for one in session.injected]
        ids = {is_pointer: frozenset[str]() for is_pointer in (False, True)}
        for memory, is_pointer in found:
            if memory is not None:
                ids[is_pointer] |= {str(memory.memory.external_id)}
        return Given(ids[False], estimate(str(output["additionalContext"])), ids[True])

    return given


def _keyword_baseline(store: Store) -> Callable[[Prompt], Given]:
    texts = {note.id: note.text for note in store.notes}
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE notes USING fts5(id UNINDEXED, text, tokenize = 'porter')")
    database.executemany("INSERT INTO notes VALUES (?, ?)", texts.items())
    statement = f"SELECT id FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT {BASELINE_LINES}"

    def given(prompt: Prompt) -> Given:
        words = " OR ".join('"' + term.replace('"', '""') + '"' for term in query_terms(prompt.text))
        notes = [row[0] for row in database.execute(statement, (words,))] if words else []
        return Given(frozenset(notes), sum(estimate(texts[note]) for note in notes))

    return given


def _vector_baseline(store: Store, embedder: OnnxEmbedder) -> Callable[[Prompt], Given]:
    vectors = np.array([one.vector for one in embedder.embed_in_detail([Clean(note.text) for note in store.notes])])

    def given(prompt: Prompt) -> Given:
        (query,) = embedder.embed_in_detail([Clean(prompt.text)])
        cosines = vectors @ query.vector
        best = [place for place in np.argsort(-cosines)[:BASELINE_LINES].tolist() if cosines[place] >= LEAST_COSINE]
        notes = [store.notes[place] for place in best]
        return Given(frozenset(note.id for note in notes), sum(estimate(note.text) for note in notes))

    return given


def _table(title: str, counts: Mapping[str, Counts]) -> Table:
    rows = [_row("injected, all", counts, ANSWERED, _at_least(LEAST["all"]))]
    rows += [_row(f"injected, {kind}", counts, [kind], _at_least(LEAST.get(kind))) for kind in ANSWERED]
    pointed = {name: share(one.pointed, ANSWERED) for name, one in counts.items()}
    rows.append(_cells("injected or pointed to, all", pointed, _at_least(LEAST_POINTED)))
    rows += [_row(f"injected, {kind}", counts, [kind], _at_most(MOST[kind])) for kind in UNANSWERED]
    lines = {name: 100 * one.right / one.lines if one.lines else None for name, one in counts.items()}
    rows.append(_cells("relevant lines", lines, _at_least(LEAST_RELEVANT)))
    right = {name: 100 * one.right_pointers / one.pointers if one.pointers else None for name, one in counts.items()}
    rows.append(_cells("relevant pointers", right, None))
    tokens = {name: fmean(token for kind in UNANSWERED for token in one.tokens[kind]) for name, one in counts.items()}
    rows.append(_cells("tokens without an answer", {**tokens, "found": None}, _at_most(MOST_TOKENS)))
    rows = [row for row in rows if any(row[1:])]  # A part of the prompts may lack a kind.
    return Table(f"### {title}", ["", *counts, "target of Hivelore"], rows)


Target = tuple[str, Callable[[float], bool]] | None


def _at_least(figure: int | None) -> Target:
    return None if figure is None else (f"at least {figure}", lambda value: value >= figure)


def _at_most(figure: int) -> Target:
    return f"at most {figure}", lambda value: value <= figure


def _row(name: str, counts: Mapping[str, Counts], kinds: Sequence[str], target: Target) -> list[str]:
    return _cells(name, {method: share(one.reached, kinds) for method, one in counts.items()}, target)


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits of about the same relevance; percentages."""

    name: str
    hits: int
    predicted: float
    right: float


def bins_of(judged_hits: Sequence[Judged]) -> list[Bin]:
    """Returns the hits by their relevance, without empty bins."""
    found: list[Bin] = []
    for low in range(0, 100, 20):
        held = [
            one for one in judged_hits if low <= 100 * one.relevance < low + 20 or (low == 80 and one.relevance == 1)
        ]
        if held:
            predicted = 100 * fmean(one.relevance for one in held)
            found.append(Bin(f"{low} to {low + 20}", len(held), predicted, 100 * fmean(one.is_right for one in held)))
    return found


def _reliability(title: str, bins: Sequence[Bin]) -> Table:
    """Returns the predicted relevance next to the observed share of right hits."""
    rows = [
        [
            one.name,
            f"{one.hits:,}",
            f"{one.predicted:.0f}",
            f"{one.right:.0f}",
            judged(abs(one.predicted - one.right) <= MOST_UNRELIABLE, f"within {MOST_UNRELIABLE}"),
        ]
        for one in bins
    ]
    return Table(f"### {title}, reliability", ["relevance, %", "hits", "predicted", "right", "difference"], rows)


def _diagram(title: str, bins: Sequence[Bin]) -> Bars:
    return Bars(
        f"reliability-{title.replace(' ', '-')}",
        f"Relevance and the share of hits that are right, in percent: {title}",
        [f"{one.name}, {one.hits:,} hits" for one in bins],
        {"predicted": [one.predicted for one in bins], "right": [one.right for one in bins]},
    )


def _cells(name: str, figures: Mapping[str, float | None], target: Target) -> list[str]:
    own = figures["Hivelore"]
    verdict = "" if target is None or own is None else judged(target[1](own), target[0])
    return [name, *("" if one is None else f"{one:.0f}" for one in figures.values()), verdict]
