"""Lock files: exclusive access for a short piece of work, between threads and processes of this machine."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hivelore.errors import Broken, Busy
from hivelore.local import private_files

ATTEMPTS = 1_000
"""Most attempts to get a lock, which take about ten seconds."""
_PAUSE = 0.01


@contextmanager
def locked(file: Path, attempts: int = ATTEMPTS) -> Generator[None]:
    """Holds a lock file, which stays afterwards. The kernel releases the lock of a killed process. Raises Busy if
    another holds the lock after all attempts."""
    path = os.fspath(file)
    try:
        private_files.make_folder(file.parent)
        descriptor = private_files.open_private(path, os.O_RDWR)
    except OSError as error:
        raise Broken(f"The lock file {path} cannot be opened ({error.strerror}). Make it writable.") from None
    try:
        acquire(descriptor, path, attempts)
        yield
    finally:
        os.close(descriptor)


def acquire(descriptor: int, path: str, attempts: int = ATTEMPTS) -> None:
    """Locks an open file or folder until it is closed. Raises Busy as ``locked``."""
    while not _is_acquired(descriptor):
        attempts -= 1
        if attempts <= 0:
            raise Busy(f"Another process holds the lock {path}. Try again in a moment.")
        time.sleep(_PAUSE)


def _is_acquired(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
