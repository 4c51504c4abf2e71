"""Threads that yield to those somebody waits for, and memory that goes back to the system."""

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress

NICENESS = 10


def niced(work: Callable[[], None]) -> None:
    """Run in the thread of the caller, which is of less importance from now on; niceness is per thread on Linux."""
    with suppress(OSError):  # Not allowed or not possible here: it works all the same.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    work()


def give_back_memory() -> None:
    """What was freed, the C library (glibc) keeps for the next that asks; after work that took much once, the system
    gets it back."""
    with suppress(OSError, AttributeError, TypeError):  # Another C library, or none that can be asked.
        ctypes.CDLL(None).malloc_trim(0)
