"""Thread priority, and return of unused memory to the system."""

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress

NICENESS = 10


def niced(work: Callable[[], None]) -> None:
    """Run in this thread with a low priority, which it keeps; on Linux niceness is per thread."""
    with suppress(OSError):  # Not allowed or not possible here.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    work()


def give_back_memory() -> None:
    """Return freed memory to the system; glibc would keep it. Call this after work that needed much memory once."""
    with suppress(OSError, AttributeError, TypeError):  # Another C library.
        ctypes.CDLL(None).malloc_trim(0)
