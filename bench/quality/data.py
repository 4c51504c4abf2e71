"""Query sets in the data folder, and how they are read.

A set is a folder ``quality/NAME`` with two files of one JSON object a line. ``corpus.jsonl``: id, collection, text,
timestamp (ISO 8601 or null), metadata (if known: session, speaker, raw, tags). ``queries.jsonl``: qid,
collection, query, category, relevant (ids). ``bench.prepare`` makes them out of files that others publish.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.material import Bench, read_lines
from hivelore.core.values import replace

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
KNOWN = {
    "locomo": "conversations over months, with questions asked the day after the last one (LoCoMo without adversarial"
    " questions).",
    "longmemeval": "chats with an assistant, one store for each query (LongMemEval without abstentions).",
    "commits": "commit messages without their subject; the subject is the query.",
    "cosqa": "web queries for Python functions, from CoSQA's development set.",
    "devbench": "a few notes and queries of a development team.",
}
"""Sets with what to say about them, in the order of the tables. Others may be in the folder, too."""
ADVERSARIAL = "adversarial"
COMMITS = "commits"
PARAPHRASES = Path(__file__).parents[1] / "data" / "paraphrases.jsonl"
DATED = Path(__file__).parents[1] / "data" / "dated.jsonl"
PARAPHRASED = {"aside": "paraphrases, held out", "tune": "paraphrases, tuning"}
"""Our questions about the commits, by what they are for."""
WITH_DATES = "dated"
CONVERSATIONS = "locomo"
LEAST = 60
"""Minimum number of memories of a collection at a reduced scale."""

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """Queries with separate figures: a set, or a ``part`` of it."""

    name: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    groups: Sequence[Group]
    """The whole set comes first."""
    query: str
    relevant: frozenset[str]
    now: datetime | None = None
    """When it is asked; None: at present."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The contents of one store. ``number`` counts the collections of a set from 0."""

    set: str
    number: int
    items: Sequence[Item]
    cases: Sequence[Case]

    @property
    def sessions(self) -> dict[str, str]:
        """Returns the session of each item that has one, by id."""
        return {one["id"]: one["metadata"]["session"] for one in self.items if one["metadata"].get("session")}


def names(data: Path) -> list[str]:
    """Returns the names of the available sets, known ones first."""
    found = {one.parent.name for one in data.glob(f"quality/*/{QUERIES}") if (one.parent / CORPUS).exists()}
    return [name for name in KNOWN if name in found] + sorted(found - KNOWN.keys())


def collections(bench: Bench, name: str) -> Iterator[Collection]:
    """Yields the collections of a set with their queries, reduced by the scale. Adversarial questions, which have no
    answer, are left out; ours in other words are asked of the commits."""
    if bench.data is None:
        return
    folder = bench.data / "quality" / name
    items = sorted(read_lines(folder / CORPUS), key=lambda one: one["collection"])
    cases = _cases(folder, _day_after(items) if name == CONVERSATIONS else {})
    stores = [(store, list(group)) for store, group in groupby(items, key=lambda one: one["collection"])]
    asked = [(group, cases[store]) for store, group in stores if store in cases]
    for number, (group, questions) in enumerate(asked[: bench.count(len(asked))]):
        yield _part(Collection(name, number, group, questions), bench)


def said_at(item: Item) -> datetime | None:
    at = datetime.fromisoformat(item["timestamp"]) if item["timestamp"] else None
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)


def _day_after(items: Iterable[Item]) -> dict[str, datetime]:
    """Returns the day after the last item of each collection, at which its queries run."""
    last: dict[str, datetime] = {}
    for item in items:
        at = said_at(item)
        if at is not None:
            last[item["collection"]] = max(at + timedelta(days=1), last.get(item["collection"], at))
    return last


def _cases(folder: Path, ends: Mapping[str, datetime]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    lines = [(folder.name, one) for one in read_lines(folder / QUERIES)]
    if folder.name == COMMITS:
        lines += [(PARAPHRASED[one["split"]], one) for one in read_lines(PARAPHRASES)]
        lines += [(WITH_DATES, one) for one in read_lines(DATED)]
    for name, one in lines:
        category, store = one["category"], one["collection"]
        if category == ADVERSARIAL:
            continue
        parts = [] if category in (store, name) else [Group(name, category)]
        now = datetime.fromisoformat(one["now"]) if "now" in one else ends.get(store)
        case = Case([Group(name), *parts], one["query"], frozenset(one["relevant"]), now)
        found.setdefault(store, []).append(case)
    return found


def _part(whole: Collection, bench: Bench) -> Collection:
    """Returns a few queries with their relevant items and some others, at a reduced scale."""
    if bench.scale >= 1:
        return whole
    cases = whole.cases[: bench.count(len(whole.cases), 5)]
    wanted = {one for case in cases for one in case.relevant}
    some = bench.count(len(whole.items), LEAST)
    items = [item for place, item in enumerate(whole.items) if place < some or item["id"] in wanted]
    return replace(whole, items=items, cases=cases)
