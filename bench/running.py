"""A service in a separate process, as a user runs it, and its resource usage."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, sleep
from types import TracebackType
from typing import Self

from hivelore.local import endpoint, launcher
from hivelore.python.client import Client

_LOOK_EVERY = 0.005
_PATIENCE = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Returns the environment of this process without settings of Hivelore; ``home`` is the data directory."""
    ours = ("HIVELORE_", "MEMORY_", "OPENAI_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOME": str(home), "HIVELORE_HOME": str(home), **more}


class Service:
    """Runs on any free port while the context is open. ``started`` is the time to the first answer, in seconds."""

    def __init__(self, home: Path, given: Mapping[str, str] | None = None) -> None:
        began = perf_counter()
        self.home = home
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hivelore.cli.main", "serve", "--port", "0"],
            env=environment(home, **(given or {})),
            stdout=subprocess.DEVNULL,
            stderr=(home / endpoint.LOG).open("ab"),
        )
        self.pid = self._process.pid
        self.url = self._awaited(began)
        self.started = perf_counter() - began
        self._clients: list[Client] = []

    def _awaited(self, began: float) -> str:
        while perf_counter() - began < _PATIENCE:
            url = launcher.running(self.home)
            if url is not None and launcher.is_alive(url):
                return url
            if self._process.poll() is not None:
                break
            sleep(_LOOK_EVERY)
        self._process.kill()
        self._process.wait()
        raise RuntimeError(f"the service did not start: {launcher.last_log_line(self.home)}")

    @property
    def key(self) -> str:
        """The key of the local agent."""
        return endpoint.key(endpoint.AGENT_KEY, self.home, {})

    def client(self, key: str | None = None) -> Client:
        client = Client(self.url, key or self.key)
        self._clients.append(client)
        return client

    def until_ready(self) -> None:
        """Waits until all vectors can be searched."""
        operator = self.client(endpoint.key(endpoint.OPERATOR_KEY, self.home, {}))
        while not operator.call("GET", "/api/status")["vectorsReady"]:
            sleep(0.05)

    def pending(self) -> int:
        """Returns the number of passages without a vector."""
        return int(self.client().call("GET", "/api/status")["pendingEmbeddings"])

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Clients:
    """Processes that do something at the same time: each says ``ready``, begins at the first line it is given, and ends
    with how many milliseconds each of its calls took, as a JSON list."""

    def __init__(self, home: Path, commands: Sequence[Sequence[str]]) -> None:
        """``commands``: a module with its arguments for each."""
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
                env=environment(home),
            )
            for command in commands
        ]

    def ready(self) -> None:
        for process in self._processes:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said == "ready\n", said

    def took(self) -> list[list[float]]:
        """Starts all clients and waits for their results."""
        with ExitStack() as stack:
            for process in self._processes:
                stack.enter_context(process)
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            return [json.loads(process.stdout.read()) for process in self._processes if process.stdout is not None]


def processor_seconds(pid: int | str) -> float:
    """Returns the CPU time of a process with all its threads, in steps of the kernel's clock, often 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Others:
    """Share of the CPUs that other processes used, from construction to ``share``. Processes of ours
    count once they have ended and were waited for."""

    def __init__(self) -> None:
        self._began, self._busy = perf_counter(), _busy_seconds() - _own_seconds()

    def share(self) -> float:
        used = _busy_seconds() - _own_seconds() - self._busy
        return max(0.0, used / (perf_counter() - self._began) / (os.cpu_count() or 1))


def _busy_seconds() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields[:8])
    return (user + nice + system + sum(interrupts)) / _TICKS


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def memory(pid: int | str = "self") -> dict[str, float]:
    """Returns the megabytes (10**6 bytes) of a process: ``Rss``, ``Pss``, ``Anonymous`` and what else smaps_rollup
    has."""
    figures: dict[str, float] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]:
        name, _, rest = line.partition(":")
        figures[name] = int(rest.split()[0]) * 1024 / 1e6
    return figures
