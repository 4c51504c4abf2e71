"""Measurement of all queries of a set in every variant, query by query, so that other load affects all alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from bench.material import Bench
from bench.quality import baselines
from bench.quality.baselines import Ask
from bench.quality.data import Case, Collection, Group, collections
from bench.quality.metrics import DEEP, LIMIT, Figures, Metrics, of_answer, of_deep_answer, together
from bench.quality.stores import Store, done, filled, opened
from bench.quality.variants import KEYWORDS, OURS, VECTORS, WITHOUT, Recipe, asking
from hivelore.core.text import Clean

GREP, PHRASE, FTS5, NEAREST, RRF = "grep", "FTS5, phrase", "FTS5, any word", "vectors only", "RRF of both"
LEADING = (GREP, PHRASE, FTS5, NEAREST, RRF, KEYWORDS, OURS)
"""The rows of the first table; the others leave something out of ours."""
ROWS = (*LEADING, *(name for name in WITHOUT if name not in LEADING))


@dataclass(frozen=True, slots=True)
class Way:
    """``embeds``: the time of embedding the question belongs to it."""

    ask: Ask
    embeds: bool


@dataclass(slots=True)
class _Answers:
    metrics: list[Metrics] = field(default_factory=list[Metrics])
    seconds: list[float] = field(default_factory=list[float])


def measured(bench: Bench, name: str) -> dict[tuple[Group, str], Figures]:
    """Returns the figures of every group and row over all queries of a set."""
    answers: dict[tuple[Group, str], _Answers] = {}
    for collection in collections(bench, name):
        with opened(filled(bench, collection)) as store:
            ways, sessions = _ways(store, collection), collection.sessions
            embed = _embedding(store)
            for case in collection.cases:
                for row, metrics, seconds in _asked(case, ways, sessions, embed):
                    for group in case.groups:
                        held = answers.setdefault((group, row), _Answers())
                        held.metrics.append(metrics)
                        held.seconds.append(seconds)
        done(bench, collection)
    return {key: together(one.metrics, one.seconds) for key, one in answers.items()}


def _ways(store: Store, collection: Collection) -> Mapping[str, Way]:
    any_word, nearest = baselines.fts5(collection.items, baselines.any_word), asking(store, VECTORS)
    ours = {OURS: Recipe(), **WITHOUT}
    return {
        GREP: Way(baselines.grep(collection.items), embeds=False),
        PHRASE: Way(baselines.fts5(collection.items, baselines.phrase), embeds=False),
        FTS5: Way(any_word, embeds=False),
        NEAREST: Way(nearest, embeds=True),
        RRF: Way(baselines.fused_by_rank([any_word, nearest]), embeds=True),
        **{name: Way(asking(store, recipe), embeds=recipe.meaning) for name, recipe in ours.items()},
    }


def _embedding(store: Store) -> Callable[[str], object]:
    model = store.app.active_model.current
    return lambda text: None if model is None else model.provider.embed_query(Clean(text))


def _asked(
    case: Case, ways: Mapping[str, Way], sessions: Mapping[str, str], embed: Callable[[str], object]
) -> Sequence[tuple[str, Metrics, float]]:
    """Runs one query in every variant. Its embedding is cached before, and its time added to variants that embed."""
    began = perf_counter()
    embed(case.query)
    embedding = perf_counter() - began
    answers: list[tuple[str, Metrics, float]] = []
    for row, way in ways.items():
        began = perf_counter()
        found = way.ask(case.query, LIMIT, case.now)
        seconds = perf_counter() - began + (embedding if way.embeds else 0.0)
        metrics = of_answer(found, case.relevant)
        if row in LEADING:
            metrics |= of_deep_answer(way.ask(case.query, DEEP, case.now), case.relevant, sessions)
        answers.append((row, metrics, seconds))
    return answers
