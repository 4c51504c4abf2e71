"""Effect of usefulness on quality, for past queries with recorded use and for new ones."""

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean

from bench.material import SEED, Bench
from bench.quality.data import COMMITS, CONVERSATIONS, Case, Collection, collections, names
from bench.quality.metrics import LIMIT, ndcg_at, recall_at
from bench.quality.stores import Store, done, filled, opened
from bench.quality.variants import Recipe, asking, hits, search_service
from bench.report import Section, Table
from hivelore.core.text import Clean
from hivelore.feedback.model import UsefulnessBounds
from hivelore.feedback.recalls import Evidence, Sign
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import EVERYTHING
from hivelore.search.ranking import RankingConstants

SETS = (CONVERSATIONS, COMMITS)
MOST_COLLECTIONS = 4
SESSIONS = 3
"""So often each question of the past was asked."""
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
NOISES = (0.0, 0.2, 0.4)
WITHOUT = "no evidence"
BOUNDS: Mapping[str, UsefulnessBounds] = {
    "0.85 to 1.15": UsefulnessBounds(least=0.85, most=1.15),
    "0.7 to 1.3": UsefulnessBounds(),
}
PAST, NEW = "asked before", "new"
TEXT = """
Every second query of a store was asked in {sessions} earlier sessions. Of the first {limit} results, the answering
ones were applied, and those that fit without answering stayed unused. *wrong observations* is the share of results
recorded the other way round. Then these queries are asked once more (*asked before*), and the others for the first
time (*new*). The new queries show the cost of boosting or lowering a memory for other queries.

- *0.7 to 1.3* is the default (`HIVELORE_USEFULNESS_LEAST`, `..._MOST`).
- {stores}
"""


@dataclass(slots=True)
class _Kept:
    first: list[float] = field(default_factory=list[float])
    gains: list[float] = field(default_factory=list[float])

    def add(self, found: Sequence[str], relevant: frozenset[str]) -> None:
        self.first.append(recall_at(found, relevant, 1))
        self.gains.append(ndcg_at(found, relevant, LIMIT))

    @property
    def cells(self) -> list[str]:
        return [f"{100 * fmean(self.first):.1f}", f"{100 * fmean(self.gains):.1f}"]


Row = tuple[str, str]
"""Bounds, and how much was seen wrongly."""
Kept = dict[tuple[str, Row, str], _Kept]
"""By set, row and half."""


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without the data."""
    found = [name for name in SETS if bench.data is not None and name in names(bench.data)]
    if not found:
        return None
    kept: Kept = {}
    for name in found:
        for collection in collections(bench, name):
            if collection.number < MOST_COLLECTIONS:
                _measure(bench, collection, kept)
            done(bench, collection)
    head = ["factor", "wrong observations"]
    places = [(name, half) for name in found for half in (PAST, NEW)]
    head += [f"{name}, {half}: {column}" for name, half in places for column in ("R@1", f"NDCG@{LIMIT}")]
    rows = dict.fromkeys(row for _, row, _ in kept)
    cells = [[*row, *(cell for name, half in places for cell in kept[name, row, half].cells)] for row in rows]
    stores = f"*{CONVERSATIONS}* is limited to the first {MOST_COLLECTIONS} conversations."
    text = TEXT.format(sessions=SESSIONS, limit=LIMIT, stores=stores)
    return Section("Usefulness", text, [Table("", head, cells)])


def _measure(bench: Bench, collection: Collection, kept: Kept) -> None:
    home = bench.place() / "store"
    shutil.copytree(filled(bench, collection), home)
    halves = {PAST: collection.cases[::2], NEW: collection.cases[1::2]}
    with opened(home) as store:
        _ask(store, collection.set, (WITHOUT, ""), UsefulnessBounds(), halves, kept)
        for noise in NOISES:
            evidence_by_memory = _evidence(store, halves[PAST], noise)
            store.app.store.write(lambda tx, evidence_by_memory=evidence_by_memory: tx.add_evidence(evidence_by_memory))
            for bounds, worth in BOUNDS.items():
                _ask(store, collection.set, (bounds, f"{100 * noise:.0f} %"), worth, halves, kept)
            for key in evidence_by_memory:
                store.app.store.write(lambda tx, key=key: tx.drop_evidence(key))


def _ask(
    store: Store, name: str, row: Row, worth: UsefulnessBounds, halves: Mapping[str, Sequence[Case]], kept: Kept
) -> None:
    ask = asking(store, Recipe(ranking=RankingConstants(worth=worth)))
    for half, cases in halves.items():
        held = kept.setdefault((name, row, half), _Kept())
        for case in cases:
            held.add(ask(case.query, LIMIT, case.now), case.relevant)


def _evidence(store: Store, cases: Sequence[Case], noise: float) -> dict[DocumentKey, list[Evidence]]:
    """Returns the evidence about each memory that past queries returned."""
    with store.app.store.read() as view:
        keys = {one.id: key for key, one in view.rank_features_of(view.matching_keys(EVERYTHING), EVERYTHING).items()}
    evidence_by_memory: dict[DocumentKey, list[Evidence]] = {}
    for memory, evidence in _lived(store, cases, noise):
        evidence_by_memory.setdefault(keys[memory], []).append(evidence)
    return evidence_by_memory


def _lived(store: Store, cases: Sequence[Case], noise: float) -> Iterator[tuple[MemoryId, Evidence]]:
    by, chance = search_service(store, Recipe()), random.Random(SEED)
    for number, case in enumerate(cases):
        found = hits(store, by, case.query, LIMIT, case.now)
        for turn in range(SESSIONS):
            at = BEGINNING + timedelta(minutes=turn * len(cases) + number)
            session = Clean(f"{number}-{turn}")
            for hit in found:
                is_used = (hit.memory.external_id in case.relevant) is (chance.random() >= noise)
                if is_used or hit.fits:
                    sign = Sign.APPLIED if is_used else Sign.UNUSED
                    yield hit.memory.id, Evidence(agent=store.viewer.agent, session=session, sign=sign, at=at)
