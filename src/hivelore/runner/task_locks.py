"""Locks of tasks on this machine: at most one run works on a task, also if two runners share a home folder.

A task may be claimed again while an earlier run of it has not ended yet, such as after a lease that ran out, or after
it was paused and resumed. Two agent programs would write to one conversation and one working folder.
"""

import hashlib
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from hivelore.errors import Busy, Unavailable
from hivelore.local import file_lock, private_files
from hivelore.runner.orphans import end_processes

LOCKS = "task-locks"
"""Folder of the locks in the home folder."""
_PAUSE = 0.1
_PAUSES = 3_000
"""Most pauses while a run waits for another one: five minutes."""
_LONGEST_ID = 1_000


@contextmanager
def locked(home: Path, task: str, run: str, is_stopped: Callable[[], bool]) -> Generator[bool]:
    """Holds the lock of a task for a run; yields False if the run was stopped while it waited. Ends the processes of a
    run whose runner was killed while it held the lock. Raises Unavailable if another run does not end."""
    file = home / LOCKS / hashlib.sha256(task.encode()).hexdigest()[:32]
    descriptor = _acquire(file, is_stopped)
    if descriptor is None:
        yield False
        return
    try:
        _end_former(descriptor, home)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, run.encode(), 0)
        yield True
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def clean_up(home: Path) -> None:
    """Removes the locks of runs whose runner was killed, and ends what is left of them."""
    try:
        files = list((home / LOCKS).iterdir())
    except OSError:
        return
    for file in files:
        with suppress(OSError, Busy):
            descriptor = private_files.open_private(file, os.O_RDWR)
            try:
                file_lock.acquire(descriptor, str(file), attempts=1)
                if _is_at(descriptor, file):
                    _end_former(descriptor, home)
                    file.unlink()
            finally:
                os.close(descriptor)


def _acquire(file: Path, is_stopped: Callable[[], bool]) -> int | None:
    """Returns the locked file; None if the run was stopped."""
    private_files.make_folder(file.parent)
    pauses = 0
    while not is_stopped():
        descriptor = private_files.open_private(file, os.O_RDWR)
        try:
            file_lock.acquire(descriptor, str(file), attempts=1)
            if _is_at(descriptor, file):
                return descriptor
        except Busy:
            pauses += 1
        os.close(descriptor)
        if pauses > _PAUSES:
            raise Unavailable("Another run on this machine still works on the task.")
        time.sleep(_PAUSE)
    return None


def _end_former(descriptor: int, home: Path) -> None:
    """Ends the processes of the run that held a lock before."""
    former = os.pread(descriptor, _LONGEST_ID, 0).decode(errors="replace")
    if former:
        end_processes(former, home)


def _is_at(descriptor: int, file: Path) -> bool:
    """Returns True if an open file was not deleted by the run that held its lock before."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
