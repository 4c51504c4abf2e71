"""Sessions of a task are sent to the service while it runs, and restored before they are resumed (N09, X16)."""

import time
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hivelore.python.client import Client
from hivelore.python.session_files import sessions_folder
from hivelore.runner.local_transcripts import LocalTranscripts
from hivelore.runner.model import Program
from hivelore.runner.stored_sessions import StoredSessions
from support.ports import free_url
from support.service import Service
from support.transcripts import SESSION, a_line, said
from support.waiting import until

_NUMBERS = count()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore")) as running:
        yield running


class Host:
    """A host on which a task goes on."""

    def __init__(self, service: Service, folder: Path, key: str | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.key = key or service.add(f"agent {next(_NUMBERS)}")
        self.client = service.client(self.key)
        self.notes: list[str] = []
        self.folder = folder / "work"
        self.folder.mkdir()
        self.environment = {"HOME": str(folder / "user")}
        self.home = folder / "hivelore"
        self.file = sessions_folder(self.folder, self.environment) / f"{SESSION}.jsonl"

    def source(self, client: Client | None = None, *, stores: bool = True) -> StoredSessions:
        environment = {**self.environment, "HIVELORE_STORE_TRANSCRIPTS": "1" if stores else "0"}
        return StoredSessions(
            LocalTranscripts(Program.CLAUDE, environment),
            client or self.client,
            self.key,
            self.home,
            environment,
            self.notes.append,
            time.monotonic,
            send_every=0.05,
        )

    def has(self, session: str = SESSION, *, stores: bool = True, stopping: bool = False) -> bool:
        return self.source(stores=stores).has(session, self.folder, lambda: stopping)

    def store(self, *lines: str, client: Client | None = None, session: str = SESSION, **more: str) -> None:
        body = {"projectKey": "-elsewhere", "sessionId": session, "lines": list(lines), **more}
        (client or self.client).call("POST", "/api/transcripts", body=body)

    def write(self, *lines: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as out:
            out.write("".join(f"{line}\n" for line in lines))

    def stored(self) -> int:
        """Returns the number of entries of the session that the service has."""
        found = self.client.call("GET", "/api/transcripts")["sessions"]
        return next((one["entries"] for one in found if one["sessionId"] == SESSION), 0)

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines()


@pytest.fixture
def host(service: Service, tmp_path: Path) -> Host:
    return Host(service, tmp_path)


FIRST, SECOND, OTHER = said("user", "x", "a"), said("assistant", "y", "b"), said("user", "only here", "c")


def test_a_session_of_another_host_is_restored(host: Host) -> None:
    host.store(FIRST, SECOND)
    assert host.has()
    assert host.lines() == [FIRST, SECOND]
    assert host.notes == []


def test_a_session_that_another_host_continued_is_extended(host: Host) -> None:
    host.write(FIRST)
    host.store(FIRST, SECOND)
    assert host.has()
    assert host.lines() == [FIRST, SECOND]


def test_entries_of_this_host_are_sent_before_those_of_another_one_are_restored(host: Host) -> None:
    host.write(FIRST, OTHER)
    host.store(FIRST, SECOND)
    assert host.has()
    assert host.lines() == [FIRST, SECOND, OTHER]
    assert host.stored() == 3
    assert host.notes == []


def test_where_nothing_is_stored_a_session_with_entries_of_its_own_is_resumed_as_it_is(host: Host) -> None:
    host.write(FIRST, OTHER)
    host.store(FIRST, SECOND)
    assert host.has(stores=False)
    assert host.lines() == [FIRST, OTHER]
    assert "entries that are not stored" in host.notes[0]


def test_n09_another_host_goes_on_with_what_was_written_before_the_first_one_failed(
    service: Service, host: Host, tmp_path: Path
) -> None:
    sessions: list[str | None] = [None]
    with host.source().storing(lambda: sessions[0], host.folder):
        host.write(FIRST)
        sessions[0] = SESSION
        until(lambda: host.stored() == 1)
        host.write(SECOND)
        until(lambda: host.stored() == 2)
        other = Host(service, tmp_path / "another host", host.key)
        assert other.has()
        assert other.lines() == [FIRST, SECOND]


def test_the_last_entries_are_sent_after_the_program_ended(host: Host) -> None:
    with host.source().storing(lambda: SESSION, host.folder):
        host.write(FIRST, SECOND)
    assert host.stored() == 2


def test_nothing_is_sent_where_storing_is_off(host: Host) -> None:
    with host.source(stores=False).storing(lambda: SESSION, host.folder):
        host.write(FIRST)
        time.sleep(0.2)
    assert host.stored() == 0


def test_work_of_another_host_is_kept_when_a_task_returns(service: Service, host: Host, tmp_path: Path) -> None:
    other = Host(service, tmp_path / "another host", host.key)
    third = said("assistant", "z", "d")
    host.write(FIRST)
    with host.source().storing(lambda: SESSION, host.folder):
        pass
    host.write(OTHER)  # It was killed before this was sent.
    assert other.has()
    with other.source().storing(lambda: SESSION, other.folder):
        other.write(SECOND, third)
    assert host.has()
    assert host.lines() == [FIRST, SECOND, third, OTHER]
    assert other.has()
    assert other.lines() == host.lines()


def test_a_complete_file_is_not_loaded_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.store(FIRST, SECOND)
    host.store(a_line("s"), subKey="subagents/agent-1")
    assert host.has()
    loaded: list[str] = []
    call = host.client.call

    def recorded(method: str, path: str, **more: Any) -> Any:
        loaded.append(path)
        return call(method, path, **more)

    monkeypatch.setattr(host.client, "call", recorded)
    assert host.has()
    assert loaded == ["/api/transcripts/find"]
    host.store(OTHER)
    assert host.has()
    assert loaded.count("/api/transcripts/lines") == 1
    assert host.lines() == [FIRST, SECOND, OTHER]


def test_a_stop_ends_the_restore(host: Host) -> None:
    host.store(FIRST)
    assert not host.has(stopping=True)
    assert "asked to stop" in host.notes[0]
    assert not host.file.exists()


def test_the_session_itself_is_restored_and_not_one_that_continues_it(host: Host) -> None:
    later = SESSION[:-1] + "2"
    host.store(FIRST)
    host.store(FIRST, SECOND, session=later)
    assert host.has()
    assert [one.name for one in host.file.parent.glob("*.jsonl")] == [host.file.name]


@pytest.mark.parametrize("session", [SESSION[:8], SESSION[:-1], "../x", "*", ""])
def test_the_beginning_of_an_id_restores_nothing(host: Host, session: str) -> None:
    host.store(FIRST)
    assert not host.has(session)
    assert not host.file.parent.exists()


def test_sessions_of_other_agents_and_unknown_ones_are_not_restored(service: Service, host: Host) -> None:
    host.store(FIRST, client=service.client(service.add(f"agent {next(_NUMBERS)}")))
    assert not host.has()
    assert not host.file.exists()
    assert host.notes == []


def test_without_a_service_the_file_of_this_host_is_resumed(host: Host) -> None:
    source = host.source(Client(free_url(), host.key))
    assert not source.has(SESSION, host.folder, lambda: False)
    host.write(FIRST)
    assert source.has(SESSION, host.folder, lambda: False)
    assert "is not restored" in host.notes[0]
