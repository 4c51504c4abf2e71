"""`hivelore mcp` as a process: it starts a service where there is none, and ends with its client."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from time import monotonic

import pytest

from hivelore.local.lock import EMBEDDED, Lock, Owner, read_owner
from support.bridge import DIRECT, PACKAGE, PATIENCE, Bridge
from support.command_line import settings
from support.odd_service import Exchange, OddService
from support.service import Service, environment

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
SOON = 30.0
"""Seconds that it may take to end on a busy machine; otherwise it is one."""
WITHOUT_HANDLE = [
    *DIRECT[:3],
    "-c",
    f"import os, sys; del os.pidfd_open; sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
    "from hivelore.mcp.bridge import main; sys.exit(main())",
]
"""As on systems where one has to look whether the parent is there still."""


def pings(*numbers: int) -> bytes:
    return b"".join(b'{"jsonrpc": "2.0", "id": %d, "method": "ping"}\n' % number for number in numbers)


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    """A home folder; a service started in it ends with the test."""
    home = tmp_path / "home"
    yield home
    for pid in services_of(home):
        os.kill(pid, signal.SIGTERM)


def test_it_ends_with_its_input(service: Service, tmp_path: Path) -> None:
    with Bridge(environment(service.home), tmp_path) as bridge:
        assert bridge.ask("ping")["result"] == {}
        bridge.hang_up()
        assert bridge.ended() == 0
        assert bridge.complaints() == ""


def test_a_request_just_before_the_end_is_answered(service: Service, tmp_path: Path) -> None:
    done = subprocess.run(
        DIRECT,
        input=pings(1, 2, 3).rstrip(),
        env=environment(service.home),
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [1, 2, 3]


def test_it_does_not_wait_for_an_answer_that_does_not_come(tmp_path: Path) -> None:
    begun = threading.Event()

    def answer(_: Exchange) -> None:
        begun.set()
        service.over.wait(PATIENCE)

    with (
        OddService(answer) as service,
        Bridge(environment(tmp_path, HIVELORE_URL=service.url, HIVELORE_KEY="x"), tmp_path) as bridge,
    ):
        bridge.say(pings(1).strip())
        assert begun.wait(PATIENCE)
        before = monotonic()
        bridge.hang_up()
        assert bridge.ended() == 0
        assert monotonic() - before < SOON


@pytest.mark.parametrize("command", [DIRECT, WITHOUT_HANDLE])
def test_it_ends_with_its_parent_even_when_another_process_holds_its_pipes(
    service: Service, tmp_path: Path, command: list[str]
) -> None:
    """The parent is killed; the test keeps the other ends of its pipes."""
    script = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"
    with subprocess.Popen(
        [sys.executable, "-c", script, *command],
        env=environment(service.home),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(pings(1))
        parent.stdin.flush()
        assert b'"id":1' in parent.stdout.readline()
        parent.kill()
        parent.wait()
        # Nobody is left to write once it has ended.
        ended, _, _ = select.select([parent.stdout], [], [], SOON)
        assert ended
        assert parent.stdout.read() == b""


def test_it_ends_when_its_output_has_no_reader(service: Service, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with subprocess.Popen(
        DIRECT,
        env=environment(service.home),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writing)
        os.close(reading)
        assert process.wait(SOON) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_a_signal_ends_it_without_output(service: Service, tmp_path: Path, sent: signal.Signals, code: int) -> None:
    with Bridge(environment(service.home), tmp_path) as bridge:
        assert bridge.ask("ping")["result"] == {}
        bridge.process.send_signal(sent)
        assert bridge.ended() == code
        assert bridge.complaints() == ""


def test_a_client_that_does_not_read_cannot_block_its_end(service: Service, tmp_path: Path) -> None:
    with subprocess.Popen(
        DIRECT, env=environment(service.home), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        listing = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
        process.stdin.write(listing * 60)
        process.stdin.close()
        assert process.wait(SOON) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_it_ends_if_started_without_a_standard_stream(service: Service, tmp_path: Path, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *DIRECT],
        input=b"no json\n" + pings(1),
        env=environment(service.home),
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert (b'"id":1' in done.stdout) == (closed == "2>&-")


def test_another_process_that_has_the_folder_open_is_named(home: Path, tmp_path: Path) -> None:
    home.mkdir()
    lock = Lock(home, Owner(pid=os.getpid(), kind=EMBEDDED, url=None, started_at=""))
    with Bridge(environment(home), tmp_path) as bridge:
        assert f"The process {os.getpid()} has this data directory open." in bridge.ask("ping")["error"]["message"]
    lock.release()


def test_an_invalid_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Bridge(environment(tmp_path / "file" / "home"), tmp_path) as bridge:
        message = bridge.ask("ping")["error"]["message"]
    assert "cannot be created" in message
    assert "HIVELORE_HOME" in message


def test_a_service_that_does_not_start_is_quoted(home: Path, tmp_path: Path) -> None:
    env = environment(home, HIVELORE_URL="http://127.0.0.1:0", HIVELORE_RANKING="alphabetical")
    with Bridge(env, tmp_path) as bridge:
        message = bridge.ask("ping")["error"]["message"]
    assert message.startswith("The service did not start: ")
    assert "HIVELORE_RANKING" in message


def test_two_at_once_start_one_service_and_replace_it_when_it_is_killed(home: Path, tmp_path: Path) -> None:
    env = environment(home, **settings(home))
    with Bridge(env, tmp_path) as one, Bridge(env, tmp_path) as other:
        for bridge in (one, other):
            bridge.say({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        assert [bridge.subscribe()["result"]["serverInfo"]["name"] for bridge in (one, other)] == ["hivelore"] * 2
        first = _owner(home)
        assert services_of(home) == [first.pid]
        assert _parent(first.pid) not in (one.process.pid, other.process.pid)
        assert _starts(home) == 1
        memory = one.call("memory-store", 2, content="One service, two bridges")["memoryId"]
        assert other.call("memory-get", 2, memoryId=memory)["memory"]["content"] == "One service, two bridges"

        os.kill(first.pid, signal.SIGKILL)
        assert other.call("memory-get", 3, memoryId=memory)["success"]
        assert one.call("memory-delete", 3, memoryId=memory)["success"]
        assert services_of(home) == [_owner(home).pid] != [first.pid]
        assert _starts(home) == 2
        assert max(one.memory(), other.memory()) < 20_000


def _owner(home: Path) -> Owner:
    owner = read_owner(home)
    assert owner is not None
    return owner


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _starts(home: Path) -> int:
    return (home / "service.log").read_text().count(" opens ")


def services_of(home: Path) -> list[int]:
    """Returns the processes that serve a folder. A killed one may still be a zombie."""
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if _serves(process, home)]


def _serves(process: Path, home: Path) -> bool:
    try:
        surroundings = (process / "environ").read_bytes().split(b"\0")
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"serve" in words and f"HIVELORE_HOME={home}".encode() in surroundings
