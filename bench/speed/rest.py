"""A service over REST: start time, search time of one and several clients, and memory."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench.material import Bench
from bench.running import Clients, Service, memory, processor_seconds
from bench.speed.turns import LIMIT, Row, take_turns
from hivelore.errors import Expired

CLIENTS = 8


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds since the start command."""

    answers: float
    recalled: float
    """The first question is answered, if need be by its words alone."""
    path: str
    """In which way that was."""
    vectors: float


@dataclass(frozen=True, slots=True)
class Served:
    """Measurements of a service: milliseconds of each query, and MB of 10**6 bytes."""

    starts: Sequence[Start]
    one: Sequence[float]
    again: Sequence[float]
    """The same questions once more, right after."""
    resident: float
    anonymous: float
    many: Sequence[float]
    rate: float
    """Questions a second of all clients together."""
    processor: float
    """Milliseconds that the service spent on each of these."""


def measured(bench: Bench, home: Path, questions: Sequence[str], warm: int, seconds: float) -> Served:
    """Measures one client first, then several on a restarted service, so that no query is cached."""
    with Service(home) as service:
        starts = [_started(service, questions[0])]
        client = service.client()

        def ask(text: str) -> object:
            return client.call("POST", "/api/memory/search", body={"query": text, "limit": LIMIT})

        one, again = Row(ask, questions), Row(ask, questions)
        take_turns({"one": one, "again": again}, warm, seconds)
        taken = memory(service.pid)
    with Service(home) as service:
        starts.append(_started(service, questions[0]))
        many, rate, processor = _many(bench, service, questions[warm:])
    return Served(starts, one.milliseconds, again.milliseconds, taken["Rss"], taken["Anonymous"], many, rate, processor)


def _started(service: Service, question: str) -> Start:
    """Sends a query at once, repeats it after a time-out, and then waits for the vectors."""
    began, client, answer = perf_counter() - service.started, service.client(), None
    while answer is None:
        with suppress(Expired):
            answer = client.call("POST", "/api/memory/search", body={"query": question, "limit": LIMIT})
    recalled = perf_counter() - began
    service.until_ready()
    return Start(service.started, recalled, str(answer["path"]), perf_counter() - began)


def _many(bench: Bench, service: Service, questions: Sequence[str]) -> tuple[list[float], float, float]:
    """Sends the queries from several clients, each after one that is not counted."""
    commands: list[list[str]] = []
    for number in range(CLIENTS):
        file = bench.place() / "questions.json"
        share = questions[number::CLIENTS]
        file.write_text(json.dumps([f"Is this client {number}?", *share]), encoding="utf-8")
        commands.append(["bench.speed.asker", service.url, service.key, str(file)])
    clients = Clients(service.home, commands)
    clients.ready()
    used, began = processor_seconds(service.pid), perf_counter()
    took = [one for each in clients.took() for one in each]
    seconds, used = perf_counter() - began, processor_seconds(service.pid) - used
    return took, len(took) / seconds, used * 1e3 / len(took)
