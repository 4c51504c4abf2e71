"""The section that runs the same queries over REST: the interface must not change the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean, median
from time import perf_counter

from bench.material import Bench
from bench.quality.baselines import Ask
from bench.quality.data import Collection, collections, names
from bench.quality.metrics import LIMIT, ndcg_at, recall_at
from bench.quality.stores import KEPT, filled, opened
from bench.quality.variants import Recipe, asking
from bench.report import Section, Table, judged
from bench.running import Service
from hivelore.python.client import Client

TEXT = """
The queries of *Retrieval quality*, sent to a running service by one client with a persistent connection, and through
the Python API in this process on the same data directory. The answers must be identical, memory by memory. *p50* is
the time from the call to the parsed answer in milliseconds, including the embedding of the query. Over REST the
answer contains the full text of ten memories. If a set has more than {kept} stores, the first {kept} are used.
"""
MEASURED = (f"R@{LIMIT}", f"NDCG@{LIMIT}")
PYTHON, REST = "Python", "REST"


@dataclass(slots=True)
class _Measured:
    recalls: list[float] = field(default_factory=list[float])
    gains: list[float] = field(default_factory=list[float])
    milliseconds: list[float] = field(default_factory=list[float])
    answers: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    def cells(self) -> tuple[str, str]:
        return f"{100 * fmean(self.recalls):.1f}", f"{100 * fmean(self.gains):.1f}"


_ByInterface = Mapping[str, _Measured]


def run(bench: Bench) -> Section | None:
    """Returns the section, or None without the data."""
    if bench.data is None:
        return None
    asked: dict[str, _ByInterface] = {}
    for name in names(bench.data):
        bench.say(f"asking {name}")
        for collection in collections(bench, name):
            if collection.number < KEPT:
                _ask_both(bench, collection, asked)
    rows = [_row(name, interfaces) for name, interfaces in asked.items()]
    head = ["set (queries)"]
    head += [f"{column}, {interface}" for column in MEASURED for interface in (PYTHON, REST)]
    head += ["different answers", f"p50, {PYTHON}", f"p50, {REST}", "target"]
    return Section("Retrieval quality over REST", TEXT.format(kept=KEPT), [Table("", head, rows)]) if rows else None


def _ask_both(bench: Bench, collection: Collection, asked: dict[str, _ByInterface]) -> None:
    home = filled(bench, collection)
    with opened(home) as store:
        _ask(asked, PYTHON, asking(store, Recipe()), collection)
    with Service(home) as service:
        service.until_ready()
        _ask(asked, REST, _over(service.client()), collection)


def _ask(asked: dict[str, _ByInterface], name: str, ask: Ask, collection: Collection) -> None:
    for case in collection.cases:
        interface = asked.setdefault(case.groups[0].name, {PYTHON: _Measured(), REST: _Measured()})[name]
        began = perf_counter()
        found = ask(case.query, LIMIT, case.now)
        interface.milliseconds.append(1000 * (perf_counter() - began))
        interface.recalls.append(recall_at(found, case.relevant, LIMIT))
        interface.gains.append(ndcg_at(found, case.relevant, LIMIT))
        interface.answers.append(found)


def _over(client: Client) -> Ask:
    def ask(text: str, limit: int, now: datetime | None = None) -> Sequence[str]:
        body = {"query": text, "limit": limit, **({} if now is None else {"now": now.isoformat()})}
        answer = client.call("POST", "/api/memory/search", body=body)
        return [hit["memory"]["externalId"] for hit in answer["results"]]

    return ask


def _row(name: str, interfaces: _ByInterface) -> list[str]:
    python, rest = interfaces[PYTHON], interfaces[REST]
    differing = sum(one != other for one, other in zip(python.answers, rest.answers, strict=True))
    shares = [cell for pair in zip(python.cells(), rest.cells(), strict=True) for cell in pair]
    times = [f"{median(interface.milliseconds):.1f}" for interface in (python, rest)]
    return [
        f"{name} ({len(rest.answers)})",
        *shares,
        str(differing),
        *times,
        judged(differing == 0, "the same answers"),
    ]
