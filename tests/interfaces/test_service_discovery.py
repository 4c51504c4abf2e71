"""Finding the service of a folder, and deciding which process starts one."""

import fcntl
import os
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Broken, Busy
from hivelore.local import endpoint, launcher
from hivelore.local.lock import EMBEDDED, SERVICE, Lock, Owner, read_owner
from support.odd_service import Exchange, OddService
from support.tls import self_signed

OWNER = Owner(pid=7, kind=SERVICE, url="http://127.0.0.1:1", started_at="2026-11-01T00:00:00+00:00")


def test_the_owner_of_a_folder_is_written_and_read(tmp_path: Path) -> None:
    assert read_owner(tmp_path) is None
    lock = Lock(tmp_path, OWNER)
    assert read_owner(tmp_path) == OWNER
    assert launcher.running(tmp_path) == OWNER.url
    lock.release()
    assert read_owner(tmp_path) is None


def test_an_embedded_owner_does_not_count_as_a_service(tmp_path: Path) -> None:
    lock = Lock(tmp_path, Owner(pid=7, kind=EMBEDDED, url=None, started_at=""))
    assert launcher.running(tmp_path) is None
    with pytest.raises(Busy, match="process 7"):
        launcher.ensure(tmp_path)
    lock.release()


def test_a_folder_is_locked_once(tmp_path: Path) -> None:
    lock = Lock(tmp_path, OWNER)
    with pytest.raises(Busy) as refused:
        Lock(tmp_path, OWNER)
    assert refused.value.pid == OWNER.pid
    lock.release()
    Lock(tmp_path, OWNER).release()


def test_a_reader_of_the_lock_blocks_nobody(tmp_path: Path) -> None:
    """A reader holds the lock for a moment: here until another thread gives up."""
    (tmp_path / endpoint.LOCK).touch()
    descriptor = os.open(tmp_path / endpoint.LOCK, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    letting_go = threading.Timer(0.02, os.close, [descriptor])
    letting_go.start()
    Lock(tmp_path, OWNER).release()
    letting_go.join()


def test_a_folder_below_a_file_has_no_owner(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_owner(tmp_path / "file" / "home") is None


def test_a_service_is_alive_when_it_answers() -> None:
    with OddService(Exchange.result) as service:
        assert launcher.is_alive(service.url)
    assert not launcher.is_alive(service.url)


def test_a_service_behind_tls_is_alive_if_its_certificate_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = tmp_path / "server.pem"
    with OddService(Exchange.result, tls=self_signed(pem)) as service:
        assert not launcher.is_alive(service.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert launcher.is_alive(service.url)


def test_a_listener_that_does_not_answer_is_not_alive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not launcher.is_alive(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.05)


@pytest.mark.parametrize("url", ["http://127.0.0.1:0", "http://127.0.0.1:x", "http://", ""])
def test_nothing_is_alive_on_an_unused_port(url: str) -> None:
    assert not launcher.is_alive(url)


def test_a_running_service_is_not_started_again(tmp_path: Path) -> None:
    with OddService(Exchange.result) as service:
        lock = Lock(tmp_path, Owner(pid=os.getpid(), kind=SERVICE, url=service.url, started_at=""))
        assert launcher.ensure(tmp_path) == service.url
        assert not (tmp_path / endpoint.LOG).exists()
        lock.release()


def test_a_key_is_read_or_its_absence_explained(tmp_path: Path) -> None:
    assert not endpoint.has_key(endpoint.AGENT_KEY, tmp_path, {})
    assert endpoint.has_key(endpoint.AGENT_KEY, tmp_path, {"HIVELORE_KEY": "given"})
    (tmp_path / endpoint.AGENT_KEY).write_text("kept\n")
    assert endpoint.key(endpoint.AGENT_KEY, tmp_path, {}) == "kept"
    assert endpoint.key(endpoint.AGENT_KEY, tmp_path, {"HIVELORE_KEY": "given"}) == "given"
    assert endpoint.has_key(endpoint.AGENT_KEY, tmp_path, {})


# Two slashes at the beginning are a place of their own, which no system we know has.
names = st.text("ab./~", max_size=6).filter(lambda path: not path.startswith("//"))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("HIVELORE_HOME", "XDG_DATA_HOME"), names)))
def test_the_home_folder_is_where_pathlib_finds_it(environment: dict[str, str]) -> None:
    environment["HOME"] = str(Path.home())
    chosen, data = environment.get("HIVELORE_HOME"), environment.get("XDG_DATA_HOME")
    expected = Path(data) / "hivelore" if data else Path("~/.local/share/hivelore").expanduser()
    try:
        if chosen:
            expected = Path(chosen).expanduser().absolute()
    except RuntimeError:  # Nobody has that name.
        with pytest.raises(Broken):
            endpoint.home(environment)
        return
    assert endpoint.home(environment) == expected
    assert Path(endpoint.home_folder(environment)) == expected
