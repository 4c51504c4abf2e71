"""Cost of links between memories: judging new notes, recalls with links, and writes while memories are compared."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter, process_time, sleep

from bench.filling import local
from bench.material import SEED, Bench
from bench.quality.stores import Store, opened
from bench.report import Section, Table, spread
from bench.truth.stores import READY, WithoutJudge, started
from hivelore.core.text import Clean
from hivelore.links.judge import PairScores
from hivelore.links.model import Link, LinkKind, StoredLink
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Scope
from hivelore.memories.stored import DocumentKey
from hivelore.models.onnx.pairs import JUDGE, OnnxPairReader
from hivelore.models.ports import PairReader
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load
from hivelore.search.model import Filter, Query, Visibility

STORED, LEAST_STORED = 10_000, 60
NEW, LEAST_NEW = 1_000, 5
LINKS, LEAST_LINKS = 2_000, 10
QUESTIONS, LEAST_QUESTIONS, WARM_UP = 400, 10, 5
ROUNDS, WRITES, LEAST_WRITES = 3, 400, 5
SETTLED = 5.0
"""Seconds between the start of an application and its first write that counts."""
AT_ONCE = 500
WITHOUT, WITH = "without links", "with links"
IDLE, RUNNING = "without the judge", "while memories are compared"
MODEL = Clean(JUDGE)
TEXT = """
The store has {stored:,} memories of 200 to 500 characters with vectors, composed of lines of {source}.

- *Judging*: {new:,} further memories are stored and embedded. Then the linker compares each with its neighbours, in one
  thread. All other memories were compared before.
- *Recalls*: the same queries to two copies of the store, in turns. In one of them, {links:,} pairs of nearest
  memories are linked: the later one updates the earlier one. *updated hits*: share of the recalls with a hit that
  another one updates.
- *Writes*: single durable writes through the Python API with all background workers, embedding included, in {rounds}
  rounds that alternate. In the second row, the linker is busy all the time, because the memories of the store were not
  compared before.

*processor* is the time of all threads of the process, background work included.
"""


class TimedReader:
    """Implements ``models.ports.PairReader`` with the shipped model."""

    def __init__(self) -> None:
        self._reader = OnnxPairReader()
        self.milliseconds: list[float] = []

    @property
    def name(self) -> str:
        return self._reader.name

    @property
    def outage(self) -> str | None:
        return self._reader.outage

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        began = perf_counter()
        scores = self._reader.scores(older, newer)
        self.milliseconds.append((perf_counter() - began) * 1e3)
        return scores

    def release_unused(self) -> bool:
        return self._reader.release_unused()


class Timed(Application):
    """An application with a judge whose comparisons are timed."""

    def make_pair_reader(self) -> PairReader | None:
        self.timed = TimedReader()
        return self.timed


@dataclass
class Row:
    milliseconds: list[float] = field(default_factory=list[float])
    processor: float = 0.0
    """Seconds."""
    counted: int = 0
    """Recalls with an updated hit, or memories that were compared."""

    def cells(self) -> list[str]:
        return [*spread(self.milliseconds), f"{self.processor * 1e3 / len(self.milliseconds):.1f}"]


def run(bench: Bench) -> Section:
    stored, new = bench.count(STORED, LEAST_STORED), bench.count(NEW, LEAST_NEW)
    links, rounds = bench.count(LINKS, LEAST_LINKS), bench.count(ROUNDS)
    tables = [_judging(bench, stored, new), _recalls(bench, stored, links), _writes(bench, stored, rounds)]
    text = TEXT.format(stored=stored, new=new, links=links, rounds=rounds, source=bench.source)
    return Section("Cost of links", text.strip(), tables)


def _copy(bench: Bench, stored: int) -> Path:
    return shutil.copytree(bench.filled(stored).home, bench.place(), dirs_exist_ok=True)


def _judging(bench: Bench, stored: int, new: int) -> Table:
    app = Timed(load(home=_copy(bench, stored)), clock=SystemClock())
    try:
        _mark_compared(app)
        drafts = [Draft(content=text, scope=Scope.SWARM) for text in islice(bench.memories(stored + new), stored, None)]
        app.memory_service.remember_many(drafts, local(app))
        while app.embedding.step():
            pass
        if (model := app.active_model.current) is not None:
            with app.store.read() as view:
                model.index.build(view)
        bench.say(f"judging {new:,} memories")
        used, began = process_time(), perf_counter()
        while app.linker.step():
            pass
        wall, processor = perf_counter() - began, process_time() - used
    finally:
        app.close()
    took = app.timed.milliseconds
    p50, p95, _ = spread(took)
    return Table(
        "**Judging**",
        ["memories", "pairs", "s", "processor, s", "p50 of a pair, ms", "p95"],
        [[f"{new:,}", f"{len(took):,}", f"{wall:.1f}", f"{processor:.1f}", p50, p95]],
    )


def _mark_compared(app: Application) -> None:
    """Records that all memories were compared."""
    while True:
        with app.store.read() as view:
            keys = view.uncompared(MODEL, AT_ONCE)
        if not keys:
            return
        app.store.write(lambda tx, keys=keys: [tx.put_compared(key, 1, MODEL) for key in keys])


def _recalls(bench: Bench, stored: int, links: int) -> Table:
    questions = bench.questions[: WARM_UP + bench.count(QUESTIONS, LEAST_QUESTIONS)]
    rows = {WITHOUT: Row(), WITH: Row()}
    with ExitStack() as stack:
        stores = {name: stack.enter_context(opened(_copy(bench, stored))) for name in rows}
        _link(stores[WITH], links)
        bench.say(f"{len(questions)} recalls with and without {links:,} links")
        for number, question in enumerate(questions):
            for name in sorted(rows, reverse=number % 2 == 1):
                _recall(stores[name], question, rows[name] if number >= WARM_UP else Row())
    return Table(
        "**Recalls**, in milliseconds",
        ["", "p50", "p95", "p99", "processor", "updated hits, %"],
        [[name, *row.cells(), f"{100 * row.counted / len(row.milliseconds):.0f}"] for name, row in rows.items()],
    )


def _recall(store: Store, question: str, row: Row) -> None:
    query = Query(text=store.app.redactor.clean(question))
    used, began = process_time(), perf_counter()
    hits = store.app.search_service.recall(query, store.viewer).hits
    row.milliseconds.append((perf_counter() - began) * 1e3)
    row.processor += process_time() - used
    row.counted += any(hit.updated is not None for hit in hits)


def _link(store: Store, count: int) -> None:
    """Links this number of pairs of nearest shared memories. The later one updates the earlier one."""
    made = list(islice(_made_links(store), count))
    for start in range(0, len(made), AT_ONCE):
        batch = made[start : start + AT_ONCE]
        store.app.store.write(lambda tx, batch=batch: [tx.put_link(one) for one in batch])


def _made_links(store: Store) -> Iterator[StoredLink]:
    app, where = store.app, Filter(visibility=Visibility(own=None, swarm=True))
    model = app.active_model.current
    assert model is not None
    with app.store.read() as view:
        key = view.model_key(model.provider.fingerprint)
        assert key is not None
        memories = view.memories_of(view.uncompared(MODEL, STORED), where)  # No memory was compared.
        order, known = list(memories), set[tuple[DocumentKey, DocumentKey]]()
        Random(SEED).shuffle(order)
        for one in order:
            passage = view.chunks(one)[0].passages[0]
            vector = view.vectors(key, [passage])[passage]
            nearest = [near.document for near in model.index.nearest(view, vector, where, 2).nearest]
            older, newer = sorted((one, next(near for near in nearest if near != one)))
            if (newer, older) in known:
                continue
            known.add((newer, older))
            link = Link(
                source=memories[newer].id,
                target=memories[older].id,
                kind=LinkKind.UPDATES,
                certainty=1.0,
                why=Clean(""),
                model=MODEL,
                at=app.clock.now(),
            )
            yield StoredLink(newer, older, link)


def _writes(bench: Bench, stored: int, rounds: int) -> Table:
    number = bench.count(WRITES, LEAST_WRITES)
    homes = {IDLE: _copy(bench, stored), RUNNING: _copy(bench, stored)}
    rows = {IDLE: Row(), RUNNING: Row()}
    texts = bench.texts(2 * rounds * (WARM_UP + number), seed=2)
    for _ in range(rounds):
        for name, row in rows.items():
            kind = WithoutJudge if name == IDLE else Application
            with started(kind(load(home=homes[name]), clock=SystemClock())) as app:
                _write(app, Row(), list(islice(texts, WARM_UP)))
                sleep(SETTLED * min(1.0, bench.scale))
                _await_comparing(app)
                _write(app, row, list(islice(texts, number)))
    bench.say(f"{len(rows[IDLE].milliseconds):,} writes with and without the linker")
    return Table(
        "**Writes**, in milliseconds",
        ["", "p50", "p95", "p99", "processor", "memories compared meanwhile"],
        [[name, *row.cells(), f"{row.counted:,}"] for name, row in rows.items()],
    )


def _await_comparing(app: Application) -> None:
    """Writes a memory and waits until the linker has compared one. Without a judge, it does not wait."""
    app.memory_service.remember(Draft(content="A memory to compare."), local(app))
    waiting, until = _uncompared(app), perf_counter() + READY
    while app.comparer.model is not None and _uncompared(app) >= waiting:
        if perf_counter() > until:
            raise RuntimeError("no memory was compared in time")
        sleep(0.05)


def _write(app: Application, row: Row, texts: Sequence[str]) -> None:
    viewer, before, used = local(app), _uncompared(app), process_time()
    for text in texts:
        began = perf_counter()
        app.memory_service.remember(Draft(content=text), viewer)
        row.milliseconds.append((perf_counter() - began) * 1e3)
    row.processor += process_time() - used
    row.counted += before + len(texts) - _uncompared(app)


def _uncompared(app: Application) -> int:
    with app.store.read() as view:
        return view.count_uncompared(MODEL)
