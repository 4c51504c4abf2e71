"""Runs a script within limits of time, output and disk space."""

import os
import resource
import selectors
import shutil
import signal
import subprocess
import time
from contextlib import suppress

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        """``output_bytes``: the last part of the output that is kept; ``file_bytes``: the largest file that the script
        may write; ``least_free``: free disk space in its folder below which it is ended."""
        self.seconds = seconds
        self.output_bytes = output_bytes
        self.file_bytes = file_bytes
        self.least_free = least_free


class Finished:
    __slots__ = ("code", "output", "why")

    def __init__(self, code: int, output: bytes, why: "str | None") -> None:
        """``code``: exit code, 128 and the signal for one that a signal ended; ``output``: the last whole lines;
        ``why``: why the script was ended, None if it ended itself."""
        self.code = code
        self.output = output
        self.why = why


def run(command: "Sequence[str]", folder: str, environment: "Mapping[str, str]", limits: Limits) -> Finished:
    """Run a program with no input in a process group of its own. The whole group is ended with it, whatever the reason.

    Raises OSError if it cannot be started.
    """

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=limit_files,
    )
    assert process.stdout is not None
    output = _Tail(process.stdout.fileno(), limits.output_bytes)
    why: str | None = None
    try:
        why = _wait(process.pid, output, folder, limits)
    finally:
        _end_group(process.pid)
        output.read_rest()
        process.stdout.close()
        code = process.wait()
    if why is not None:
        return Finished(TIMED_OUT if why.startswith("It ran") else DISK_FULL, output.lines(), why)
    return Finished(128 - code if code < 0 else code, output.lines(), None)


def _wait(pid: int, output: "_Tail", folder: str, limits: Limits) -> "str | None":
    """Wait until the program ends. Return why it has to be ended, if it has to."""
    end = time.monotonic() + limits.seconds
    while not _has_ended(pid):
        output.read(_POLL)
        if time.monotonic() >= end:
            return f"It ran for more than {limits.seconds:g} seconds."
        if shutil.disk_usage(folder).free < limits.least_free:
            return f"Less than {limits.least_free // 1_000_000:,} MB of disk space were left."
    return None


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
        self._kept = b""
        self._is_cut = False
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
        while self._is_open and self._selector.select(0):
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
        kept = self._kept + piece
        self._is_cut = self._is_cut or len(kept) > self._most
        self._kept = kept[-self._most :]

    def lines(self) -> bytes:
        """Return the kept part. A first line that is incomplete is left out: it may end with a part of a secret."""
        return self._kept.partition(b"\n")[2] if self._is_cut else self._kept
