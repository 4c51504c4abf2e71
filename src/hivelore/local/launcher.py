"""Starts the service on demand, once for all processes that need it, and stops it.

The bridge imports this on its first message, so functions import what only they need.
"""

import fcntl
import os
import sys
import time

from hivelore.errors import Broken, Busy, Invalid, Unavailable
from hivelore.local import endpoint
from hivelore.local.endpoint import LOG, STARTING, Folder
from hivelore.local.lock import EMBEDDED, SERVICE, held_by, read_owner
from hivelore.local.transport import Connection, ServiceUrl, is_local

TYPE_CHECKING = False
"""Written out, because importing typing takes time too."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FIRST_START = 30.0
_PATIENCE = 5.0
"""Seconds for a service to answer that others start."""
_POLL_EVERY = 0.05
_ANSWER_TIMEOUT = 2.0
_GRACE = 20
"""Polls in which another service may take the lock after ours has ended."""
_LARGEST_LOG = 5_000_000
_LARGEST_ANSWER = 1_000_000
_LET_GO = ("-I", "-S", "-c", "import os, sys; os.fork() or os.execv(sys.argv[1], sys.argv[1:])")
"""Arguments of Python that run a command as a child of no process."""
# -P: nothing is imported from the working directory, which is the home folder.
_COMMAND_LINE = ("-P", "-m", "hivelore.cli.main")


def running(home: Folder) -> str | None:
    """Return the URL of the service that holds a data directory; None if there is none."""
    owner = read_owner(home)
    return owner.url if owner is not None and owner.kind == SERVICE else None


def is_alive(url: str, timeout: float = _ANSWER_TIMEOUT) -> bool:
    """Return True if a Hivelore answers at a URL."""
    try:
        return _answers(url, timeout)
    except TimeoutError:
        return False


def _answers(url: str, timeout: float) -> bool:
    """Raises TimeoutError if a program listens and does not answer."""
    connection = None
    try:
        connection = Connection(ServiceUrl(url), timeout, timeout)
        answer = connection.request("GET", "/health", {"Connection": "close"}, largest=_LARGEST_ANSWER)
    except Unavailable as problem:
        if isinstance(problem.__cause__, TimeoutError):
            raise problem.__cause__ from None
        return False
    except Invalid:
        return False
    finally:
        if connection is not None:
            connection.close()
    # A service that is not ready answers, too. Older services have no /health/live.
    expected = {200: b'"ok"', 503: b'"unready"'}.get(answer.status)
    return expected is not None and expected in answer.body


def ensure(home: Folder, patience: float = FIRST_START, *, is_asked_for: bool = False) -> str:
    """Return the URL of a service that answers, after starting it if necessary. Concurrent calls start one service.

    ``is_asked_for``: the user asked for a service of this home folder. Otherwise, none is started in a folder without
    keys if HIVELORE_KEY is set: that key belongs to another service.

    Raises Busy if an embedded process holds the data directory, Unavailable if no service answers in time.
    """
    chosen = endpoint.given_url()
    if chosen is not None and not is_local(chosen):
        return chosen.rstrip("/")
    starting = _StartLock(endpoint.make_home(home))
    may_start = is_asked_for or endpoint.given_key() is None or endpoint.has_key_file(home)
    try:
        if not may_start:
            return _wait_for_other_service(home, chosen or endpoint.DEFAULT_URL, min(patience, _PATIENCE))
        return _wait_for_service(home, chosen, starting, patience)
    finally:
        starting.end()


def _wait_for_other_service(home: Folder, url: str, patience: float) -> str:
    left = patience
    while left > 0:
        found = running(home) or url
        try:
            if _answers(found, _ANSWER_TIMEOUT):
                return found.rstrip("/")
        except TimeoutError:
            left -= _ANSWER_TIMEOUT
        time.sleep(_POLL_EVERY)
        left -= _POLL_EVERY
    raise Unavailable(
        f"No service answers at {url}. None is started in {home}, because HIVELORE_KEY is the key of another one. "
        "Start that one, or correct HIVELORE_URL."
    )


def _wait_for_service(home: Folder, chosen: str | None, starting: "_StartLock", patience: float) -> str:
    without_owner = 0
    left = patience
    while left > 0:
        owner = read_owner(home)
        if owner is not None and owner.kind == EMBEDDED and owner.pid:
            raise held_by(owner)
        if owner is not None:
            url = owner.url
        else:
            url = chosen if starting.started is None else None
        try:
            if url is not None and _answers(url, _ANSWER_TIMEOUT):
                return url.rstrip("/")
        except TimeoutError:
            left -= _ANSWER_TIMEOUT
        if owner is None and starting.started is None:
            # The previous holder of the lock may have started one since the check above.
            if starting.is_ours() and read_owner(home) is None:
                starting.started = _Started(home)
        elif owner is None and starting.started is not None and starting.started.has_ended():
            # Perhaps another service was faster with the port and is about to take the lock.
            without_owner += 1
            if without_owner > _GRACE:
                raise Unavailable(f"The service did not start: {last_log_line(home).removeprefix('hivelore: ')}")
        time.sleep(_POLL_EVERY)
        left -= _POLL_EVERY
    raise Unavailable(f"The service did not answer within {patience:.0f} s. See {log_of(home)}.")


class _StartLock:
    """Lock of the process that may start a service. The kernel releases it when the process ends."""

    def __init__(self, home: "Path") -> None:
        from hivelore.local import private_files

        try:
            self._descriptor = private_files.open_private(home / STARTING, os.O_RDWR)
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


class _Started:
    """A service that outlives this process; it logs to a file in the home folder.

    It is not a child of this process: agent programs end the children of their tools, too, and others may use the
    service by then. So a process in between starts it and ends at once. A pipe that only the service holds open shows
    when it has ended.
    """

    def __init__(self, home: Folder) -> None:
        import subprocess

        from hivelore.local import private_files

        log = log_of(home)
        if log.exists() and log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_name(f"{LOG}.1"))
        try:
            out = private_files.open_private(log, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise Broken(f"The log {log} cannot be written ({error.strerror}).") from None
        self._end, held = os.pipe()
        try:
            subprocess.run(
                [sys.executable, *_LET_GO, sys.executable, *_COMMAND_LINE, "serve"],
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


def run_detached(words: "Sequence[str]", home: Folder) -> None:
    """Run the command line in a process that outlives this one and its parents. What it prints is not visible."""
    import subprocess

    subprocess.run(
        [sys.executable, *_LET_GO, sys.executable, *_COMMAND_LINE, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env=endpoint.inherited(home),
        start_new_session=True,
        check=False,
    )


def stop(home: Folder, patience: float = 15.0) -> bool:
    """Stop the service of a data directory and wait for its end. Returns False if none ran."""
    import signal

    owner = read_owner(home)
    if owner is None:
        return False
    if not owner.pid:
        raise held_by(owner)
    if owner.kind != SERVICE:
        raise Busy(f"Process {owner.pid} holds this data directory and is not a service; end it there.", pid=owner.pid)
    try:
        os.kill(owner.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # It has just ended, or runs where its pid has another meaning.
    except PermissionError:
        raise Busy(f"The service (pid {owner.pid}) belongs to another user; end it there.", pid=owner.pid) from None
    for _ in range(round(patience / _POLL_EVERY)):
        now = read_owner(home)
        if now is None or now.pid not in (owner.pid, 0):  # 0: it is releasing the lock
            return True
        time.sleep(_POLL_EVERY)
    raise Unavailable(f"The service (pid {owner.pid}) did not end within {patience:.0f} s.")


def last_log_line(home: Folder) -> str:
    """Return the last line in the log of a service of this data directory."""
    try:
        lines = log_of(home).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it logged nothing."


def log_of(home: Folder) -> "Path":
    """Return the path of the log of services that run in the background."""
    from pathlib import Path

    return Path(home) / LOG
