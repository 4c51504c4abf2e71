"""Starting the service on demand, once, whoever asks first; standard library only.

The bridge looks here on its first message, so what only a start or an end needs is imported there.
"""

import fcntl
import os
import sys
import time

from hivelore.errors import Broken, Busy, Unavailable
from hivelore.local import endpoint
from hivelore.local.endpoint import LOG, STARTING, Folder
from hivelore.local.lock import EMBEDDED, SERVICE, held_by, read_owner

TYPE_CHECKING = False
"""Written out, because importing typing takes time too."""

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

FIRST_START = 30.0
_LOOK_EVERY = 0.05
_ANSWER_WITHIN = 2.0
_GRACE = 20
"""Looks that another service gets to take the lock after ours has given way to it."""
_LARGEST_LOG = 5_000_000
_LARGEST_ANSWER = 4_096
_LET_GO = ("-I", "-S", "-c", "import os, sys; os.fork() or os.execv(sys.argv[1], sys.argv[1:])")
"""Python's words to run a command as nobody's child."""
# -P: the home folder, which it works in, is no place to import from.
_SERVE = ("-P", "-m", "hivelore.cli.main", "serve")


def running(home: Folder) -> str | None:
    """The URL of the service that holds a data directory; None where none does."""
    owner = read_owner(home)
    return owner.url if owner is not None and owner.kind == SERVICE else None


def is_alive(url: str, timeout: float = _ANSWER_WITHIN) -> bool:
    """Whether a Hivelore answers at a URL."""
    try:
        return _answers(url, timeout)
    except TimeoutError:
        return False


def _answers(url: str, timeout: float) -> bool:
    """Raises TimeoutError where somebody listens and says nothing."""
    import socket
    from urllib.parse import urlsplit

    answer = b""
    try:
        parts = urlsplit(url)
        host, tls = parts.hostname or "", parts.scheme == "https"
        port = (443 if tls else 80) if parts.port is None else parts.port
        with socket.create_connection((host, port), timeout) as plain, _encrypted(plain, host, tls) as connection:
            # As HTTP/1.0, where the end of the connection is the end of the answer.
            connection.sendall(f"GET {parts.path.rstrip('/')}/health HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
            while len(answer) < _LARGEST_ANSWER and (more := connection.recv(_LARGEST_ANSWER)):
                answer += more
    except TimeoutError:
        raise
    except (OSError, ValueError):
        return False
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.partition(b" ")[2][:4] if head.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) else b""
    # One that cannot do its work is there all the same. Not /health/live, which services of before do not know.
    return (status == b"200 " and b'"ok"' in body) or (status == b"503 " and b'"unready"' in body)


def _encrypted(connection: "socket", host: str, tls: bool) -> "socket":
    if not tls:
        return connection
    import ssl

    return ssl.create_default_context().wrap_socket(connection, server_hostname=host)


def ensure(home: Folder, patience: float = FIRST_START) -> str:
    """The URL of a service that answers, started if need be. Two at once start one.

    Raises Busy when an embedded process holds the data directory, Unavailable when none comes up.
    """
    chosen = endpoint.given_url()
    if chosen is not None and not is_local(chosen):
        return chosen.rstrip("/")
    turn = _Turn(endpoint.make_home(home))
    try:
        return _awaited(home, chosen, turn, patience)
    finally:
        turn.end()


def _awaited(home: Folder, chosen: str | None, turn: "_Turn", patience: float) -> str:
    without_owner = 0
    left = patience
    while left > 0:
        owner = read_owner(home)
        if owner is not None and owner.kind == EMBEDDED and owner.pid:
            raise held_by(owner)
        if owner is not None:
            url = owner.url
        else:
            url = chosen if turn.started is None else None
        try:
            if url is not None and _answers(url, _ANSWER_WITHIN):
                return url.rstrip("/")
        except TimeoutError:
            left -= _ANSWER_WITHIN
        if owner is None and turn.started is None:
            # Whoever had the turn before may have started one since the look above.
            if turn.is_ours() and read_owner(home) is None:
                turn.started = _Started(home)
        elif owner is None and turn.started is not None and turn.started.has_ended():
            # Perhaps another one was quicker with the port and is about to take the lock.
            without_owner += 1
            if without_owner > _GRACE:
                raise Unavailable(f"The service did not start: {last_words(home).removeprefix('hivelore: ')}")
        time.sleep(_LOOK_EVERY)
        left -= _LOOK_EVERY
    raise Unavailable(f"The service did not answer within {patience:.0f} s. See {log_of(home)}.")


class _Turn:
    """Whose turn it is to start a service: a lock that the kernel frees, whatever becomes of its holder."""

    def __init__(self, home: "Path") -> None:
        from hivelore.local import private_files

        try:
            self._descriptor = private_files.opened(home / STARTING, os.O_RDWR)
        except OSError as error:
            raise Broken(f"Nothing can be written in {home} ({error.strerror}). Set HIVELORE_HOME.") from None
        self.started: _Started | None = None

    def is_ours(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def end(self) -> None:
        os.close(self._descriptor)
        if self.started is not None:
            self.started.let_go()


def is_local(url: str) -> bool:
    """Whether a URL is one of this machine, where a service can be started."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # A port that is no number: nothing of ours.
        return False
    # What speaks TLS stands in front of a service that somebody else has started.
    return parts.scheme == "http" and host in endpoint.LOOPBACK


class _Started:
    """A service that was started to outlive this process; it logs to a file in the home folder.

    It is no child of ours: programs that end their tools end their children's children too, and others may be using
    the service by then. So a process between us starts it and ends at once, and a pipe that only the service holds
    open tells when it has ended.
    """

    def __init__(self, home: Folder) -> None:
        import subprocess

        from hivelore.local import private_files

        log = log_of(home)
        if log.exists() and log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_name(f"{LOG}.1"))
        try:
            out = private_files.opened(log, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise Broken(f"The log {log} cannot be written ({error.strerror}).") from None
        self._end, held = os.pipe()
        try:
            subprocess.run(
                [sys.executable, *_LET_GO, sys.executable, *_SERVE],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=home,
                env=endpoint.inherited(home),
                start_new_session=True,
                pass_fds=(held,),
                check=False,
            )
        finally:
            os.close(out)
            os.close(held)

    def has_ended(self) -> bool:
        import select

        looking = select.poll()
        looking.register(self._end, select.POLLIN)
        return bool(looking.poll(0))

    def let_go(self) -> None:
        os.close(self._end)


def stop(home: Folder, patience: float = 15.0) -> bool:
    """Ask the service of a data directory to end, and wait for it. False where none ran."""
    import signal

    owner = read_owner(home)
    if owner is None:
        return False
    if not owner.pid:
        raise held_by(owner)
    if owner.kind != SERVICE:
        raise Busy(f"Not a service but process {owner.pid} holds this data directory; end it there.", pid=owner.pid)
    try:
        os.kill(owner.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # It ended between the two looks, or lives where its number means nothing to us.
    except PermissionError:
        raise Busy(f"The service (pid {owner.pid}) belongs to another user; end it there.", pid=owner.pid) from None
    for _ in range(round(patience / _LOOK_EVERY)):
        now = read_owner(home)
        if now is None or now.pid not in (owner.pid, 0):  # 0: it is just letting go
            return True
        time.sleep(_LOOK_EVERY)
    raise Unavailable(f"The service (pid {owner.pid}) did not end within {patience:.0f} s.")


def last_words(home: Folder) -> str:
    """The last line that a service of this data directory has logged."""
    try:
        lines = log_of(home).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it said nothing."


def log_of(home: Folder) -> "Path":
    """Where services that were started on demand write what they have to say."""
    from pathlib import Path

    return Path(home) / LOG
