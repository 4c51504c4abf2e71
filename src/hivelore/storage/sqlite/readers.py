"""A pool of connections that read a SQLite file, each lent for one snapshot."""

# The types of apsw use a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hivelore.core.clock import Clock
from hivelore.errors import Expired, HiveloreError, Unavailable
from hivelore.storage.null_objects import NullWatch
from hivelore.storage.ports import StoreWatch, View
from hivelore.storage.sqlite.connection import close, connect, run_script, translated
from hivelore.storage.sqlite.view import SQL, SqliteView

_PROGRESS_STEPS = 5_000
"""Virtual machine steps between two checks of the deadline; they take well under a millisecond."""


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
        """``verify`` raises Unavailable if the files are not those that were opened."""
        self._watch = watch or NullWatch()
        self._verify = verify
        self._path = path
        self._namespace = namespace
        self._clock = clock
        self._count = count
        self._vfs = vfs
        self._closed = False
        self._idle: list[apsw.Connection | None] = [None] * count
        lock = threading.Lock()
        self._free = threading.Condition(lock)
        self._all_idle = threading.Condition(lock)
        self._holds = 0
        self._began: list[float] = []
        """When each open snapshot began."""

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Generator[View]:
        try:
            connection = self._take(deadline)
            began = self._clock.monotonic()
            self._began.append(began)
            try:
                self._set_deadline(connection, deadline)
                connection.execute("BEGIN")
                # The first statement that reads fixes the snapshot.
                connection.execute(SQL["last_change"]).fetchall()
                yield SqliteView(connection, self._namespace)
            finally:
                reusable = _end_snapshot(connection)
                self._began.remove(began)
                self._give_back(reusable)
        except (HiveloreError, apsw.Error) as error:
            ours = translated(error) if isinstance(error, apsw.Error) else error
            self._watch.store_failed(ours, writing=False)
            if ours is error:
                raise
            raise ours from error
        self._watch.read_done()

    @contextmanager
    def held(self, longest: float) -> Generator[bool]:
        """Blocks new snapshots inside the context. Yields True once all running ones have ended; those older than
        ``longest`` seconds are not waited for."""
        with self._all_idle:
            self._holds += 1
            oldest = min(self._began, default=0.0)
            wait = max(oldest + longest - self._clock.monotonic(), 0.0)
            self._all_idle.wait_for(lambda: self._closed or self._is_idle(), wait)
            is_idle = self._is_idle()
        try:
            yield is_idle
        finally:
            with self._free:
                self._holds -= 1
                self._free.notify_all()

    def _is_idle(self) -> bool:
        return len(self._idle) == self._count

    def _take(self, deadline: float | None) -> apsw.Connection:
        wait = None if deadline is None else max(deadline - self._clock.monotonic(), 0.001)
        with self._free:
            if not self._free.wait_for(lambda: self._closed or (self._idle and not self._holds), wait):
                raise Expired("All readers stayed busy until the deadline. Try again.")
            if self._closed:
                raise Unavailable("The store is closed.")
            connection = self._idle.pop()
        if connection is not None:
            return connection
        try:
            self._verify()
            connection = connect(self._path, create=False, vfs=self._vfs)
            run_script(connection, "PRAGMA query_only = ON")
        except BaseException:
            self._give_back(None)
            raise
        return connection

    def _give_back(self, connection: apsw.Connection | None) -> None:
        with self._free:
            self._idle.append(connection)
            self._free.notify()
            if self._is_idle():
                self._all_idle.notify_all()

    def _set_deadline(self, connection: apsw.Connection, deadline: float | None) -> None:
        if deadline is None:
            return
        if self._clock.monotonic() > deadline:
            raise Expired("The deadline had passed before the call began.")
        connection.set_progress_handler(lambda: self._clock.monotonic() > deadline, _PROGRESS_STEPS)

    def refuse(self) -> None:
        """Refuses new snapshots, also for callers that wait for a connection."""
        with self._free:
            self._closed = True
            self._free.notify_all()
            self._all_idle.notify_all()

    def close(self) -> None:
        """Waits for running snapshots to end. Closing twice is allowed."""
        self.refuse()
        with self._all_idle:
            self._all_idle.wait_for(self._is_idle)
            connections = list(self._idle)
            self._idle[:] = [None] * self._count
        for connection in connections:
            if connection is not None:
                close(connection, self._verify)


def _end_snapshot(connection: apsw.Connection) -> apsw.Connection | None:
    """Ends the snapshot of a connection for its next use. Closes the connection and returns None if a caller still
    iterates over it, or if the disk fails."""
    connection.set_progress_handler(None)
    with suppress(apsw.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if connection.txn_state() == apsw.SQLITE_TXN_NONE:
            return connection
    with suppress(apsw.Error):
        connection.close()
    return None
