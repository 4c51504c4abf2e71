"""A data directory or a port that prevents a start, or that another process holds, at each interface.

Client, REST and MCP share the service that does not start. The bridge and the command line start a service when they
need one, and ``doctor`` reports why none can start. The contents of the directory do not change: not one byte where it
cannot be opened.
"""

import socketserver
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest

import hivelore as api
from hivelore.errors import HiveloreError
from hivelore.local.lock import read_owner
from support.bad_input import INTERFACES, Expected
from support.bridge import Bridge
from support.command_line import CommandLine, Result, environment, hivelore
from support.interfaces import OK, BridgeInterface, Outcome
from support.powerless import bounded, make_read_only, make_writable
from support.service import Service

KEPT = "Kept before all of it."


@dataclass(frozen=True, slots=True)
class StartContext:
    """Environment and folders of the started processes."""

    home: Path
    env: Mapping[str, str]
    before: Callable[[], None] | None = None


Prepare = Callable[[Path], AbstractContextManager[StartContext]]


@contextmanager
def newer_schema(home: Path) -> Generator[StartContext]:
    with closing(sqlite3.connect(home / "hivelore.db")) as connection:
        (number,) = connection.execute("SELECT MAX(number) FROM migration").fetchone()
        connection.execute("INSERT INTO migration VALUES (?, 'of the future')", (number + 1,))
        connection.commit()
    yield StartContext(home, environment(home))


@contextmanager
def of_another_program(home: Path) -> Generator[StartContext]:
    (home / "hivelore.db").unlink()
    with closing(sqlite3.connect(home / "hivelore.db")) as connection:
        connection.executescript("CREATE TABLE theirs (x); INSERT INTO theirs VALUES ('quokka');")
    yield StartContext(home, environment(home))


@contextmanager
def garbage(home: Path) -> Generator[StartContext]:
    (home / "hivelore.db").write_bytes(b"This is no database. " * 1_000)
    yield StartContext(home, environment(home))


@contextmanager
def read_only(home: Path) -> Generator[StartContext]:
    before = bounded()
    make_read_only(home)
    yield StartContext(home, environment(home), before)
    make_writable(home)


@contextmanager
def port_taken(home: Path) -> Generator[StartContext]:
    """Takes the port with a program that closes every connection."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as other:
        Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        yield StartContext(home, environment(home, HIVELORE_URL=f"http://127.0.0.1:{other.server_address[1]}"))
        other.shutdown()


@contextmanager
def held_by_a_service(home: Path) -> Generator[StartContext]:
    with Service(home) as service:
        yield StartContext(home, environment(home))
        assert service.client(service.agent_key).call("GET", "/api/memory/stats")["total"] >= 1


@contextmanager
def held_by_a_process(home: Path) -> Generator[StartContext]:
    with api.open(home) as hive:
        yield StartContext(home, environment(home))
        assert hive.stats().total == 1


def refused(embedded: str, service: str, cli: str) -> Expected:
    bridge = OK if cli == OK else "JSON-RPC -32000"
    return {"embedded": embedded, "client": service, "rest": service, "mcp": service, "bridge": bridge, "cli": cli}


@dataclass(frozen=True, slots=True)
class Row:
    prepare: Prepare
    expected: Expected
    says: str
    files: tuple[str, ...] = ("hivelore.db",)
    """What stays as it is, to the byte."""
    verb: str = "list"
    """What the command line is asked for. A start takes seconds, so that not every row has one."""


ROWS = {
    "newer schema": Row(newer_schema, refused("Broken", "1 broken", "6 unavailable"), "Upgrade Hivelore"),
    "database of another program": Row(
        of_another_program,
        refused("Broken", "1 broken", "1 database"),
        "Choose another folder with HIVELORE_HOME",
        verb="doctor",
    ),
    "garbage for a database": Row(
        garbage, refused("Broken", "1 broken", "1 database"), "Run 'hivelore doctor'", verb="doctor"
    ),
    "read-only directory": Row(read_only, refused("Broken", "1 broken", "1 broken"), "HIVELORE_HOME"),
    "port taken": Row(port_taken, refused(OK, "5 busy", "6 unavailable"), "Choose another port with --port", ()),
    # The service that is there already does what was asked.
    "second service on the directory": Row(held_by_a_service, refused(OK, "5 busy", OK), "A service (pid", ()),
    "directory that a process holds": Row(held_by_a_process, refused("Busy", "5 busy", "5 busy"), "Close it there", ()),
}

SCRIPT = """
import hivelore
from hivelore.errors import HiveloreError
try:
    with hivelore.open() as hive:
        print(hive.list().memories)
except HiveloreError as error:
    print(type(error).__name__, error, sep="\\n")
"""
"""Opens the embedded hive in a separate process."""


@dataclass(frozen=True)
class Starter:
    """Starts an interface: in this process, unless it must run with fewer privileges."""

    given: StartContext
    run: CommandLine

    def embedded(self, _: str) -> Outcome:
        if self.given.before is None:
            try:
                with api.open(self.given.home) as hive:
                    return Outcome(OK, "", repr(hive.list()))
            except HiveloreError as error:
                return Outcome(type(error).__name__, str(error), str(error))
        words = [sys.executable, "-c", SCRIPT]
        env = {name: value for name, value in self.given.env.items() if name != "HIVELORE_URL"}
        done = subprocess.run(
            words, env=env, preexec_fn=self.given.before, capture_output=True, text=True, timeout=150, check=False
        )
        kind, said = (done.stdout + "\n").split("\n", 1)
        return Outcome(kind, said.strip(), done.stdout + done.stderr)

    def service(self, _: str) -> Outcome:
        result = self._ran("serve", "--port", self.given.env["HIVELORE_URL"].rpartition(":")[2])
        said = result.err.splitlines()[-1].removeprefix("hivelore: ")
        assert (result.out, len(result.err.splitlines())) == ("", 2)
        return Outcome(f"{result.code} {NAMES[result.code]}", said, result.err)

    def cli(self, verb: str) -> Outcome:
        result = self._ran(verb, "--json")
        if verb == "doctor":
            (error,) = [one for one in result.json["findings"] if one["level"] == "error"]
            return Outcome(f"{result.code} {error['name']}", f"{error['what']} {error['remedy']}", result.out)
        if result.code == 0:
            return Outcome(OK, "", result.out)
        assert result.out == ""
        return Outcome(f"{result.code} {result.error['code']}", result.error["detail"], result.err)

    def bridge(self, _: str) -> Outcome:
        with Bridge(self.given.env, self.given.home.parent, before=self.given.before) as bridge:
            outcome = BridgeInterface(bridge).ask("recall", query="kept")
            assert bridge.process.poll() is None
            return outcome

    def _ran(self, *words: str) -> Result:
        if self.given.before is None:
            return self.run(*words)
        return hivelore(*words, env=self.given.env, before=self.given.before)


NAMES = {1: "broken", 5: "busy"}
STARTS: Mapping[str, Callable[[Starter, str], Outcome]] = {
    "embedded": Starter.embedded,
    "client": Starter.service,
    "rest": Starter.service,
    "mcp": Starter.service,
    "bridge": Starter.bridge,
    "cli": Starter.cli,
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with one memory, which no process has open."""
    folder = tmp_path / "home"
    for name, value in environment(folder).items():
        if name.startswith("HIVELORE_"):
            monkeypatch.setenv(name, value)
    monkeypatch.delenv("HIVELORE_URL")
    with api.open(folder) as hive:
        hive.remember(KEPT)
    return folder


def cells() -> Generator[tuple[str, str]]:
    """Yields the cells to test: one for interfaces that start alike, and the bridge where the command line starts a
    service."""
    interfaces = [
        interface
        for number, interface in enumerate(INTERFACES)
        if STARTS[interface] not in [STARTS[one] for one in INTERFACES[:number]]
    ]
    for name, row in ROWS.items():
        yield from ((name, interface) for interface in interfaces if interface != "bridge" or row.verb != "doctor")


@pytest.mark.parametrize(("name", "interface"), cells())
def test_cell(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, interface: str
) -> None:
    row = ROWS[name]
    with row.prepare(home) as given:
        if interface != "embedded":
            monkeypatch.setenv("HIVELORE_URL", given.env["HIVELORE_URL"])
        before = {file: (home / file).read_bytes() for file in row.files}
        outcome = STARTS[interface](Starter(given, CommandLine(monkeypatch, capsys)), row.verb)
        assert outcome.kind == row.expected[interface], outcome
        assert {file: (home / file).read_bytes() for file in row.files} == before
        assert not row.files or {file.name for file in home.glob("*.db-*")} == set()
    assert "Traceback" not in outcome.shown
    assert ".py" not in outcome.shown
    assert "quokka" not in outcome.shown
    assert (KEPT in outcome.shown) is (outcome.kind == OK)
    assert outcome.kind == OK or row.says in outcome.said
    assert read_owner(home) is None
    monkeypatch.delenv("HIVELORE_URL", raising=False)
    if name in ("read-only directory", "port taken", "second service on the directory"):
        with api.open(home) as hive:
            assert [memory.content for memory in hive.list().memories] == [KEPT]


def test_every_cell_has_an_expectation() -> None:
    assert {name for name, row in ROWS.items() if set(row.expected) != set(INTERFACES)} == set()
    assert set(STARTS) == set(INTERFACES)
    for row in ROWS.values():
        for start in set(STARTS.values()):
            assert len({row.expected[interface] for interface in INTERFACES if STARTS[interface] is start}) == 1
