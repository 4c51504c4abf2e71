"""Copying the write-ahead log into the database file, and keeping the log small.

A passive checkpoint copies beside readers and writers, but the log is written from its start again only once no reader
needs it. Beside steady reads that moment never comes by itself. So a log that has grown is emptied: the writer pauses
between two commits, new snapshots wait, and those that run get a bounded time to end.
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
"""Up to this size the log is left to grow: emptying it pauses the writer."""
LARGE = 64 * 1024 * 1024
"""From this size on, the writer pauses for as long as a read may take."""
STEP = 4 * 1024 * 1024
"""After a try that failed, the log grows by this much before the next one."""
SHORT_PATIENCE = 0.25
LONG_PATIENCE = 11.0
"""Seconds that a read gets from its beginning: a little more than the deadline of one that somebody waits for."""

_LOG = logging.getLogger("hivelore")


def patience(size: int) -> float:
    """How old, in seconds, a read may become that is waited for, for a log of this many bytes."""
    grown = min(max(size - SMALL, 0) / (LARGE - SMALL), 1.0)
    return SHORT_PATIENCE + (LONG_PATIENCE - SHORT_PATIENCE) * grown**3


class Checkpoints:
    """A thread of its own with a connection of its own, from construction to ``close``."""

    def __init__(
        self, connection: apsw.Connection, writer: Writer, readers: Readers, verify: Callable[[], None]
    ) -> None:
        """``verify`` raises Unavailable where the files are not those that were opened: they stay as they are then."""
        self._connection = connection
        self._verify = verify
        self._writer = writer
        self._readers = readers
        self._page = int(pragma(connection, "page_size"))
        self._wake = threading.Event()
        self._closed = False
        self._running = threading.Lock()
        self._next_try = SMALL
        self._is_told = False
        """Whether the log says already that this one cannot be emptied."""
        self._thread = threading.Thread(target=self._run, name="hivelore-checkpoints", daemon=True)
        self._thread.start()

    def logged(self, pages: int) -> None:
        """The writer committed, and the log now holds so many pages."""
        if pages * self._page > self._next_try:
            self._wake.set()

    def empty(self) -> bool:
        """Empty the log now. False where a reader still needs it, after a short wait."""
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
        """What fails is tried again: until then the log grows, and nothing is lost."""
        is_told = False
        while not self._closed:
            self._wake.wait(EVERY)
            self._wake.clear()
            try:
                with suppress(apsw.Error, Unavailable), self._running:
                    self._keep_small()
                is_told = False
            except Exception as error:  # noqa: BLE001 - without this thread the log would grow for good
                if not is_told:
                    _LOG.error(
                        "The write-ahead log cannot be copied into the database, and it is tried again: %r", error
                    )
                is_told = True
        with self._running:
            close(self._connection, self._verify)

    def _keep_small(self) -> None:
        size = self._copy()
        if size <= self._next_try:
            self._next_try = max(SMALL, min(self._next_try, size + STEP))
            return
        if self._emptied(patience(size)):
            self._next_try, self._is_told = SMALL, False
            return
        self._next_try = size + STEP
        if size > LARGE and not self._is_told:
            self._is_told = True
            _LOG.warning(
                "The write-ahead log has %d MB and cannot be emptied: something has been reading the database for more "
                "than %d seconds. It is emptied once that ends.",
                size // 1_000_000,
                LONG_PATIENCE,
            )

    def _copy(self) -> int:
        """Copies what no reader keeps from being copied; returns the size of the log in bytes."""
        self._verify()
        pages, _ = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return pages * self._page

    def _emptied(self, longest: float) -> bool:
        with self._writer.resting(), self._readers.held(longest) as is_idle:
            if not is_idle:
                return False
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False  # another process reads the file
        return True
