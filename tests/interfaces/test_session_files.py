"""X16: a session is resumed where its transcript is, or can be restored, and handed over otherwise."""

from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from hivelore.errors import Unavailable
from hivelore.python.client import Client
from hivelore.python.session_files import Continuation, continue_session, sessions_folder
from support.ports import free_url
from support.service import Service
from support.transcripts import SESSION, said

_NUMBERS = count()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore")) as running:
        yield running


class Host:
    def __init__(self, service: Service, folder: Path) -> None:
        self.key = service.add(f"agent {next(_NUMBERS)}")
        self.client = service.client(self.key)
        self.home, self.work = folder / "hivelore", folder
        self.file = sessions_folder(folder) / f"{SESSION}.jsonl"

    def store(self, *lines: str, program: str = "claude-code") -> None:
        body = {"projectKey": "-else", "sessionId": SESSION, "lines": list(lines), "program": program}
        self.client.call("POST", "/api/transcripts", body=body)

    def write(self, *lines: str) -> None:
        self.file.parent.mkdir(parents=True)
        self.file.write_text("".join(f"{line}\n" for line in lines))

    def go_on(self, client: Client | None = None) -> Continuation:
        return continue_session(client or self.client, self.key, SESSION, self.work, self.home)


@pytest.fixture
def host(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Host(service, tmp_path)


def test_a_stored_session_is_restored(host: Host) -> None:
    host.store(said("user", "x", "a"))
    assert host.go_on() == Continuation(session=SESSION)
    assert host.file.read_text() == said("user", "x", "a") + "\n"


@pytest.mark.parametrize("stored", [[], [said("user", "of another host", "b")]])
def test_a_session_of_this_host_is_resumed_as_it_is(host: Host, stored: list[str]) -> None:
    host.write(said("user", "x", "a"))
    if stored:
        host.store(*stored)
    assert host.go_on() == Continuation(session=SESSION)
    assert host.file.read_text() == said("user", "x", "a") + "\n"


def test_a_session_that_cannot_be_resumed_is_handed_over(host: Host) -> None:
    entry = (
        '{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "Mend it."}]}}'
    )
    host.store(entry, program="codex")
    found = host.go_on()
    assert found.session is None
    assert found.packet is not None
    assert "Mend it." in found.packet


def test_nothing_is_known_of_an_unknown_session(host: Host) -> None:
    assert host.go_on() == Continuation()


def test_without_a_service_only_the_file_of_this_host_is_resumed(host: Host) -> None:
    down = Client(free_url(), host.key)
    with pytest.raises(Unavailable):
        host.go_on(down)
    host.write(said("user", "x", "a"))
    assert host.go_on(down) == Continuation(session=SESSION)
