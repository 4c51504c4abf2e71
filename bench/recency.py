"""Weight of age: the same queries under several recency rules, right after the last memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean
from textwrap import fill

from bench.material import Bench
from bench.quality.baselines import Ask
from bench.quality.data import COMMITS, Collection, collections, names
from bench.quality.metrics import DEEP, LIMIT, ndcg_at, recall_at
from bench.quality.stores import Store, filled, opened, said_at
from bench.quality.variants import AGELESS, NO_UPDATES, Recipe, asking, hits, identified, search_service
from bench.report import Section, Table
from bench.updates import KINDS, restated_projects, retold
from hivelore.search.ranking import Profile, RankingConstants, recency

SETS = ("locomo", COMMITS)
DAY = timedelta(days=1)
FORTNIGHT = timedelta(days=14)
NEVER = timedelta(days=100_000)
FLOOR = 0.7
DOCUMENTED, NONE, DEFAULT = "documented, 14 days", "no recency", "Hivelore"
FLOORED = "the same factor, at least .7"
SLOWEST = "times 2^(-age / 365 days)"


def _times(days: int) -> Recipe:
    return Recipe(ranking=RankingConstants(half_life=timedelta(days=days)), recency_conflicts=NO_UPDATES)


RULES: Mapping[str, Recipe] = {
    DOCUMENTED: Recipe(ranking=RankingConstants(profile=Profile.DOCUMENTED)),
    "documented, without recency": Recipe(ranking=RankingConstants(profile=Profile.DOCUMENTED, half_life=NEVER)),
    "times 2^(-age / 14 days)": _times(14),
    FLOORED: Recipe(ranking=AGELESS, recency_conflicts=NO_UPDATES),
    "times 2^(-age / 60 days)": _times(60),
    "times 2^(-age / 180 days)": _times(180),
    SLOWEST: _times(365),
    NONE: Recipe(ranking=AGELESS, recency_conflicts=NO_UPDATES),
    "plus .02 x 2^(-age / 90 days)": Recipe(recency_conflicts=NO_UPDATES),
    DEFAULT: Recipe(),
}
TEXT = """
The same queries, asked the day after the last memory of each store. The memories span months. The last columns use
the queries of *Newer versions first*, asked one day after the newest of these versions. They give the share of all
queries for which the newer version is among the first ten and before the older one.

- *documented* is `HIVELORE_RANKING=documented`: similarity times recency, without boosts.
- *times* multiplies the ranking score by recency, as `MEMORY_RECENCY_HALF_LIFE_DAYS` does.
- *at least .7* limits this factor. It is not a setting. It reorders the first {deep} of *no recency*.
- *plus* is the small additive term that is always active. All rows except *Hivelore* are without the update rule.

{conclusion}
"""
CONCLUSION = """
**The last row is the reason for the default.** With the documented half-life of 14 days, R@10 goes {documented}.
With 365 days it goes {slowest}. With Hivelore's default it goes {default}.{result} Recency therefore multiplies
nothing by default. Age decides ties, and a rule that reads both texts puts a newer version before the older one. A
relevant memory is found at any age.
"""
WIDTH = 120


@dataclass(slots=True)
class _Kept:
    recalls: list[float] = field(default_factory=list[float])
    gains: list[float] = field(default_factory=list[float])

    @property
    def recall(self) -> float:
        return 100 * fmean(self.recalls)


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without data or without a dated set."""
    found = [name for name in SETS if bench.data is not None and name in names(bench.data)]
    if not found:
        return None
    kept: dict[tuple[str, str], _Kept] = {}
    for name in found:
        for collection in collections(bench, name):
            _ask(bench, collection, kept)
    newer_first = _newer_first(bench)
    head = ["recency", *(f"{name} {column}" for name in found for column in (f"R@{LIMIT}", f"NDCG@{LIMIT}"))]
    kinds = list(dict.fromkeys(kind for _, kind in newer_first))
    head += [f"newer first: {KINDS[kind]}" for kind in kinds]
    rows: list[list[str]] = []
    for rule in RULES:
        row = [rule]
        for name in found:
            one = kept[rule, name]
            row += [f"{one.recall:.1f}", f"{100 * fmean(one.gains):.1f}"]
        rows.append(row + [f"{100 * fmean(newer_first[rule, kind]):.0f}" for kind in kinds])
    conclusion = _conclusion({name: {rule: kept[rule, name].recall for rule in RULES} for name in found}, newer_first)
    return Section("Recency", TEXT.format(deep=DEEP, conclusion=conclusion), [Table("", head, rows)])


def _ask(bench: Bench, collection: Collection, kept: dict[tuple[str, str], _Kept]) -> None:
    with opened(filled(bench, collection)) as store:
        for rule, ask in _asks(store, _last(collection) + DAY).items():
            held = kept.setdefault((rule, collection.set), _Kept())
            for case in collection.cases:
                if case.groups[0].name == collection.set:
                    found = ask(case.query, LIMIT)
                    held.recalls.append(recall_at(found, case.relevant, LIMIT))
                    held.gains.append(ndcg_at(found, case.relevant, LIMIT))


def _newer_first(bench: Bench) -> dict[tuple[str, str], list[bool]]:
    """Returns by rule and kind, for each query, if the newer note is first."""
    first: dict[tuple[str, str], list[bool]] = {}
    for collection in restated_projects(bench):
        with retold(bench, collection) as (store, pairs):
            last = max(pair.newer.created_at for pair in pairs if pair.newer.created_at)
            for rule, ask in _asks(store, max(last, _last(collection)) + DAY).items():
                for pair in pairs:
                    is_first = pair.newer_first(ask(pair.question, LIMIT))
                    first.setdefault((rule, pair.kind), []).append(bool(is_first))
    return first


def _last(collection: Collection) -> datetime:
    return max(at for item in collection.items if (at := said_at(item)) is not None)


def _asks(store: Store, now: datetime) -> dict[str, Ask]:
    return {
        rule: _with_floor(store, recipe, now) if rule == FLOORED else asking(store, recipe, now)
        for rule, recipe in RULES.items()
    }


def _with_floor(store: Store, recipe: Recipe, now: datetime) -> Ask:
    by = search_service(store, recipe)

    def ask(text: str, limit: int, _now: datetime | None = None) -> Sequence[str]:
        found = hits(store, by, text, DEEP, now)
        ages = {hit.memory.id: now - hit.memory.created_at for hit in found}
        order = sorted(found, key=lambda hit: -hit.score.total * max(FLOOR, recency(ages[hit.memory.id], FORTNIGHT)))
        return identified(order[:limit])

    return ask


def _conclusion(recalls: Mapping[str, Mapping[str, float]], newer_first: Mapping[tuple[str, str], list[bool]]) -> str:
    """Returns the text with the default that follows from the rows."""

    def change(rule: str) -> str:
        steps = [f"from {by_rule[NONE]:.1f} to {by_rule[rule]:.1f} on *{name}*" for name, by_rule in recalls.items()]
        return " and ".join(steps)

    def newer(rule: str) -> str:
        first = [one for (ruled, _), result in newer_first.items() if ruled == rule for one in result]
        return f"{100 * fmean(first):.0f} %"

    result = (
        f" Of all updates, {newer(NONE)} come first without recency, {newer(DOCUMENTED)} with 14 days, "
        f"{newer(SLOWEST)} with 365 days and {newer(DEFAULT)} with Hivelore."
        if newer_first
        else ""
    )
    text = CONCLUSION.format(
        documented=change(DOCUMENTED), slowest=change(SLOWEST), default=change(DEFAULT), result=result
    )
    return fill(" ".join(text.split()), WIDTH)
