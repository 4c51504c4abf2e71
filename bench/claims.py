"""Claims of tasks: 50 runners of one service, among 1,000 open tasks, and while there is none."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from time import perf_counter, sleep
from typing import Any

from bench.material import SEED, Bench
from bench.report import Section, Table, spread
from bench.running import Service, processor_seconds
from bench.speed import on_postgres
from hivelore.local import endpoint
from hivelore.python.client import Client

TASKS = 1_000
RUNNERS = 50
SECONDS = 60
SHORTEST_WORK, LONGEST_WORK = 2.0, 8.0
"""Seconds of work on a task: far less than an agent takes, so more claims a second than 50 agents make."""
IDLE_SECONDS = 60
WAIT = 30
"""Seconds that an idle runner waits for a task with one claim."""
TEXT = """
{runners} runners have keys of their own and claim from one queue of {tasks} open tasks. Each works {shortest:.0f} to
{longest:.0f} s on a task and completes it, for {seconds} s. The baseline is a request for the agent's own name,
between the others. Before, while nothing is open, all runners wait with claims of {wait} s: processor time of the
service, as a share of one core, next to that of the same service without runners.
"""


class _Runners:
    """Threads with a client each. ``times``: milliseconds of each request, by its name."""

    def __init__(self, url: str, keys: Sequence[str]) -> None:
        self._url = url
        self._keys = keys
        self.times: dict[str, list[float]] = {}

    def work(self, seconds: float) -> None:
        """Claims, works and completes, all runners at once. The first claims fall within the time of one work."""
        end = perf_counter() + seconds
        self._all(lambda number, client: self._work(random.Random(SEED + number), client, end))

    def wait(self, seconds: float) -> None:
        """Claims again and again while there is no task."""
        end = perf_counter() + seconds

        def wait(_: int, client: Client) -> None:
            while (left := end - perf_counter()) > 0:
                client.call("POST", "/api/tasks/claim", body={"runner": "bench", "wait": min(WAIT, round(left))})

        self._all(wait)

    def claim_at_once(self) -> None:
        start = threading.Barrier(len(self._keys))

        def claim(_: int, client: Client) -> None:
            client.call("GET", "/api/me")
            start.wait()
            self._timed("claim, all at the same moment", client, "POST", "/api/tasks/claim", {"wait": 0})

        self._all(claim)

    def _work(self, chance: random.Random, client: Client, end: float) -> None:
        sleep(chance.uniform(0, LONGEST_WORK))
        while perf_counter() < end:
            task = self._timed("claim", client, "POST", "/api/tasks/claim", {"runner": "bench", "wait": 0})["task"]
            sleep(chance.uniform(SHORTEST_WORK, LONGEST_WORK) / 2)
            self._timed("own name (baseline)", client, "GET", "/api/me")
            sleep(chance.uniform(SHORTEST_WORK, LONGEST_WORK) / 2)
            done = {"output": f"Number {task['id']} is done.", "leaseToken": task["lease"]["token"]}
            self._timed("complete", client, "POST", f"/api/tasks/{task['id']}/complete", done)

    def _timed(self, name: str, client: Client, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        began = perf_counter()
        answer = client.call(method, path, body=body)
        self.times.setdefault(name, []).append((perf_counter() - began) * 1e3)
        return answer

    def _all(self, work: Callable[[int, Client], object]) -> None:
        def run(number: int, key: str) -> None:
            with closing(Client(self._url, key)) as client:
                work(number, client)

        threads = [threading.Thread(target=run, args=one) for one in enumerate(self._keys)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def run(bench: Bench) -> Section:
    timed, idle = list[list[str]](), list[list[str]]()
    _add(bench, "SQLite", None, timed, idle)
    with on_postgres.new_database() as database:
        _add(bench, "PostgreSQL", database, timed, idle)
    text = TEXT.format(
        runners=RUNNERS,
        tasks=TASKS,
        shortest=SHORTEST_WORK,
        longest=LONGEST_WORK,
        seconds=bench.count(SECONDS, 10),
        wait=WAIT,
    )
    tables = [
        Table("", ["ms", "requests", "p50", "p95", "p99"], timed),
        Table("", ["idle", "of one core, %", "without runners, %"], idle),
    ]
    return Section("Claims of tasks", text, tables)


def _add(bench: Bench, name: str, database: str | None, timed: list[list[str]], idle: list[list[str]]) -> None:
    home = bench.place()
    given = {"HIVELORE_EMBEDDER": "none", **({} if database is None else {"HIVELORE_DATABASE": database})}
    with Service(home, given) as service:
        operator = service.client(endpoint.key(endpoint.OPERATOR_KEY, home, {}))
        agents = [f"runner-{number}" for number in range(RUNNERS)]
        keys = [operator.call("POST", "/api/agents", body={"name": one})["key"] for one in agents]
        without = _idle_share(service, lambda: sleep(bench.count(IDLE_SECONDS, 10)))
        runners = _Runners(service.url, keys)
        waiting = _idle_share(service, lambda: runners.wait(bench.count(IDLE_SECONDS, 10)))
        idle.append([f"{name}, {RUNNERS} runners that wait", f"{waiting:.2f}", f"{without:.2f}"])
        for number in range(bench.count(TASKS, RUNNERS)):
            operator.call("POST", "/api/tasks", body={"text": f"Do number {number} of the many things of this list."})
        runners.work(bench.count(SECONDS, 10))
        runners.claim_at_once()
    timed += [[f"{name}, {what}", str(len(taken)), *spread(taken)] for what, taken in runners.times.items()]


def _idle_share(service: Service, meanwhile: Callable[[], object]) -> float:
    """Returns the processor time of the service meanwhile, in per cent of one core."""
    used, began = processor_seconds(service.pid), perf_counter()
    meanwhile()
    return 100 * (processor_seconds(service.pid) - used) / (perf_counter() - began)
