"""Sessions of a task are restored from the service before they are resumed (N09, X16)."""

from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from hivelore.python.client import Client
from hivelore.python.session_files import sessions_folder
from hivelore.runner.local_transcripts import LocalTranscripts
from hivelore.runner.model import Program
from hivelore.runner.restored_sessions import RestoredSessions
from support.ports import free_url
from support.service import Service
from support.transcripts import SESSION, said

_NUMBERS = count()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore")) as running:
        yield running


class Host:
    """A host on which a task goes on."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.key = service.add(f"agent {next(_NUMBERS)}")
        self.client = service.client(self.key)
        self.notes: list[str] = []
        self.folder = folder / "work"
        self.folder.mkdir()
        self.environment = {"HOME": str(folder / "user")}
        self.home = folder / "hivelore"
        self.file = sessions_folder(self.folder, self.environment) / f"{SESSION}.jsonl"

    def source(self, client: Client | None = None) -> RestoredSessions:
        local = LocalTranscripts(Program.CLAUDE, self.environment)
        return RestoredSessions(local, client or self.client, self.key, self.home, self.environment, self.notes.append)

    def store(self, *lines: str, client: Client | None = None, session: str = SESSION) -> None:
        body = {"projectKey": "-elsewhere", "sessionId": session, "lines": list(lines)}
        (client or self.client).call("POST", "/api/transcripts", body=body)

    def write(self, *lines: str) -> None:
        self.file.parent.mkdir(parents=True)
        self.file.write_text("".join(f"{line}\n" for line in lines))

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines()


@pytest.fixture
def host(service: Service, tmp_path: Path) -> Host:
    return Host(service, tmp_path)


FIRST, SECOND, OTHER = said("user", "x", "a"), said("assistant", "y", "b"), said("user", "only here", "c")


def test_a_session_of_another_host_is_restored(host: Host) -> None:
    host.store(FIRST, SECOND)
    assert host.source().has(SESSION, host.folder)
    assert host.lines() == [FIRST, SECOND]
    assert host.notes == []


def test_a_session_that_another_host_continued_is_extended(host: Host) -> None:
    host.write(FIRST)
    host.store(FIRST, SECOND)
    assert host.source().has(SESSION, host.folder)
    assert host.lines() == [FIRST, SECOND]


def test_a_session_with_entries_of_its_own_is_resumed_as_it_is(host: Host) -> None:
    host.write(FIRST, OTHER)
    host.store(FIRST, SECOND)
    assert host.source().has(SESSION, host.folder)
    assert host.lines() == [FIRST, OTHER]
    assert "entries that are not stored" in host.notes[0]


def test_the_session_itself_is_restored_and_not_one_that_continues_it(host: Host) -> None:
    later = SESSION[:-1] + "2"
    host.store(FIRST)
    host.store(FIRST, SECOND, session=later)
    assert host.source().has(SESSION, host.folder)
    assert [one.name for one in host.file.parent.glob("*.jsonl")] == [host.file.name]


@pytest.mark.parametrize("session", [SESSION[:8], SESSION[:-1], "../x", "*", ""])
def test_the_beginning_of_an_id_restores_nothing(host: Host, session: str) -> None:
    host.store(FIRST)
    assert not host.source().has(session, host.folder)
    assert not host.file.parent.exists()


def test_sessions_of_other_agents_and_unknown_ones_are_not_restored(service: Service, host: Host) -> None:
    host.store(FIRST, client=service.client(service.add(f"agent {next(_NUMBERS)}")))
    assert not host.source().has(SESSION, host.folder)
    assert not host.file.exists()
    assert host.notes == []


def test_without_a_service_the_file_of_this_host_is_resumed(host: Host) -> None:
    source = host.source(Client(free_url(), host.key))
    assert not source.has(SESSION, host.folder)
    host.write(FIRST)
    assert source.has(SESSION, host.folder)
    assert "is not restored" in host.notes[0]
