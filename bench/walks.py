"""Counts how much code of the package three requests run through: functions, files, and switches between files.

    python -m bench.walks             # the table
    python -m bench.walks --files     # also the files that each request runs through, the most called first
    make bench BENCH_ARGS=walks       # the table, kept in bench/results and shown in bench/README.md

The requests:

- **search**: ``hivelore.open(folder).recall(query, limit=3)``, from the call to its hits, in a process that embeds.
- **prompt hook**: ``POST /api/hooks/claude-code`` with a ``UserPromptSubmit`` of a session that has started, from the
  first byte that the service reads to its answer. No memory fits the prompt.
- **observation**: ``POST /memories`` with an operational observation that is new, from the first byte to the answer.

A *call* is a ``call`` event of ``sys.setprofile`` whose code lies in a file of the package: a function that begins, and
also a generator that goes on. A *function* is a code object with a name, so lambdas and comprehensions are not counted.
A *file switch* is a call whose file is another one than that of the call before it in the same thread. All threads of
the process are counted, from the event loop to the thread that writes, except those of low priority: these are the
background workers. The column "busiest thread" counts the files of the thread with most calls alone.

Every request is repeated. The first ones warm up, so imports do not count. The figures are those of the repetition with
the median number of switches. Nothing here depends on the names of modules, so the same script measures any commit.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any

from bench.report import Section, Table, judged
from bench.walk_recorder import NOTES, PATIENCE, QUERIES, WARM_UP, Call

if TYPE_CHECKING:
    from bench.material import Bench

ROOT = Path(__file__).parents[1]
ROUNDS = len(QUERIES) - WARM_UP
QUIET = 1.5
"""Seconds before each recording, in which what the last request left to do is done."""
SEARCH, HOOK, OBSERVATION, PEER = "search", "prompt hook", "observation", "httpx2: a POST"
MOST_FILES = {SEARCH: 35, HOOK: 45, OBSERVATION: 40}
MOST_SWITCHES = {SEARCH: 160}
TEXT = """
How much code of the package a request runs through, in a store with a dozen memories and the model of the package.
The search is `hivelore.open(...).recall(...)` to its hits. The prompt hook and the observation are requests to a
service, from the first byte it reads to its answer. A function counts once. A file switch is a call whose file differs
from the file of the call before it in the same thread. Background workers do not count. `bench/walks.py` defines each
figure, and `python -m bench.walks --files` lists the files.
"""


@dataclass(frozen=True, slots=True)
class Walk:
    """The calls of one request, thread by thread."""

    threads: Sequence[Sequence[Call]]

    @property
    def calls(self) -> int:
        return sum(map(len, self.threads))

    @property
    def functions(self) -> int:
        return len({call for calls in self.threads for call in calls if not call[1].endswith(">")})

    @property
    def files(self) -> Counter[str]:
        """Returns the number of calls of each file."""
        return Counter(path for calls in self.threads for path, _, _ in calls)

    @property
    def switches(self) -> int:
        return sum(one[0] != other[0] for calls in self.threads for one, other in pairwise(calls))

    @property
    def busiest(self) -> int:
        """Returns the number of files of the thread with most calls."""
        return len({path for path, _, _ in max(self.threads, key=len, default=())})


def run(bench: "Bench") -> Section:
    walks = measure(bench.place, bench.count(ROUNDS))
    return Section("Code a request runs through", TEXT, [_table(walks)], figures=_figures(walks))


def measure(place: Callable[[], Path], rounds: int) -> Mapping[str, Walk]:
    """Returns the median walk of each request. ``place`` makes a new empty folder."""
    walks = {SEARCH: _searches(place(), rounds), **_requests(place(), rounds)}
    peer = _peer()
    return {name: _median(each) for name, each in walks.items()} | ({PEER: peer} if peer is not None else {})


def _median(walks: Sequence[Walk]) -> Walk:
    return sorted(walks, key=lambda walk: walk.switches)[len(walks) // 2]


def _walk(line: str) -> Walk:
    return Walk([[(path, name, first) for path, name, first in calls] for calls in json.loads(line)])


def _environment(home: Path) -> dict[str, str]:
    """Returns the environment of this process without settings of Hivelore; all files are written below ``home``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HIVELORE_", "MEMORY_"))}
    return kept | {"HOME": str(home), "HIVELORE_HOME": str(home), "HIVELORE_WORKSPACE": str(home / "workspace")}


def _searches(home: Path, rounds: int) -> Sequence[Walk]:
    command = [sys.executable, "-m", "bench.walk_recorder", "search", str(home)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env=_environment(home))
    return [_walk(line) for line in done.stdout.splitlines()[:rounds]]


class RecordedService:
    """A service in another process, which records on demand."""

    def __init__(self, home: Path) -> None:
        self._home = home
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        read_commands, commands = os.pipe()
        reports, write_reports = os.pipe()
        ends = (read_commands, write_reports)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.walk_recorder", "service", str(port), *map(str, ends)],
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env=_environment(home),
            pass_fds=ends,
        )
        for end in ends:
            os.close(end)
        self._commands = os.fdopen(commands, "w")
        self._reports = os.fdopen(reports)
        self._wait()

    def _wait(self) -> None:
        until = monotonic() + PATIENCE
        while monotonic() < until and self._process.poll() is None:
            with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{self._url}/health/live"):
                return
            sleep(0.05)
        self.close()
        raise RuntimeError("the service did not start")

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        key = (self._home / "agent.key").read_text(encoding="ascii").strip()
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def recorded(self, request: Callable[[], object]) -> Walk:
        self._told("start")
        request()
        return _walk(self._told("stop"))

    def _told(self, command: str) -> str:
        print(command, file=self._commands, flush=True)
        return self._reports.readline()

    def until_embedded(self) -> None:
        until = monotonic() + PATIENCE
        while self.call("GET", "/api/memory/stats")["pendingEmbeddings"] and monotonic() < until:
            sleep(0.05)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def _requests(home: Path, rounds: int) -> Mapping[str, Sequence[Walk]]:
    service, numbers = RecordedService(home), count(1)

    def hook(name: str, **more: str) -> None:
        payload = {"hook_event_name": name, "session_id": "walks", "cwd": "/", **more}
        service.call("POST", "/api/hooks/claude-code", {"id": f"walk-{next(numbers)}", "payload": payload})

    def observe(number: int) -> None:
        text = f"takes {10 * number} seconds until it answers after an upgrade"
        service.call("POST", "/memories", {"service": f"db{number}", "category": "timing", "observation": text})

    try:
        for note in NOTES:
            body = {"content": note, "name": note[:20], "scope": "agent", "source": "manual"}
            service.call("POST", "/api/memory/index", body)
        service.until_embedded()
        hook("SessionStart", source="startup")
        requests = {
            HOOK: [partial(hook, "UserPromptSubmit", prompt=f"{query}?") for query in QUERIES],
            OBSERVATION: [partial(observe, number) for number, _ in enumerate(QUERIES, 1)],
        }
        return {name: _repeated(service, each, rounds) for name, each in requests.items()}
    finally:
        service.close()


def _repeated(service: RecordedService, requests: Sequence[Callable[[], None]], rounds: int) -> Sequence[Walk]:
    for request in requests[:WARM_UP]:
        request()
    walks: list[Walk] = []
    for request in requests[WARM_UP:][:rounds]:
        service.until_embedded()
        sleep(QUIET)
        walks.append(service.recorded(request))
    return walks


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def _peer() -> Walk | None:
    """Returns the walk of a POST with httpx2 through its own package, for comparison; None where it is missing."""
    try:
        import httpx2
    except ImportError:
        return None
    assert httpx2.__file__ is not None
    root = str(Path(httpx2.__file__).parent) + os.sep
    calls: list[Call] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            calls.append((code.co_filename.removeprefix(root), code.co_qualname, code.co_firstlineno))

    with HTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with httpx2.Client(trust_env=False) as client:
            url = f"http://127.0.0.1:{server.server_port}/"
            for _ in range(WARM_UP):
                client.post(url, json={"query": QUERIES[0]})
            sys.setprofile(note)
            client.post(url, json={"query": QUERIES[0]})
            sys.setprofile(None)
        server.shutdown()
    return Walk([calls])


def _table(walks: Mapping[str, Walk]) -> Table:
    head = ["request", "functions", "files", "file switches", "calls", "files, busiest thread", "target"]
    rows = [
        [name, *map(str, (one.functions, len(one.files), one.switches, one.calls, one.busiest)), _judged(name, one)]
        for name, one in walks.items()
    ]
    return Table("", head, rows)


def _judged(name: str, walk: Walk) -> str:
    if name not in MOST_FILES:
        return ""
    files, switches = MOST_FILES[name], MOST_SWITCHES.get(name)
    good = len(walk.files) <= files and (switches is None or walk.switches <= switches)
    return judged(good, f"at most {files} files" + ("" if switches is None else f", {switches} switches"))


def _figures(walks: Mapping[str, Walk]) -> Sequence[Mapping[str, object]]:
    """Returns the calls of every file, the most called first."""
    return [
        {"request": name, "file": path, "calls": calls}
        for name, walk in walks.items()
        if name != PEER
        for path, calls in walk.files.most_common()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.walks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="list the files, the most called first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and the files into FILE")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        numbers = count(1)

        def place() -> Path:
            made = Path(folder) / str(next(numbers))
            made.mkdir()
            return made

        walks = measure(place, ROUNDS)
    print(_table(walks).markdown())
    if given.files:
        for name, walk in walks.items():
            lines = [f"{calls:6} {path}" for path, calls in walk.files.most_common()]
            print("\n".join([f"{name}: calls by file", *lines, ""]))
    if given.json is not None:
        table = _table(walks)
        kept = {"head": table.head, "rows": table.rows, "files": _figures(walks)}
        given.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
