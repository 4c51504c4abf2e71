"""Memories acknowledged per second, each durably stored."""

# apsw's types name a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

import apsw

from bench.filling import local
from bench.material import Bench
from bench.report import Section, Table, judged, spread
from bench.running import Clients, Service, processor_seconds
from hivelore.local.lock import EMBEDDED
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load

ROUNDS = 3
SECONDS = 2.0
BATCH = 100
CLIENTS = 8
TEXTS = 400
SHORT = 300
BARE, BARE_BATCH = "bare INSERT", "bare INSERT, 100 per commit"
TEXT = """
Writes with the default durability (SQLite in WAL mode with `synchronous=FULL`). An acknowledged write survives a
power cut.

- *REST* clients are separate processes with one persistent connection each. The service is another process on the
  same machine.
- *embedded* threads use the Python API in one process.
- *bare INSERT* writes one row of text to a separate table on the same disk, one commit each. It shows the limit of
  the disk.
- *processor* is the processor time of the service or the embedded process for one memory, including background work.
  The clients' time is extra.

Rows alternate in {rounds} rounds of {seconds:g} s. The texts are composed of lines of {source}.

Where a commit is as cheap as the bare INSERT shows, the processor limits even one client. Group commit then gains
little. On a disk with a sync of several milliseconds it gains more. One Python process does one thing at a time. For
the targets, a memory may use 0.67 ms of it, and 0.2 in batches. In batches, about a third of the time goes to
redacting, chunking and counting words, half to writing text, terms and their rows, and the rest to keyword
compaction. Single writes add thread handover, and REST adds HTTP.
"""
VARIANTS: Mapping[str, tuple[str, int | None]] = {
    "**Default installation**, with embedding in the background at low priority": (
        "local",
        None,
    ),
    "**Keywords only** (`HIVELORE_EMBEDDER=none`)": ("none", None),
    "**Keywords only, short texts** (the first {short} characters)": ("none", SHORT),
}
"""Embedder, and characters of a text; None: all."""


@dataclass
class Row:
    """One way to write, with the result of each round."""

    acknowledged: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    milliseconds: list[float] = field(default_factory=list[float])

    @property
    def rate(self) -> float:
        return self.acknowledged / self.seconds


Writes = Callable[[], object]


def run(bench: Bench) -> Section:
    seconds = max(0.1, SECONDS * min(1.0, bench.scale))
    rounds = bench.count(ROUNDS)
    tables: list[Table] = []
    for title, (embedder, length) in VARIANTS.items():
        texts = [text[:length] for text in bench.texts(TEXTS)]
        size = sum(map(len, texts)) / len(texts)
        title = f"{title.format(short=SHORT)}; {size:,.0f} characters on average"
        tables.append(_table(title, _measured(bench, texts, embedder, rounds, seconds)))
    return Section("Writes", TEXT.format(rounds=rounds, seconds=seconds, source=bench.source), tables)


def _measured(bench: Bench, texts: Sequence[str], embedder: str, rounds: int, seconds: float) -> dict[str, Row]:
    file = bench.place() / "texts.json"
    file.write_text(json.dumps(texts), encoding="utf-8")
    rows: dict[str, Row] = {}
    with closing(_Bare(bench.place() / "bare.db", texts)) as bare:
        with Service(bench.place(), {"HIVELORE_EMBEDDER": embedder}) as service:
            for number in range(rounds):
                bare.measure(rows, seconds)
                for name, clients, batch in _ways("REST", "client"):
                    row, called = rows.setdefault(name, Row()), f"{number}-{clients}-{batch}"
                    _measure_clients(row, service, file, called, clients, batch, seconds)
        home = bench.place()
        for number in range(rounds):
            bare.measure(rows, seconds)
            with _embedded(home, embedder) as hive:
                for name, threads, batch in _ways("embedded", "thread"):
                    keep = partial(_keep, hive, _fresh(texts, f"{number}-{threads}-{batch}"), batch)
                    _measure(rows.setdefault(name, Row()), keep, seconds, threads, batch)
    return rows


def _ways(interface: str, one: str) -> list[tuple[str, int, int]]:
    """Returns names with the number of writers, and of memories per call."""
    return [
        (f"{interface}, 1 {one}", 1, 1),
        (f"{interface}, {CLIENTS} {one}s", CLIENTS, 1),
        (f"{interface}, 1 {one}, batches of {BATCH}", 1, BATCH),
    ]


def _measure(row: Row, write: Writes, seconds: float, threads: int, batch: int) -> None:
    """Writes from this many threads of this process for this long."""
    write()
    go = threading.Barrier(threads + 1)
    took: list[list[float]] = [[] for _ in range(threads)]

    def work(mine: list[float]) -> None:
        go.wait()
        until = perf_counter() + seconds
        while (began := perf_counter()) < until:
            write()
            mine.append((perf_counter() - began) * 1e3)

    workers = [threading.Thread(target=work, args=(mine,)) for mine in took]
    for worker in workers:
        worker.start()
    used = processor_seconds("self")
    go.wait()
    began = perf_counter()
    for worker in workers:
        worker.join()
    _add(row, took, batch, perf_counter() - began, processor_seconds("self") - used)


def _add(row: Row, took: Sequence[Sequence[float]], batch: int, seconds: float, processor: float) -> None:
    row.acknowledged += batch * sum(map(len, took))
    row.seconds += seconds
    row.processor += processor
    row.milliseconds.extend(one for each in took for one in each)


class _Bare:
    """A store with only a table of texts."""

    def __init__(self, file: Path, texts: Sequence[str]) -> None:
        self._connection = apsw.Connection(str(file))
        for pragma, value in (("journal_mode", "WAL"), ("synchronous", "FULL")):
            self._connection.pragma(pragma, value)
        list(self._connection.execute("CREATE TABLE note (key INTEGER PRIMARY KEY, text TEXT)"))
        self._texts = texts

    def measure(self, rows: dict[str, Row], seconds: float) -> None:
        _measure(rows.setdefault(BARE, Row()), lambda: self._insert(1), seconds, 1, 1)
        _measure(rows.setdefault(BARE_BATCH, Row()), lambda: self._insert(BATCH), seconds, 1, BATCH)

    def _insert(self, batch: int) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT INTO note (text) VALUES (?)", ((text,) for text in self._texts[:batch])
            )

    def close(self) -> None:
        self._connection.close()


def _measure_clients(
    row: Row, service: Service, file: Path, name: str, clients: int, batch: int, seconds: float
) -> None:
    """Writes over REST from this many processes for this long."""
    command = ["bench.writer", service.url, service.key, str(file)]
    processes = Clients(
        service.home, [[*command, f"{name}-{number}", str(batch), str(seconds)] for number in range(clients)]
    )
    processes.ready()
    used, began = processor_seconds(service.pid), perf_counter()
    took = processes.took()
    _add(row, took, batch, perf_counter() - began, processor_seconds(service.pid) - used)


@contextmanager
def _embedded(home: Path, embedder: str) -> Generator[Hive]:
    app = open_application(load(home=home, embedder=embedder), kind=EMBEDDED)
    with EmbeddedHive(app, local(app)) as hive:
        yield hive


def _fresh(texts: Sequence[str], name: str) -> Iterator[str]:
    """Returns the texts repeatedly, made unique each time."""
    return (f"Note {name}-{number}.\n{texts[number % len(texts)]}" for number in count())


def _keep(hive: Hive, texts: Iterator[str], batch: int) -> None:
    if batch == 1:
        hive.remember(next(texts))
    else:
        hive.remember_many([next(texts) for _ in range(batch)])


def _table(title: str, rows: dict[str, Row]) -> Table:
    bare = rows[BARE].rate
    shown: list[list[str]] = []
    for name, row in rows.items():
        p50, p95, _ = spread(row.milliseconds)
        per = row.processor * 1e3 / row.acknowledged
        shown.append([name, f"{row.rate:,.0f}", f"{row.rate / bare:.2f}", p50, p95, f"{per:.2f}", _judged(name, rows)])
    return Table(
        title,
        ["", "memories/s", "x bare INSERT", "p50 of a call, ms", "p95", "processor, ms", "target"],
        shown,
    )


def _judged(name: str, rows: dict[str, Row]) -> str:
    """Returns the verdicts on the targets: 1,500/s and 4 times one of them by eight, 5,000/s in batches."""
    rate = rows[name].rate
    for ways in (_ways("REST", "client"), _ways("embedded", "thread")):
        one, many, batch = (way[0] for way in ways)
        if name == many:
            times = rate / rows[one].rate
            return f"{judged(rate >= 1_500, '1,500/s')}; {judged(times >= 4, '4 x one')} ({times:.1f})"
        if name == batch:
            return judged(rate >= 5_000, "5,000/s")
    return ""
