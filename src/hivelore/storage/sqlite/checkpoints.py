"""Checkpoints: they copy the write-ahead log into the database file and keep the log small.

A passive checkpoint runs concurrently with readers and writers, but SQLite reuses the log from its start only when no
reader needs it. Under steady reads that never happens. So a log that has grown is emptied: the writer pauses between
two commits, new snapshots wait, and running snapshots get a bounded time to end.
"""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

import apsw

from hivelore.errors import Unavailable
from hivelore.storage.sqlite.connection import close, our_errors, pragma
from hivelore.storage.sqlite.readers import Readers
from hivelore.storage.sqlite.writer import Writer

EVERY = 0.5
"""Seconds between two passive checkpoints."""
SMALL = 24 * 1024 * 1024
"""Up to this size the log may grow, because emptying it pauses the writer."""
LARGE = 64 * 1024 * 1024
"""From this size on, the writer pauses for as long as a read may last."""
STEP = 4 * 1024 * 1024
"""After a failed attempt, the log may grow by this much before the next one."""
SHORT_PATIENCE = 0.25
LONG_PATIENCE = 11.0
"""Seconds that a read gets from its start: slightly more than the deadline of an interactive call."""

_LOG = logging.getLogger("hivelore")


def patience(size: int) -> float:
    """Returns how old a read may become, in seconds, before it is no longer waited for; ``size`` is that of the log."""
    grown = min(max(size - SMALL, 0) / (LARGE - SMALL), 1.0)
    return SHORT_PATIENCE + (LONG_PATIENCE - SHORT_PATIENCE) * grown**3


class Checkpoints:
    """A thread with its own connection, from construction to ``close``."""

    def __init__(
        self, connection: apsw.Connection, writer: Writer, readers: Readers, verify: Callable[[], None]
    ) -> None:
        """``verify`` raises Unavailable if the files are not those that were opened; then they are not touched."""
        self._connection = connection
        self._verify = verify
        self._writer = writer
        self._readers = readers
        self._page = int(pragma(connection, "page_size"))
        self._wake = threading.Event()
        self._closed = False
        self._running = threading.Lock()
        self._next_try = SMALL
        self._has_warned = False
        """True once the warning about a log that cannot be emptied was logged."""
        self._thread = threading.Thread(target=self._run, name="hivelore-checkpoints", daemon=True)
        self._thread.start()

    def logged(self, pages: int) -> None:
        """Called after each commit with the number of pages in the log."""
        if pages * self._page > self._next_try:
            self._wake.set()

    def empty(self) -> bool:
        """Empties the log now. Returns False if a reader still needs it after a short wait."""
        with our_errors(), self._running:
            if self._closed:
                raise Unavailable("The store is closed.")
            self._copy()
            return self._emptied(SHORT_PATIENCE)

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        """Failures are retried; until then the log grows and nothing is lost."""
        has_logged = False
        while not self._closed:
            self._wake.wait(EVERY)
            self._wake.clear()
            try:
                with suppress(apsw.Error, Unavailable), self._running:
                    self._keep_small()
                has_logged = False
            except Exception as error:  # noqa: BLE001 - without this thread the log would grow for good
                if not has_logged:
                    _LOG.error("The write-ahead log cannot be copied into the database. Retrying: %r", error)
                has_logged = True
        with self._running:
            close(self._connection, self._verify)

    def _keep_small(self) -> None:
        size = self._copy()
        if size <= self._next_try:
            self._next_try = max(SMALL, min(self._next_try, size + STEP))
            return
        if self._emptied(patience(size)):
            self._next_try, self._has_warned = SMALL, False
            return
        self._next_try = size + STEP
        if size > LARGE and not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "The write-ahead log has %d MB and cannot be emptied: a read of the database has lasted more than %d "
                "seconds. The log is emptied once it ends.",
                size // 1_000_000,
                LONG_PATIENCE,
            )

    def _copy(self) -> int:
        """Copies the pages that no reader blocks; returns the size of the log in bytes."""
        self._verify()
        pages, _ = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return pages * self._page

    def _emptied(self, longest: float) -> bool:
        with self._writer.paused(), self._readers.held(longest) as is_idle:
            if not is_idle:
                return False
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False  # another process reads the file
        return True
