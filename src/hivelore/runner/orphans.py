"""Ends the processes of a run whose runner was killed.

The guard ends them within seconds. If it was killed, too, the next runner does: every process of a run has the id of
the run in its environment, also one that left the session. One that cleared its environment still has a limit that is
derived from the id: processes inherit limits. Linux only; elsewhere there is no /proc.
"""

import hashlib
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hivelore.errors import HiveloreError
from hivelore.local import lock

VARIABLE = "HIVELORE_RUN_ID"
_MARKS = 2**56
"""Marks are above it: so many microseconds of real-time work are two thousand years."""
_LIMIT = b"Max realtime timeout"
_ROUNDS = 100
_PAUSE = 0.1
_SHORT_PAUSE = 0.02
_EMPTY_LOOKS = 3
_DEEPEST = 100
_ASKED_FOR = 20
"""Rounds between the request to end and the end."""
_LARGEST = 1_000_000


def mark_of(run: str) -> int:
    """Returns the limit of real-time work (RLIMIT_RTTIME) that the processes of a run have."""
    return _MARKS + int.from_bytes(hashlib.sha256(run.encode()).digest()[:6])


def end_processes(run: str, home: Path | None = None, proc: Path = Path("/proc")) -> int:
    """Ends all processes of a run and returns how many there were. The service of ``home``, which a hook may have
    started, stays."""
    seen: set[int] = set()
    stopped: set[int] = set()
    empty = 0
    for round_ in range(_ROUNDS):
        found = processes_of(run, home, proc)
        empty = 0 if found else empty + 1
        if empty >= _EMPTY_LOOKS or (not seen and not found):
            break
        if round_ < _ASKED_FOR:
            _send(set(found) - seen, signal.SIGTERM)
        else:  # All are stopped before one is killed, so that none starts another one meanwhile.
            new = set(found) - stopped
            _send(new or found, signal.SIGSTOP if new else signal.SIGKILL)
            stopped |= new
        seen.update(found)
        time.sleep(_PAUSE if found and not stopped else _SHORT_PAUSE)
    return len(seen)


def _send(processes: Iterable[int], number: int) -> None:
    for pid in processes:
        with suppress(OSError):
            os.kill(pid, number)


def processes_of(run: str, home: Path | None = None, proc: Path = Path("/proc")) -> list[int]:
    """Returns the processes of this user that belong to a run, without this one, and without the service of ``home``
    and what is below it."""
    variable, mark = f"{VARIABLE}={run}".encode(), str(mark_of(run)).encode()
    service = None if home is None else _service(home)
    try:
        names = [entry.name for entry in proc.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
    found = [
        int(name)
        for name in names
        if variable in _read(proc / name / "environ").split(b"\0") or _is_marked(proc / name, mark)
    ]
    return [pid for pid in found if pid != os.getpid() and not _is_below(pid, service, proc)]


def _service(home: Path) -> int | None:
    try:
        owner = lock.read_owner(home)
    except HiveloreError:
        return None
    return owner.pid if owner is not None and owner.kind == lock.SERVICE else None


def _is_below(pid: int, service: int | None, proc: Path) -> bool:
    """Returns True for a service and for what is below it."""
    for _ in range(_DEEPEST):
        if service is None or pid <= 1:
            return False
        if pid == service:
            return True
        parent = _stat(proc / str(pid))[1:2]
        pid = int(parent[0]) if parent else 0
    return False


def _stat(process: Path) -> list[bytes]:
    """Returns the state of a process, its parent, and what else the kernel says; nothing if it is gone."""
    return _read(process / "stat").rpartition(b")")[2].split()


def _is_marked(process: Path, mark: bytes) -> bool:
    """Returns True for a process with a mark that this user can end: all may read limits."""
    limits = _read(process / "limits").splitlines()
    if not any(mark in line.split() for line in limits if line.startswith(_LIMIT)):
        return False
    if _stat(process)[:1] in ([], [b"Z"]):  # It has ended, and keeps its limits until its parent has seen that.
        return False
    try:
        return os.geteuid() in (0, process.stat().st_uid)
    except OSError:
        return False


def _read(file: Path) -> bytes:
    """Returns the beginning of a file; nothing if the process has ended or belongs to another user."""
    try:
        with file.open("rb") as data:
            return data.read(_LARGEST)
    except OSError:
        return b""
