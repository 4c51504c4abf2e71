"""The writer thread: it runs units of work in groups that share a commit, and answers each once it is durable."""

import queue
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import apsw

from hivelore.core.clock import Clock
from hivelore.errors import Expired, Unavailable
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite.connection import close, our_errors, run_script, translated
from hivelore.storage.sqlite.view import SqliteTransaction

GROUP_LIMIT = 256
LINGER = 0.001
"""Seconds a group waits for its next unit while it is smaller than the number of concurrent writers."""
LONGEST_WAIT = 0.01
"""Seconds a group may wait in total."""
_LOST = "The disk failed during a write, and nothing was stored. Try again."
"""Raised when SQLite has rolled back the transaction of the whole group."""


@dataclass(slots=True)
class _Unit:
    work: Callable[[Transaction], Any]
    deadline: float | None
    answer: Future[Any]
    result: Any = None


class Writer:
    """Owns the writing connection. Every unit runs in a SAVEPOINT of the group's transaction. ``verify`` raises
    Unavailable if the files are not those that were opened: then nothing is written or acknowledged."""

    def __init__(
        self, connection: apsw.Connection, namespace: int, clock: Clock, verify: Callable[[], None] = lambda: None
    ) -> None:
        self._connection = connection
        self._verify = verify
        self._transaction = SqliteTransaction(connection, namespace)
        self._clock = clock
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._turn = threading.Condition()
        self._is_committing = False
        self._pauses = 0
        self._at_once = 1
        """The number of recent concurrent writers: the size of the last group and the queue behind it."""
        self._thread = threading.Thread(target=self._run, name="hivelore-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Transaction], Any], deadline: float | None) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._closing:
            if self._closed:
                raise Unavailable("The store is closed.")
            self._queue.put(_Unit(work, deadline, answer))
        return answer

    def on_commit(self, listener: Callable[[int], object]) -> None:
        """Calls ``listener`` after each commit with the number of pages in the write-ahead log."""

        def committed(_connection: apsw.Connection, _database: str, pages: int) -> int:
            listener(pages)
            return apsw.SQLITE_OK

        self._connection.set_wal_hook(committed)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Pauses the writer between two transactions. A pause starts before the next group, however long the queue
        is."""
        with self._turn:
            self._pauses += 1
            while self._is_committing:
                self._turn.wait()
        try:
            yield
        finally:
            with self._turn:
                self._pauses -= 1
                self._turn.notify_all()

    @contextmanager
    def _committing(self) -> Generator[None]:
        with self._turn:
            while self._pauses:
                self._turn.wait()
            self._is_committing = True
        try:
            yield
        finally:
            with self._turn:
                self._is_committing = False
                self._turn.notify_all()

    def close(self) -> None:
        """Finishes the submitted units, then ends the thread and closes the connection."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                break
            group, ended = self._gather(first)
            while group:
                with self._committing():
                    group = self._commit(group)
            if ended:
                break
        close(self._connection, self._verify)

    def _gather(self, first: _Unit) -> tuple[list[_Unit], bool]:
        group = [first]
        until = self._clock.monotonic() + LONGEST_WAIT
        while len(group) < GROUP_LIMIT:
            lingers = len(group) < self._at_once and self._clock.monotonic() < until
            try:
                unit = self._queue.get(timeout=LINGER) if lingers else self._queue.get_nowait()
            except queue.Empty:
                break
            if unit is None:
                return group, True
            group.append(unit)
        return group, False

    def _commit(self, group: list[_Unit]) -> list[_Unit]:
        """Returns the units left for another commit: a transaction that exceeds the cache takes no more units."""
        done: list[_Unit] = []
        remaining = list(reversed(group))
        try:
            with our_errors():
                self._verify()
                run_script(self._connection, "BEGIN IMMEDIATE")
                spilled = self._spilled()
                while remaining and self._spilled() == spilled:
                    unit = remaining.pop()
                    if self._run_unit(unit):
                        done.append(unit)
                run_script(self._connection, "COMMIT")
                self._verify()
        except Exception as error:  # noqa: BLE001 - callers wait for an answer, and the thread must survive
            self._rollback()
            for unit in group:
                if not unit.answer.done():
                    unit.answer.set_exception(error)
            return []
        self._at_once = len(group) + self._queue.qsize()
        for unit in done:
            unit.answer.set_result(unit.result)
        remaining.reverse()
        return remaining

    def _spilled(self) -> int:
        """Returns how many pages were written before their commit because the cache was full."""
        return self._connection.status(apsw.SQLITE_DBSTATUS_CACHE_SPILL)[0]

    def _run_unit(self, unit: _Unit) -> bool:
        """Runs one unit; a failing unit is rolled back alone. Raises if the whole transaction is lost."""
        if unit.deadline is not None and self._clock.monotonic() > unit.deadline:
            unit.answer.set_exception(Expired("The write waited past its deadline, and nothing was stored."))
            return False
        run_script(self._connection, "SAVEPOINT unit")
        try:
            unit.result = unit.work(self._transaction)
            if not self._connection.in_transaction:
                raise Unavailable(_LOST)
        except BaseException as error:  # Any error belongs to the caller that waits for it.
            unit.answer.set_exception(translated(error) if isinstance(error, apsw.Error) else error)
            if not self._connection.in_transaction:
                raise Unavailable(_LOST) from error
            run_script(self._connection, "ROLLBACK TO unit; RELEASE unit")
            return False
        run_script(self._connection, "RELEASE unit")
        return True

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            with suppress(apsw.Error):  # The next group cannot begin inside this transaction and retries the rollback.
                run_script(self._connection, "ROLLBACK")
