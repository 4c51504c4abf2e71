"""How far a long piece of work is, and whether it is to end early: between who does it and who waits for it."""

import threading


class Stopped(Exception):
    """The work was asked to end early."""


class Progress:
    """One thread works, others look and may stop it."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._stopped = threading.Event()

    def expect(self, units: int) -> None:
        """So many more units of work are known of."""
        self.total += units

    def advance(self, units: int = 1) -> None:
        """So many more are done. Raises Stopped, as ``check`` does."""
        self.done += units
        self.check()

    def check(self) -> None:
        """To be called between any two steps. Raises Stopped where the work is to end."""
        if self._stopped.is_set():
            raise Stopped

    def stop(self) -> None:
        self._stopped.set()
