"""How fast the vector engines answer, beside a plain numpy scan of the same vectors in the same run.

    python -m bench.vectors [--sizes 1000 10000 100000] [--dimension 384] [--seconds 1]

Vectors are clustered and always the same; they lie in a SQLite store in a temporary folder, four to a
memory, a tenth of the memories private to one agent. Times are in milliseconds.
"""

import argparse
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from uuid import UUID

import apsw
import numpy as np

from hivelore.adapters.clock import SystemClock
from hivelore.adapters.sqlite.store import SqliteStore
from hivelore.adapters.vectors.exact import ExactVectors
from hivelore.adapters.vectors.scan import ScanVectors
from hivelore.adapters.vectors.sqlite_vec import SqliteVecVectors
from hivelore.domain.agent import AgentId, Door
from hivelore.domain.index import DocumentKey, Vector
from hivelore.domain.memory import Chunk, Memory, MemoryId, Passage, Provenance, Scope, Source
from hivelore.domain.search import Filter, Visibility
from hivelore.domain.text import Clean
from hivelore.ports import Transaction, VectorIndex, View

FINGERPRINT = "bench"
PER_MEMORY = 4
PER_WRITE = 500
LIMIT = 10
OWNERS = [AgentId(f"agent-{number}") for number in range(10)]
FILTERS = {
    "all": Filter(visibility=Visibility(own=None, swarm=True, others=True)),
    "10 %": Filter(visibility=Visibility(own=OWNERS[0], swarm=False)),
}
BORN = datetime(2026, 1, 1, tzinfo=UTC)


def clustered(size: int, dimension: int, seed: int) -> Vector:
    """Unit vectors in clusters of about 25, each near its centre as paraphrases are (cosine about 0.8)."""
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
        provenance=Provenance(actor=owner, door=Door.PYTHON),
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

    def __str__(self) -> str:
        p50, p95, p99 = np.percentile(self.milliseconds, [50, 95, 99])
        return f"{min(self.milliseconds):9.2f} {p50:9.2f} {p95:9.2f} {p99:9.2f}   ({len(self.milliseconds)} calls)"


def timed(call: Callable[[Vector], object], queries: Vector, seconds: float) -> Timing:
    """Call with one query after the other, for about so long, at least five times."""
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


def measure(store: SqliteStore, vectors: Vector, queries: Vector, seconds: float) -> Iterator[str]:
    dimension = vectors.shape[1]
    yield f"{'numpy float32 floor':22} {'all':5} {timed(lambda query: floor(vectors, query), queries, seconds)}"
    scan = ScanVectors(FINGERPRINT, dimension)
    engines: list[VectorIndex] = [scan, SqliteVecVectors(FINGERPRINT, dimension)]
    if len(vectors) <= 10_000:
        engines.append(ExactVectors(FINGERPRINT, dimension))
    with store.read() as view:
        start = perf_counter()
        scan.build(view)
        built = perf_counter() - start
        for engine in engines:
            for name, where in FILTERS.items():
                yield f"{engine.name:22} {name:5} {timed(searching(engine, view, where), queries, seconds)}"
        recall = np.mean([overlap(scan, view, vectors, query) for query in queries[:100]])
    yield f"scan: built in {built:.2f} s, {scan.memory_bytes / 1e6:.1f} MB, recall@{LIMIT} {recall:.4f}"
    yield f"scan: one write followed in {followed(store, scan, queries[0])} (min, p50, p95, p99)"


def searching(engine: VectorIndex, view: View, where: Filter) -> Callable[[Vector], object]:
    def search(query: Vector) -> object:
        engine.follow(view)
        return engine.nearest(view, query, where, LIMIT)

    return search


def overlap(engine: VectorIndex, view: View, vectors: Vector, query: Vector) -> float:
    """The part of the truly nearest documents that the engine finds."""
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


def machine() -> str:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, SQLite {apsw.sqlite_lib_version()}"
    engines = ", ".join(f"{name} {version(name)}" for name in ("simsimd", "sqlite-vec"))
    return f"{platform.machine()}, {platform.system()}; {versions}, {engines}"


def run(sizes: Sequence[int], dimension: int, seconds: float) -> Iterator[str]:
    """The report, line by line as it is measured; ``seconds`` is for each line."""
    yield machine()
    for size in sizes:
        vectors = clustered(size, dimension, seed=1)
        queries = clustered(1_000, dimension, seed=2)
        with TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "bench.db", clock=SystemClock(), durable=False)
            with closing(store):
                fill(store, vectors)
                yield f"\n{f'{size:,} vectors of {dimension}':28} {'min':>9} {'p50':>9} {'p95':>9} {'p99':>9}"
                yield from measure(store, vectors, queries, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line")
    arguments = parser.parse_args()
    for line in run(arguments.sizes, arguments.dimension, arguments.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
