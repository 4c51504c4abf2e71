"""Leader lease: one of several processes on a store runs the background jobs that only one must run."""

from datetime import timedelta

from hivelore.core.clock import Clock
from hivelore.storage.ports import MemoryStore

TENDING = "tending"
LEASE = timedelta(seconds=15)
"""After a leader is killed, another process takes over once this time has passed."""
RENEWED = 3.0
"""Seconds between attempts to renew or acquire the lease."""


class LeaderLease:
    """A lease for one thread. A store that is not shared needs none: its process always leads."""

    def __init__(
        self, store: MemoryStore, clock: Clock, holder: str, what: str = TENDING, lease: timedelta = LEASE
    ) -> None:
        """``holder`` is a unique name of this process. ``lease`` must be longer than any piece of work."""
        self._store = store
        self._clock = clock
        self._holder = holder
        self._what = what
        self._length = lease
        self._tried_at: float | None = None
        self._leads = not store.is_shared

    def is_leader(self) -> bool:
        """Acquires or renews the lease. Call it before each piece of work."""
        if not self._store.is_shared:
            return True
        now = self._clock.monotonic()
        if self._tried_at is None or now - self._tried_at >= RENEWED:
            self._leads = self._lease(self._length)
            self._tried_at = now
        return self._leads

    def release_lease(self) -> None:
        """Lets another process take over at once."""
        if self._store.is_shared and self._leads:
            self._lease(timedelta())
            self._leads = False

    def _lease(self, lease: timedelta) -> bool:
        return self._store.write(lambda tx: tx.acquire_lease(self._what, self._holder, self._clock.now(), lease))
