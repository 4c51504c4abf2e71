"""Leading: which one of several processes on one store does what only one of them has to do."""

from datetime import timedelta

from hivelore.core.clock import Clock
from hivelore.storage.ports import MemoryStore

TENDING = "tending"
LEASE = timedelta(seconds=15)
"""So long after a process was killed, another one takes over."""
RENEWED = 3.0
"""Seconds after which a lease is renewed, and who does not lead asks again."""


class LeaderLease:
    """Not for many threads."""

    def __init__(
        self, store: MemoryStore, clock: Clock, holder: str, what: str = TENDING, lease: timedelta = LEASE
    ) -> None:
        """``holder``: a name that no other process has. ``lease``: longer than any piece of work takes."""
        self._store = store
        self._clock = clock
        self._holder = holder
        self._what = what
        self._length = lease
        self._asked: float | None = None
        self._leads = not store.is_shared

    def is_leader(self) -> bool:
        """To be asked again before each piece of work, which has to be shorter than the lease."""
        if not self._store.is_shared:
            return True
        now = self._clock.monotonic()
        if self._asked is None or now - self._asked >= RENEWED:
            self._leads = self._lease(self._length)
            self._asked = now
        return self._leads

    def release_lease(self) -> None:
        """Let another one take over at once."""
        if self._store.is_shared and self._leads:
            self._lease(timedelta())
            self._leads = False

    def _lease(self, lease: timedelta) -> bool:
        return self._store.write(lambda tx: tx.acquire_lease(self._what, self._holder, self._clock.now(), lease))
