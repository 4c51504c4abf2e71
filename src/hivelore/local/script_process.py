"""Runs a script within limits of time, output and disk space."""

import os
import resource
import selectors
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import Any

TIMED_OUT = 124
"""Exit code of a script that was ended because of its time, as of ``timeout``."""
DISK_FULL = 125
"""Exit code of a script that was ended because it left too little disk space."""
_POLL = 0.1
_GRACE = 2.0
"""Seconds between the request to end and the end."""
_REST = 0.2
"""Seconds for the other processes of the group, of which nobody knows whether there are any."""
_READ = 65_536
_REST_READS = 32
"""Most reads of what is left in the pipe. It holds at most 1 MB; a process that left the group may write on."""
_STOPPING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


class Limits:
    __slots__ = ("file_bytes", "least_free", "output_bytes", "seconds")

    def __init__(
        self,
        seconds: float,
        *,
        output_bytes: int = 65_536,
        file_bytes: int = 4_000_000_000,
        least_free: int = 200_000_000,
    ) -> None:
        """``output_bytes``: the last part of the output that is returned; ``file_bytes``: the largest file that the
        script may write; ``least_free``: free disk space in its folder below which it is ended."""
        self.seconds = seconds
        self.output_bytes = output_bytes
        self.file_bytes = file_bytes
        self.least_free = least_free


class Finished:
    __slots__ = ("code", "is_cut", "is_stopped", "output", "why")

    def __init__(
        self, code: int, output: bytes, why: "str | None" = None, *, is_cut: bool = False, is_stopped: bool = False
    ) -> None:
        """``code``: exit code, 128 and the signal for one that a signal ended; ``output``: its last part;
        ``why``: why the script was ended, None if it ended itself; ``is_cut``: there was more output before;
        ``is_stopped``: a signal asked this process to end, not only the script."""
        self.code = code
        self.output = output
        self.why = why
        self.is_cut = is_cut
        self.is_stopped = is_stopped


def run(command: "Sequence[str]", folder: str, environment: "Mapping[str, str]", limits: Limits) -> Finished:
    """Run a program with no input in a process group of its own. The whole group is ended with it, whatever the reason.

    A signal that asks this process to end ends the script instead, and is in the result. Raises OSError if the program
    cannot be started.
    """
    with _stopping_signals() as received:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limiter(limits),
        )
        assert process.stdout is not None
        output = _Tail(process.stdout.fileno(), limits.output_bytes)
        why: str | None = None
        try:
            why = _wait(process.pid, output, folder, limits, received)
        finally:
            _end_group(process.pid)
            output.read_rest()
            process.stdout.close()
            code = process.wait()
    if received:
        code, why = 128 + received[0], f"{signal.Signals(received[0]).name} ended it."
    elif why is not None:
        code = TIMED_OUT if why.startswith("It ran") else DISK_FULL
    elif code < 0:
        code = 128 - code
    return Finished(code, output.kept, why, is_cut=output.is_cut, is_stopped=bool(received))


@contextmanager
def _stopping_signals() -> "Generator[list[int]]":
    """Collect the signals that would end this process without ending the script. Ignored signals stay ignored."""
    received: list[int] = []
    former: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():  # Python handles signals in no other thread.
        for one in _STOPPING:
            if signal.getsignal(one) not in (signal.SIG_IGN, None):
                former[one] = signal.signal(one, lambda number, _: received.append(number))
    try:
        yield received
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)


def _limiter(limits: Limits) -> "Callable[[], None]":
    """Return what the new process does before the program runs in it."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    file_bytes = limits.file_bytes if most == resource.RLIM_INFINITY else min(limits.file_bytes, most)
    parent, end_with_parent = os.getpid(), _pdeathsig()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if end_with_parent is not None:
            end_with_parent()
            if os.getppid() != parent:
                os._exit(128 + signal.SIGKILL)

    return limit


def _pdeathsig() -> "Callable[[], object] | None":
    """Return what makes Linux end a process whose parent is killed; None on other systems."""
    import ctypes

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return None if prctl is None else lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _wait(pid: int, output: "_Tail", folder: str, limits: Limits, received: "Sequence[int]") -> "str | None":
    """Wait until the program ends or a signal is received. Return why the program has to be ended, if it has to."""
    end = time.monotonic() + limits.seconds
    while not received and not _has_ended(pid):
        output.read(_POLL)
        if time.monotonic() >= end:
            return f"It ran for more than {limits.seconds:g} seconds."
        if _free_bytes(folder) < limits.least_free:
            return f"Less than {limits.least_free // 1_000_000:,} MB of disk space were left."
    return None


def _free_bytes(folder: str) -> float:
    """Return the free space of the disk of a folder; infinity for a folder that the script removed."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return float("inf")
    return found.f_bavail * found.f_frsize


def _has_ended(pid: int) -> bool:
    """Return True for an ended program. It stays a zombie, so that the number of its group is not used again."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(pid: int) -> None:
    """End a process group: ask first, so that programs can clean up."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
        end = time.monotonic() + _GRACE
        while not _has_ended(pid) and time.monotonic() < end:
            time.sleep(_REST / 4)
        time.sleep(_REST)
        os.killpg(pid, signal.SIGKILL)


class _Tail:
    """The last part of what a program prints."""

    def __init__(self, descriptor: int, most: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._most = most
        self.kept = b""
        self.is_cut = False
        self._is_open = True
        self._selector = selectors.DefaultSelector()
        self._selector.register(descriptor, selectors.EVENT_READ)

    def read(self, seconds: float) -> None:
        """Read once what is there, or wait for a moment."""
        if not self._is_open:
            time.sleep(seconds)
        elif self._selector.select(seconds):
            self._read_once()

    def read_rest(self) -> None:
        """Read what an ended program left in the pipe."""
        for _ in range(_REST_READS):
            if not self._is_open or not self._selector.select(0):
                break
            self._read_once()
        self._selector.close()

    def _read_once(self) -> None:
        try:
            piece = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return
        if not piece:
            self._is_open = False
            self._selector.unregister(self._descriptor)
            return
        kept = self.kept + piece
        self.is_cut = self.is_cut or len(kept) > self._most
        self.kept = kept[-self._most :]
