"""The health monitor: checks about once a second what a running service depends on."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import shake_256

from hivelore.core.clock import Clock
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.health.model import DEGRADING, Cause
from hivelore.health.state import HealthState
from hivelore.indexes.ports import KeywordIndex
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore

WRITE_EVERY = 30.0
"""Seconds without a write after which the monitor writes, to notice that writes would fail."""
WORDS_EVERY = 10.0
EXAMINE_AGAIN, EXAMINE_LATEST = 5.0, 300.0
"""Seconds after damage was found until the whole database is read again: the first pause, and the longest. It doubles
each time. A disk may have failed only for a moment."""
TRIAL = 1_000_000
"""Bytes written to test whether a disk that was full has room again, enough for many memories."""
_LEASE = "health"
_WORD = "memory"


class Monitor:
    """``look`` and ``examine`` each run in their own thread, ``check`` in any."""

    def __init__(
        self, store: MemoryStore, keywords: KeywordIndex, health: HealthState, clock: Clock, holder: str
    ) -> None:
        """``holder``: a name that is unique to this process."""
        self._store = store
        self._keywords = keywords
        self._health = health
        self._clock = clock
        self._holder = holder
        self._words_at: float | None = None
        self._words_fail = False
        self._examine_at = clock.monotonic()
        self._examine_after = EXAMINE_AGAIN

    def look(self) -> None:
        """Checks reads, writes and keyword search. Call it about once a second."""
        if self._verified():
            now, health = self._clock.monotonic(), self._health
            if now - health.last_write >= WRITE_EVERY or health.has_failure(Cause.WRITES, Cause.DISK_FULL):
                self._write()
            if self._words_at is None or now - self._words_at >= WORDS_EVERY or self._words_fail:
                self._words_at = now
                self._search()
        self._health.announce()

    def examine(self) -> None:
        """Reads the whole database after damaged data was found, because the error may have been temporary. Call it
        about once a second."""
        if self._health.has_failure(Cause.DAMAGED) and self._clock.monotonic() >= self._examine_at:
            if self._examined():
                self._examine_at = self._clock.monotonic() + self._examine_after
                self._examine_after = min(EXAMINE_LATEST, 2 * self._examine_after)
            else:
                self._examine_at, self._examine_after = self._clock.monotonic(), EXAMINE_AGAIN

    def check(self) -> Sequence[str]:
        """Reads the whole database, writes to it and searches. Returns the damage, one sentence each. Raises
        Unavailable if nothing is damaged but something does not work."""
        damage: Sequence[str] = ()
        if self._verified():
            self._write()
            self._search()
            damage = self._examined()
        failing = [one.detail for one in self._health.failing() if one.cause not in DEGRADING]
        if failing and not damage:
            raise Unavailable(" ".join(failing))
        return damage

    def _examined(self) -> Sequence[str]:
        try:
            damage = self._store.check()
        except Broken as error:  # The damage prevents the check itself.
            damage = [str(error)]
        if damage:
            self._health.report(Cause.DAMAGED, damage[0], lasting=True)
        else:
            self._health.clear(Cause.DAMAGED)
        return damage

    def _verified(self) -> bool:
        """Returns True if the database is there and is the right one."""
        try:
            self._store.verify()
        except (Unavailable, Broken) as error:
            if isinstance(error, Broken) and error.cause is None:  # Another database: it lacks a table.
                self._health.report(Cause.REPLACED, str(error), lasting=True)
            else:
                self._health.store_failed(error, writing=False)
            return False
        self._health.clear(Cause.REPLACED)
        self._health.read_done()
        return True

    def _write(self) -> None:
        was_full = self._health.has_failure(Cause.DISK_FULL)
        with suppress(HiveloreError):  # The store reports it.
            has_room = was_full and self._lease(self._holder + shake_256(b"").hexdigest(TRIAL // 2))
            self._lease(self._holder)
            if has_room:
                self._health.clear(Cause.DISK_FULL)

    def _lease(self, holder: str) -> bool:
        """Writes a lease that ends at once and has no effect."""
        now = self._clock.now()
        return self._store.write(lambda tx: tx.acquire_lease(_LEASE, holder, now, timedelta()))

    def _search(self) -> None:
        try:
            with self._store.read() as view:
                self._keywords.search(view, [_WORD], EVERYTHING, 1)
        except Exception as error:  # noqa: BLE001 - after any error, search does not work
            of_the_store = isinstance(error, Broken) and error.cause is not None
            if not (of_the_store or isinstance(error, Unavailable)):
                self._words_fail = True
                self._health.report(Cause.KEYWORDS, str(error) if isinstance(error, HiveloreError) else repr(error))
        else:
            if self._words_fail:
                self._health.clear(Cause.KEYWORDS)
            self._words_fail = False
