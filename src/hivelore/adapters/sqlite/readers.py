"""The connections that read a SQLite file, each lent for one snapshot."""

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hivelore.adapters.sqlite.connection import close, connect, our_errors, rows, run_script
from hivelore.adapters.sqlite.view import SQL, SqliteView
from hivelore.adapters.unwatched import Unwatched
from hivelore.errors import Expired, HiveloreError, Unavailable
from hivelore.ports import Clock, StoreWatch, View

_PROGRESS_STEPS = 5_000
"""Virtual machine steps between two looks at the deadline: well under a millisecond."""


class Readers:
    def __init__(
        self,
        path: Path,
        namespace: int,
        clock: Clock,
        count: int,
        *,
        vfs: str | None = None,
        watch: StoreWatch | None = None,
        verify: Callable[[], None] = lambda: None,
    ) -> None:
        """``verify`` raises Unavailable where the files are not those that were opened."""
        self._watch = watch or Unwatched()
        self._verify = verify
        self._path = path
        self._namespace = namespace
        self._clock = clock
        self._count = count
        self._vfs = vfs
        self._closed = threading.Event()
        self._ended = False
        self._idle: queue.LifoQueue[apsw.Connection | None] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(None)

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Generator[View]:
        try:
            with our_errors():
                connection = self._take(deadline)
                try:
                    self._mind(connection, deadline)
                    run_script(connection, "BEGIN")
                    # The first statement that reads is what fixes the snapshot.
                    list(rows(connection, SQL["last_change"]))
                    yield SqliteView(connection, self._namespace)
                finally:
                    self._idle.put(_rested(connection))
        except HiveloreError as error:
            self._watch.store_failed(error, writing=False)
            raise
        self._watch.read_done()

    def _take(self, deadline: float | None) -> apsw.Connection:
        try:
            wait = None if deadline is None else max(deadline - self._clock.monotonic(), 0.001)
            connection = self._idle.get(timeout=wait)
        except queue.Empty:
            raise Expired("All readers stayed busy until the deadline. Try again.") from None
        if self._closed.is_set():
            self._idle.put(connection)
            raise Unavailable("The store is closed.")
        if connection is not None:
            return connection
        try:
            self._verify()
            connection = connect(self._path, create=False, vfs=self._vfs)
            run_script(connection, "PRAGMA query_only = ON")
        except (apsw.Error, HiveloreError):
            self._idle.put(None)
            raise
        return connection

    def _mind(self, connection: apsw.Connection, deadline: float | None) -> None:
        if deadline is None:
            return
        if self._clock.monotonic() > deadline:
            raise Expired("The deadline had passed before the call began.")
        connection.set_progress_handler(lambda: self._clock.monotonic() > deadline, _PROGRESS_STEPS)

    def refuse(self) -> None:
        """Let nobody begin any more, whoever waits for a connection included."""
        self._closed.set()

    def close(self) -> None:
        """Wait for whoever reads. Closing twice is fine."""
        self.refuse()
        if self._ended:
            return
        self._ended = True
        for _ in range(self._count):
            connection = self._idle.get()
            if connection is not None:
                close(connection, self._verify)
        self._idle.put(None)  # wakes whoever waits for a reader, one after the other


def _rested(connection: apsw.Connection) -> apsw.Connection | None:
    """A reader without its snapshot; None where somebody still walks through it, which only closing ends, or where the
    disk does not let go of it."""
    connection.set_progress_handler(None)
    with suppress(apsw.Error):
        if connection.in_transaction:
            run_script(connection, "ROLLBACK")
        if connection.txn_state() == apsw.SQLITE_TXN_NONE:
            return connection
    with suppress(apsw.Error):
        connection.close()
    return None
