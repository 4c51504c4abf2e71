"""Rank of the newer of two versions: notes with a known query, restated with another number."""

import random
import re
import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bench.material import Bench
from bench.quality.data import COMMITS, Collection, Group, collections
from bench.quality.metrics import LIMIT
from bench.quality.stores import Store, as_draft, filled, opened
from bench.quality.variants import OURS, WITHOUT, WITHOUT_UPDATES, Recipe, asking
from bench.report import Section, Table
from hivelore.core.values import replace
from hivelore.memories.drafts import Draft

PROJECTS = 3
LATER = timedelta(days=20)
LONGEST = 900
KINDS = {"same": "one number changed", "reworded": "beginning and end changed too"}
ROWS = {OURS: Recipe(), "without the rule": WITHOUT[WITHOUT_UPDATES]}
TEXT = """
In {projects} projects of *commits*, each suitable note is stored a second time, 20 days later, with one number
changed. A suitable note has up to {longest} characters, contains a number, and has a query. Every second copy also
begins with "Update:" and omits its last sentence. Then the query is asked. The table gives the share of queries with
the newer version before the older one, among the queries that find either in the first ten.
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A note and its restatement. ``kind`` is one of ``KINDS``."""

    question: str
    older: str
    newer: Draft
    kind: str

    def newer_first(self, found: Sequence[str]) -> bool | None:
        """Returns True if the newer note is first; None if neither was found."""
        result = [one for one in found if one in (self.older, self.newer.external_id)]
        return result[0] != self.older if result else None


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without the data."""
    newer_first: dict[tuple[str, str], list[bool]] = {}
    projects = restated_projects(bench)
    for collection in projects:
        with retold(bench, collection) as (store, pairs):
            for row, recipe in ROWS.items():
                ask = asking(store, recipe)
                for pair in pairs:
                    is_first = pair.newer_first(ask(pair.question, LIMIT))
                    if is_first is not None:
                        newer_first.setdefault((row, pair.kind), []).append(is_first)
    if not newer_first:
        return None
    rows = [
        [f"{row}, {KINDS[kind]}", str(len(one)), f"{100 * sum(one) / len(one):.0f}"]
        for (row, kind), one in sorted(newer_first.items())
    ]
    text = TEXT.format(projects=len(projects), longest=LONGEST)
    return Section("Newer versions first", text, [Table("", ["", "queries", "newer first, %"], rows)])


def restated_projects(bench: Bench) -> list[Collection]:
    """Returns the projects with restated notes; none without the data."""
    if bench.data is None or not (bench.data / "quality" / COMMITS).exists():
        return []
    return list(collections(bench, COMMITS))[: bench.count(PROJECTS)]


@contextmanager
def retold(bench: Bench, collection: Collection) -> Generator[tuple[Store, Sequence[Pair]]]:
    """Opens a separate store with a collection and its restatements."""
    pairs = list(_pairs(collection))
    home = bench.place()
    shutil.copytree(filled(bench, collection), home, dirs_exist_ok=True)
    with opened(home) as store:
        store.remember([pair.newer for pair in pairs])
        yield store, pairs
    shutil.rmtree(home)


def _pairs(collection: Collection) -> Iterator[Pair]:
    chance = random.Random(1)
    notes = {note["id"]: note for note in collection.items}
    for case in collection.cases:
        note = notes[next(iter(case.relevant))]
        number = re.search(r"\b\d+\b", note["text"])
        if case.groups[0] != Group(COMMITS) or len(note["text"]) > LONGEST or number is None:
            continue
        text = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) + 7), note["text"], count=1)
        kind = chance.choice(list(KINDS))
        if kind == "reworded":
            sentences = re.split(r"(?<=\.)\s+", text)
            text = " ".join(["Update:", *(sentences[:-1] if len(sentences) > 2 else sentences)])
        before = as_draft(note)
        at = (before.created_at or datetime.now(UTC)) + LATER
        newer = replace(before, content=text, external_id=f"{note['id']} again", created_at=at)
        yield Pair(case.query, note["id"], newer, kind)
