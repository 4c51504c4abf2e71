"""Progress and cancellation of long work."""

import threading


class Stopped(Exception):
    """The work was cancelled."""


class Progress:
    """Progress of work in one thread, which other threads read and may stop."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._stopped = threading.Event()

    def expect(self, units: int) -> None:
        """Adds units to the total."""
        self.total += units

    def advance(self, units: int = 1) -> None:
        """Adds units that are done. Raises Stopped like ``check``."""
        self.done += units
        self.check()

    def check(self) -> None:
        """Raises Stopped if the work was stopped. Call it between steps."""
        if self._stopped.is_set():
            raise Stopped

    def stop(self) -> None:
        self._stopped.set()
