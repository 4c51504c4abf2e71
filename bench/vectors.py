"""Search time of the vector engines, compared with a plain numpy scan of the same vectors in the same run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from uuid import UUID

import numpy as np

from bench.material import Bench
from bench.report import Section, Table
from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.indexes.ports import VectorIndex
from hivelore.indexes.vectors.brute_force import ExactVectors, sqlite_vec
from hivelore.indexes.vectors.scan import ScanVectors
from hivelore.indexing.model import Vector
from hivelore.memories.model import Chunk, Memory, MemoryId, Passage, Provenance, Scope, Source
from hivelore.memories.stored import DocumentKey
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sqlite.store import SqliteStore

FINGERPRINT = "bench"
PER_MEMORY = 4
PER_WRITE = 500
LIMIT = 10
RECALLS = 20
OWNERS = [AgentId(f"agent-{number}") for number in range(10)]
FILTERS = {
    "all": Filter(visibility=Visibility(own=None, swarm=True, others=True)),
    "10 %": Filter(visibility=Visibility(own=OWNERS[0], swarm=False)),
}
SIZES = (1_000, 10_000, 100_000)
DIMENSION = 384
SECONDS = 1.0
FEW = 10_000
"""Maximum size for the engine that reads every vector from the database for each query."""
TEXT = """
The ten nearest vectors of {dimension} dimensions, in milliseconds a query. The vectors are clustered and the same in
every run. They are stored in SQLite, four per memory, and a tenth of the memories is private to one agent. *10 %* is
a search among those. The floor is one product of the in-memory matrix with the query, on one core, and its ten best.
"""
BORN = datetime(2026, 1, 1, tzinfo=UTC)


def clustered(size: int, dimension: int, seed: int) -> Vector:
    """Returns unit vectors in clusters of about 25, each near its centre as paraphrases are (cosine about 0.8)."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((4_000, dimension), np.float32)
    rows = centres[random.integers(0, len(centres), size)]
    rows += 0.5 * random.standard_normal((size, dimension), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def memory(number: int) -> tuple[Memory, Chunk]:
    text = f"{number:08} " + "x" * 80
    spans = tuple(Passage(start=20 * at, stop=20 * at + 20) for at in range(PER_MEMORY))
    owner = OWNERS[number % len(OWNERS)]
    return Memory(
        id=MemoryId(str(UUID(int=number))),
        owner=owner,
        scope=Scope.AGENT,
        name=Clean("bench"),
        content=Clean(text),
        summary=Clean(""),
        source=Source.MANUAL,
        created_at=BORN,
        updated_at=BORN,
        provenance=Provenance(actor=owner, interface=Interface.PYTHON),
        session=Clean(f"session {number // 20}"),
    ), Chunk(index=0, start=0, stop=len(text), headings=(), passages=spans)


def fill(store: SqliteStore, vectors: Vector) -> None:
    def work(tx: Transaction, start: int, stop: int) -> None:
        model = tx.register_model(FINGERPRINT, vectors.shape[1])
        for number in range(start, stop):
            one, chunk = memory(number)
            key = tx.add(one, [chunk]).key
            passages = tx.chunks(key)[0].passages
            rows = vectors[number * PER_MEMORY : (number + 1) * PER_MEMORY]
            tx.put_vectors(model, dict(zip(passages, rows, strict=True)))

    memories = len(vectors) // PER_MEMORY
    for start in range(0, memories, PER_WRITE):
        stop = min(start + PER_WRITE, memories)
        store.write(lambda tx, start=start, stop=stop: work(tx, start, stop))


@dataclass(frozen=True)
class Timing:
    milliseconds: Sequence[float]

    def cells(self) -> list[str]:
        p50, p95, p99 = np.percentile(self.milliseconds, [50, 95, 99])
        return [f"{figure:.2f}" for figure in (min(self.milliseconds), p50, p95, p99)]


def timed(call: Callable[[Vector], object], queries: Vector, seconds: float) -> Timing:
    """Calls with one query after the other for about this long, at least five times."""
    call(queries[0])
    took: list[float] = []
    for query in queries:
        start = perf_counter()
        call(query)
        took.append((perf_counter() - start) * 1_000)
        if sum(took) > seconds * 1_000 and len(took) >= 5:
            break
    return Timing(took)


def floor(vectors: Vector, query: Vector) -> object:
    scores = vectors @ query
    return np.argpartition(scores, len(scores) - LIMIT)[-LIMIT:]


def measure(store: SqliteStore, vectors: Vector, queries: Vector, seconds: float) -> Iterator[list[str]]:
    """Yields the rows of one size."""
    dimension = vectors.shape[1]
    yield ["numpy float32 floor", *timed(lambda query: floor(vectors, query), queries, seconds).cells(), ""]
    scan = ScanVectors(FINGERPRINT, dimension)
    engines: list[VectorIndex] = [scan, sqlite_vec(FINGERPRINT, dimension)]
    if len(vectors) <= FEW:
        engines.append(ExactVectors(FINGERPRINT, dimension))
    with store.read() as view:
        start = perf_counter()
        scan.build(view)
        built = perf_counter() - start
        for engine in engines:
            recall = np.mean([overlap(engine, view, vectors, query) for query in queries[:RECALLS]])
            for name, where in FILTERS.items():
                cells = timed(searching(engine, view, where), queries, seconds).cells()
                yield [f"`{engine.name}`, {name}", *cells, f"{recall:.3f}" if name == "all" else ""]
    name = f"`scan` follows one write (built in {built:.2f} s, {scan.memory_bytes / 1e6:.0f} MB)"
    yield [name, *followed(store, scan, queries[0]).cells(), ""]


def searching(engine: VectorIndex, view: View, where: Filter) -> Callable[[Vector], object]:
    def search(query: Vector) -> object:
        engine.follow(view)
        return engine.nearest(view, query, where, LIMIT)

    return search


def overlap(engine: VectorIndex, view: View, vectors: Vector, query: Vector) -> float:
    """Returns the share of the nearest documents that the engine finds."""
    best = (vectors @ query).reshape(-1, PER_MEMORY).max(axis=1)
    # The store is new and filled in order, so its keys count from 1.
    truth = {DocumentKey(int(number) + 1) for number in np.argsort(-best)[:LIMIT]}
    found = {near.document for near in engine.nearest(view, query, FILTERS["all"], LIMIT).nearest}
    return len(truth & found) / LIMIT


def followed(store: SqliteStore, engine: VectorIndex, vector: Vector) -> Timing:
    took: list[float] = []
    for number in range(20):
        one, chunk = memory(10**7 + number)

        def work(tx: Transaction, one: Memory = one, chunk: Chunk = chunk) -> None:
            passages = tx.chunks(tx.add(one, [chunk]).key)[0].passages
            tx.put_vectors(tx.register_model(FINGERPRINT, len(vector)), dict.fromkeys(passages, vector))

        store.write(work)
        with store.read() as view:
            start = perf_counter()
            engine.follow(view)
            took.append((perf_counter() - start) * 1_000)
    return Timing(took)


def run(bench: Bench) -> Section:
    tables: list[Table] = []
    seconds = SECONDS * min(1.0, bench.scale)
    for size in (bench.count(size, 100) for size in SIZES):
        vectors = clustered(size, DIMENSION, seed=1)
        queries = clustered(1_000, DIMENSION, seed=2)
        with closing(SqliteStore(bench.place() / "bench.db", clock=SystemClock(), durable=False)) as store:
            fill(store, vectors)
            rows = list(measure(store, vectors, queries, seconds))
        head = [f"{size:,} vectors", "min", "p50", "p95", "p99", f"recall@{LIMIT}"]
        tables.append(Table("", head, rows))
    return Section("Vector engines", TEXT.format(dimension=DIMENSION), tables)
