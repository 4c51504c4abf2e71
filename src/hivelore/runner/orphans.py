"""Ends the processes of a run whose runner was killed.

The guard ends them within seconds. If it was killed, too, the next runner does: every process of a run has the id of
the run in its environment, also one that left the session. Linux only; elsewhere there is no /proc.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "HIVELORE_RUN_ID"
_SERVICE = b"\0hivelore.cli.main\0serve\0"
_ROUNDS = 50
_PAUSE = 0.1
_ASKED_FOR = 20
"""Rounds between the request to end and the end."""
_LARGEST = 1_000_000


def end_processes(run: str, proc: Path = Path("/proc")) -> int:
    """Ends all processes of a run and returns how many there were. A service that a hook has started stays."""
    seen: set[int] = set()
    for round_ in range(_ROUNDS):
        found = processes_of(run, proc)
        if not found:
            break
        for pid in found:
            if pid not in seen or round_ >= _ASKED_FOR:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL if round_ >= _ASKED_FOR else signal.SIGTERM)
        seen.update(found)
        time.sleep(_PAUSE)
    return len(seen)


def processes_of(run: str, proc: Path = Path("/proc")) -> list[int]:
    """Returns the processes of this user that belong to a run, without this one."""
    mark = f"{VARIABLE}={run}".encode()
    try:
        names = [entry.name for entry in proc.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
    return [
        int(name)
        for name in names
        if int(name) != os.getpid()
        and mark in _read(proc / name / "environ").split(b"\0")
        and _SERVICE not in _read(proc / name / "cmdline") + b"\0"
    ]


def _read(file: Path) -> bytes:
    """Returns the beginning of a file; nothing if the process has ended or belongs to another user."""
    try:
        with file.open("rb") as data:
            return data.read(_LARGEST)
    except OSError:
        return b""
