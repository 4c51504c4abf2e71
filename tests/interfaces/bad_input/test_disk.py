"""A full, failing or read-only disk under a running hive and a running service, at each interface."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import apsw
import pytest

import hivelore
from hivelore.http import operations
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.runtime import engines
from hivelore.storage.ports import MemoryStore
from hivelore.storage.sqlite.store import SqliteStore
from support.bad_input import INTERFACES, INVALID, NAMED, Expected, expected_at, names_every_interface
from support.bridge import Bridge
from support.command_line import CommandLine, settings
from support.interfaces import OK, BridgeInterface, CliInterface, Interface, McpServer, PythonInterface, RestInterface
from support.service import Service, environment
from support.stores import listed
from support.vfs import Deed, Disk, Kind

UNAVAILABLE = INVALID | {
    "embedded": "Unavailable",
    "client": "Unavailable",
    "rest": "503 unavailable",
    "cli": "6 unavailable",
}
KEPT: Expected = dict.fromkeys(NAMED, OK)


class FailingDisk(Disk):
    """Refuses some operations on every file while ``refusing`` is active."""

    refused: Mapping[Deed, type[apsw.Error]] = {}

    def meet(self, deed: Deed, kind: Kind) -> None:
        if deed in self.refused and kind is not Kind.OTHER:
            raise self.refused[deed]
        super().meet(deed, kind)

    @contextmanager
    def refusing(self, refused: Mapping[Deed, type[apsw.Error]]) -> Generator[None]:
        self.refused = refused
        try:
            yield
        finally:
            self.refused = {}


@dataclass(frozen=True, slots=True)
class Trouble:
    refused: Mapping[Deed, type[apsw.Error]]
    says: str
    writing: Expected = field(default_factory=lambda: UNAVAILABLE)
    reading: Expected = field(default_factory=lambda: KEPT)
    writing_may_read: bool = False
    """A write reads the file where another connection has just changed it, and is refused then."""

    def kinds(self, name: str) -> tuple[set[str], set[str]]:
        """Returns the outcomes that reading and writing may have at an interface."""
        writing = (self.writing, UNAVAILABLE) if self.writing_may_read else (self.writing,)
        return {expected_at(name, self.reading)}, {expected_at(name, each) for each in writing}


TROUBLES = {
    "full disk": Trouble({Deed.WRITE: apsw.FullError}, "disk is full"),
    "EIO on writing": Trouble({Deed.WRITE: apsw.IOError}, "failed to read or write"),
    "EIO on syncing": Trouble({Deed.SYNC: apsw.IOError}, "failed to read or write"),
    "EIO on reading": Trouble({Deed.READ: apsw.IOError}, "failed to read or write", KEPT, UNAVAILABLE, True),
    "disk that became read-only": Trouble({Deed.WRITE: apsw.ReadOnlyError}, "cannot be written: check the permissions"),
}


@dataclass(frozen=True)
class Place:
    disk: FailingDisk
    stores: Mapping[str, MemoryStore]
    interfaces: Mapping[str, Callable[[], Interface]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[FailingDisk, Service, EmbeddedHive, Hive]]:
    """Opens a service and a hive whose files are on a disk that can fail."""
    disk = FailingDisk()
    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(engines, "SqliteStore", partial(SqliteStore, vfs=disk.name))
        with Service(tmp_path_factory.mktemp("service")) as service:
            for name, value in settings(tmp_path_factory.mktemp("embedded")).items():
                changes.setenv(name, value)
            changes.delenv("HIVELORE_URL")
            # Keys are not looked up again meanwhile: the call fails, not the authentication.
            changes.setattr(operations, "FRESH_SECONDS", 3_600.0)
            with hivelore.open() as embedded, hivelore.open(service.home) as client:
                assert isinstance(embedded, EmbeddedHive)
                yield disk, service, embedded, client
    disk.unregister()


@pytest.fixture(scope="module")
def bridge(
    opened: tuple[FailingDisk, Service, EmbeddedHive, Hive], tmp_path_factory: pytest.TempPathFactory
) -> Generator[Bridge]:
    with Bridge(environment(opened[1].home), tmp_path_factory.mktemp("no project")) as bridge:
        yield bridge


@pytest.fixture
def place(
    opened: tuple[FailingDisk, Service, EmbeddedHive, Hive],
    bridge: Bridge,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Place:
    disk, service, embedded, client = opened

    def cli() -> Interface:
        monkeypatch.setenv("HIVELORE_HOME", str(service.home))
        monkeypatch.setenv("HIVELORE_KEY", service.agent_key)
        return CliInterface(CommandLine(monkeypatch, capsys))

    stores = dict.fromkeys(INTERFACES, service.app.store) | {"embedded": embedded._app.store}
    interfaces: Mapping[str, Callable[[], Interface]] = {
        "embedded": lambda: PythonInterface("embedded", embedded),
        "client": lambda: PythonInterface("client", client),
        "rest": lambda: RestInterface(service.port, service.agent_key),
        "mcp": lambda: McpServer(service.port, service.agent_key),
        "bridge": lambda: BridgeInterface(bridge),
        "cli": cli,
    }
    return Place(disk, stores, interfaces)


@pytest.mark.parametrize("name", INTERFACES)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_cell(place: Place, trouble: str, name: str) -> None:
    row, store, interface = TROUBLES[trouble], place.stores[name], place.interfaces[name]()
    assert interface.ask("remember", content=f"Before {trouble} at {name}.").kind == OK
    before = contents(store)
    with place.disk.refusing(row.refused):
        read = interface.ask("recall", query="before")
        written = interface.ask("remember", content=f"During {trouble} at {name}.")
    for outcome, expected in zip((read, written), row.kinds(name), strict=True):
        assert outcome.kind in expected, outcome.said
        assert outcome.kind == OK or row.says in outcome.said
    after = contents(store)
    assert (after == before) is (written.kind != OK)
    assert [content for content in after if "During" not in content] == [one for one in before if "During" not in one]
    assert interface.ask("remember", content=f"After {trouble} at {name}.").kind == OK
    assert f"After {trouble} at {name}." in contents(store)


@pytest.mark.parametrize("name", ["embedded", "rest"])
@pytest.mark.parametrize("trouble", [trouble for trouble, row in TROUBLES.items() if row.writing is UNAVAILABLE])
def test_recall_log_is_readable_while_unwritable_and_loses_nothing(place: Place, trouble: str, name: str) -> None:
    interface, question = place.interfaces[name](), f"What of the {trouble} at {name}?"
    with place.disk.refusing(TROUBLES[trouble].refused):
        assert interface.ask("recall", query=question).kind == OK
        assert interface.ask("recalls").kind == OK
    assert question in interface.ask("recalls").shown


def contents(store: MemoryStore) -> list[str]:
    """Returns the contents of all memories, newest first, after an integrity check."""
    assert list(store.check()) == []
    return [memory.content for memory in listed(store)]


def test_every_cell_has_an_expectation() -> None:
    rows = [expected for row in TROUBLES.values() for expected in (row.writing, row.reading)]
    assert [expected for expected in rows if not names_every_interface(expected)] == []


def test_every_interface_is_tested(place: Place) -> None:
    assert set(place.interfaces) == set(place.stores) == set(INTERFACES)
