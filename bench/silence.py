"""Effect of the relevance floor: relevant answers lost, and irrelevant answers returned."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.filling import local
from bench.material import SEED, Bench
from bench.quality.data import Case, Collection, collections, names
from bench.quality.metrics import recall_at
from bench.quality.stores import KEPT, filled
from bench.report import Section, Table
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import Embedder, load
from hivelore.search.model import Query
from hivelore.search.relevance import FLOOR

DEPTH = 5
AMONG = 10
"""Hits of which the most relevant one counts."""
OF_EACH = 40
"""Questions of one collection that are asked of another."""
FLOORS = (0.05, 0.1, FLOOR, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
OTHER, SIBLING = "another kind", "sibling"
TEXT = """
A hit fits if its relevance, the probability that it helps with the query, reaches {floor:.2f}. `onlyFitting` leaves out
other hits. No model reads query and hit together here, so the relevance is that of an ordinary search.

- *lost* is the R@{depth} that the floor removes when the queries of a set are asked of the right store.
- *answered anyway* is the share of queries that get an answer from a store without one. The store is of *another
  kind* (another data set) or a *sibling* (another project of *commits*, another conversation of *locomo*). Each
  store gets {each} queries of each other store.

All values are percentages. This relevance has two blind spots. A store may know the topic and not the answer. A note
may answer in other words, so most paraphrases are lost. A search without `onlyFitting` still finds them.
"""


@dataclass(frozen=True)
class _Judged:
    group: str
    """Of the questions, or how the store is related to them."""
    mode: str
    relevance: float
    found: float
    """R@DEPTH without a floor."""


MODES: Mapping[str, Embedder] = {"hybrid": Embedder.LOCAL, "keywords only": Embedder.NONE}


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without the data."""
    if bench.data is None:
        return None
    stores = [one for name in names(bench.data) for one in collections(bench, name) if one.number < KEPT]
    result: list[_Judged] = []
    for store in stores:
        home = filled(bench, store)
        for mode, embedder in MODES.items():
            app = Application(load(home=home, embedder=embedder), clock=SystemClock())
            try:
                model = app.active_model.current
                if model is not None:
                    with app.store.read() as view:
                        model.index.build(view)
                result.extend(_asked(app, mode, store, stores))
            finally:
                app.close()
        bench.say(f"{store.set}: {len(result)} answers")
    return Section(
        "Relevance floor",
        TEXT.format(floor=FLOOR, depth=DEPTH, each=OF_EACH).strip(),
        [_table(mode, [one for one in result if one.mode == mode]) for mode in MODES],
    )


def _asked(app: Application, mode: str, store: Collection, stores: Sequence[Collection]) -> Iterator[_Judged]:
    for place, other in enumerate(stores):
        if other is store:
            for case in store.cases:
                best, found = _answer(app, case)
                yield _Judged(case.groups[0].name, mode, best, found)
        else:
            group = f"{SIBLING}: {store.set}" if other.set == store.set else OTHER
            for case in random.Random(SEED + place).sample(other.cases, min(OF_EACH, len(other.cases))):
                yield _Judged(group, mode, _answer(app, case)[0], 0.0)


def _answer(app: Application, case: Case) -> tuple[float, float]:
    """Returns the relevance of the best hit, and the share of relevant memories among the first hits."""
    hits = app.search_service.recall(
        Query(text=app.redactor.clean(case.query), limit=AMONG, now=case.now), local(app)
    ).hits
    found = [str(hit.memory.external_id) for hit in hits]
    return max((hit.relevance for hit in hits), default=0.0), recall_at(found, case.relevant, DEPTH)


def _table(mode: str, result: Sequence[_Judged]) -> Table:
    groups = {name: [one for one in result if one.group == name] for name in sorted({one.group for one in result})}
    own = [name for name in groups if not name.startswith((OTHER, SIBLING))]
    strange = [name for name in groups if name not in own]
    rows: list[list[str]] = []
    for floor in FLOORS:
        lost = {
            name: _percent(one.found for one in groups[name] if one.relevance < floor) / len(groups[name])
            for name in own
        }
        said = {name: _percent(one.relevance >= floor for one in groups[name]) / len(groups[name]) for name in strange}
        cells = [f"{share:.1f}" for share in (*lost.values(), *said.values())]
        rows.append([f"**{floor:.2f}**" if floor == FLOOR else f"{floor:.2f}", *cells])
    head = ["floor", *(f"lost: {name} ({len(groups[name])})" for name in own)]
    head += [f"answered anyway: {name} ({len(groups[name])})" for name in strange]
    return Table(f"**{mode.capitalize()}**", head, rows)


def _percent(shares: Iterable[float]) -> float:
    return 100.0 * sum(shares)
