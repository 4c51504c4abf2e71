"""How often the newer of two tellings comes first: notes whose question is known, told again with another number."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.material import Bench
from bench.quality import VARIANTS, VIEWER, Collection, as_draft, asking, collections, fill
from bench.report import Section, Table
from hivelore.adapters.clock import SystemClock
from hivelore.app import Application
from hivelore.config import load
from hivelore.domain.draft import Draft

PROJECTS = 3
LATER = timedelta(days=20)
LONGEST = 900
KINDS = {"same": "one number is another", "reworded": "and it begins and ends otherwise"}
ROWS = {"ours": "ours", "without updates": "without the rule"}
TEXT = """
Of {projects} projects of *commits*, every note of up to {longest} characters that a question is about and that has a
number in it is told a second time, 20 days later, with that number changed; every other one also begins with
"Update:" and lacks its last sentence. Then the question is asked. The share of questions is given to which the newer
telling comes before the older one, of those that find either among the first ten.
"""


@dataclass(frozen=True)
class _Pair:
    question: str
    older: str
    newer: Draft
    kind: str


def run(bench: Bench) -> Section | None:
    """None where the data is not there."""
    if bench.data is None:
        return None
    newer_first: dict[tuple[str, str], list[bool]] = {}
    found = list(collections(bench.data / "quality" / "commits"))[: bench.count(PROJECTS)]
    for collection in found:
        with TemporaryDirectory() as folder:
            app = Application(load(home=Path(folder)), clock=SystemClock())
            try:
                for kind, row, is_first in _asked(app, collection):
                    newer_first.setdefault((row, kind), []).append(is_first)
            finally:
                app.close()
    rows = [
        [f"{ROWS[row]}, {KINDS[kind]}", str(len(one)), f"{100 * sum(one) / len(one):.0f}"]
        for (row, kind), one in sorted(newer_first.items())
    ]
    text = TEXT.format(projects=len(found), longest=LONGEST)
    return Section("Newer before older", text, [Table("", ["", "questions", "newer first, %"], rows)])


def _asked(app: Application, collection: Collection) -> Iterator[tuple[str, str, bool]]:
    pairs = list(_pairs(collection))
    fill(app, collection)
    app.remembering.remember_many([pair.newer for pair in pairs], VIEWER)
    while app.embedding.step():
        pass
    for row in ROWS:
        ask = asking(app, *VARIANTS[row])
        for pair in pairs:
            answer = list(ask(pair.question))
            told = [one for one in answer if one in (pair.older, pair.newer.external_id)]
            if told:
                yield pair.kind, row, told[0] != pair.older


def _pairs(collection: Collection) -> Iterator[_Pair]:
    chance = random.Random(1)
    notes = {note["id"]: note for note in collection.items}
    for case in collection.cases:
        note = notes[next(iter(case.relevant))]
        if case.group != "commits" or len(note["text"]) > LONGEST or not re.search(r"\b\d+\b", note["text"]):
            continue
        text = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) + 7), note["text"], count=1)
        kind = chance.choice(list(KINDS))
        if kind == "reworded":
            sentences = re.split(r"(?<=\.)\s+", text)
            text = " ".join(["Update:", *(sentences[:-1] if len(sentences) > 2 else sentences)])
        before = as_draft(note)
        at = (before.created_at or datetime.now(UTC)) + LATER
        newer = replace(before, content=text, external_id=f"{note['id']} again", created_at=at)
        yield _Pair(case.query, note["id"], newer, kind)
