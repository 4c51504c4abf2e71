"""The SQLite store: one file, one writer, and many readers, each on its own snapshot.

The store comes first, then its parts: the pool of readers, the writer thread, the checkpoints of the write-ahead log,
and the identity of the files.
"""

# The types of apsw use a Buffer that Python 3.11 does not have, so its results are unknown to pyright.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import logging
import os
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import apsw

from hivelore.core.clock import Clock
from hivelore.core.ids import uuid7
from hivelore.errors import Broken, Conflict, Expired, HiveloreError, NotFound, Unavailable
from hivelore.health.model import Cause
from hivelore.local import private_files
from hivelore.local.protection import database_files
from hivelore.search.model import Visibility
from hivelore.storage.null_objects import NullWatch
from hivelore.storage.ports import StoreWatch, Transaction, View
from hivelore.storage.refusals import database_missing, database_replaced
from hivelore.storage.sqlite import migrations
from hivelore.storage.sqlite.connection import (
    BUSY_TIMEOUT_MS,
    SQL,
    SqliteTransaction,
    SqliteView,
    close,
    connect,
    our_errors,
    pragma,
    rows,
    run_script,
    translated,
)

T = TypeVar("T")

NAMESPACE = 1
_LOG = logging.getLogger("hivelore")


class SqliteStore:
    """Implements ``storage.ports.MemoryStore`` on a file.

    ``durable``: acknowledge a write after it is on disk (synchronous FULL); otherwise a power cut may lose the last
    writes, but never the integrity. ``may_create``: create a missing database instead of raising Broken. ``vfs`` names
    an SQLite VFS, for fault injection in tests.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        readers: int = 8,
        durable: bool = True,
        may_create: bool = True,
        watch: StoreWatch | None = None,
        vfs: str | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._vfs = vfs
        self._watch = watch or NullWatch()
        self._identity: Identity | None = None
        writer, checkpointer = _open(path, durable, may_create, vfs)
        self._writer = Writer(writer, NAMESPACE, clock, self._verify_files)
        self._readers = Readers(path, NAMESPACE, clock, readers, vfs=vfs, watch=self._watch, verify=self._verify_files)
        self._closed = threading.Event()
        self._checkpoints = Checkpoints(checkpointer, self._writer, self._readers, self._verify_files)
        self._writer.on_commit(self._checkpoints.logged)
        try:
            self.write(self._first_facts)
            self._identity = Identity(path, NAMESPACE, vfs)
        except HiveloreError:
            self.close()
            raise

    def _first_facts(self, tx: Transaction) -> None:
        if tx.setting("incarnation") is None:
            tx.set_setting("incarnation", uuid7(self._clock.now()))

    @property
    def name(self) -> str:
        return f"sqlite {apsw.sqlite_lib_version()}"

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def row_level_security(self) -> bool | None:
        return None

    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> AbstractContextManager[View]:
        del sees  # SQLite has no row-level security: only the filters apply.
        return self._readers.snapshot(deadline)

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        try:
            result = self._writer.submit(work, deadline).result()
        except HiveloreError as error:
            self._watch.store_failed(error, writing=True)
            raise
        self._watch.write_done()
        return result

    def verify(self) -> None:
        if self._identity is not None and not self._closed.is_set():
            self._identity.verify_content()

    def _verify_files(self) -> None:
        if self._identity is not None:
            self._identity.verify_files()

    def check(self) -> Sequence[str]:
        # On a new connection: FTS5 would trust the index structure cached by an earlier snapshot of the connection.
        with our_errors():
            self._verify_files()
            connection = connect(self._path, create=False, vfs=self._vfs)
            try:
                return [row[0] for row in rows(connection, "PRAGMA integrity_check") if row[0] != "ok"]
            finally:
                connection.close()

    def purge_log(self) -> bool:
        """Empties the write-ahead log: SQLite overwrites deleted data in the file, but not in the log."""
        return self._checkpoints.empty()

    def analyze(self) -> None:
        """Does nothing: statistics for large stores ship with the schema."""

    def vacuum(self) -> None:
        with our_errors(), self._writer.paused():
            if self._closed.is_set():
                raise Unavailable("The store is closed.")
            self._verify_files()
            connection = connect(self._path, create=False, vfs=self._vfs)
            try:
                run_script(connection, "PRAGMA temp_store = FILE; PRAGMA secure_delete = ON; VACUUM;")
            finally:
                connection.close()
        self.purge_log()

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._readers.refuse()
        self._closed.set()
        if self._identity is not None:
            with suppress(HiveloreError):  # The result decides whether the log is kept.
                self._identity.verify_content()
        self._checkpoints.close()
        self._writer.close()
        self._readers.close()
        if self._identity is not None:
            self._identity.set_aside()


class TemporarySqliteStore(SqliteStore):
    """A store in a private temporary folder, which is deleted when the store is closed or the process exits."""

    def __init__(self, *, clock: Clock, watch: StoreWatch | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="hivelore-", ignore_cleanup_errors=True)
        super().__init__(Path(self._folder.name) / "hivelore.db", clock=clock, durable=False, watch=watch)

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


class SqliteSource:
    """Implements ``storage.ports.Snapshots`` on a file that others may be writing to. It never changes the file."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        """Raises NotFound if the file does not exist, Conflict for a database of an older version, and Broken for
        one of a newer version or of another program."""
        if not path.is_file():
            raise NotFound(f"There is no database {path}.")
        with our_errors():
            connection = connect(path)
            try:
                if migrations.missing(connection, migrations.shipped()):
                    raise Conflict(
                        "This database is of an older version. Open it with a service of this version first: "
                        "'hivelore stop', then 'hivelore start'."
                    )
            finally:
                connection.close()
        self._readers = Readers(path, NAMESPACE, clock, 1)

    @property
    def name(self) -> str:
        return f"sqlite {apsw.sqlite_lib_version()}"

    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> AbstractContextManager[View]:
        del sees
        return self._readers.snapshot(deadline)

    def close(self) -> None:
        self._readers.close()


def _make_private(path: Path) -> None:
    """Makes the file private before SQLite opens it: SQLite gives its log files the same permissions."""
    file, *companions = database_files(path)
    try:
        os.close(private_files.create(file))
    except OSError:  # The file exists, or SQLite will report the problem.
        for each in (file, *companions):
            private_files.tighten(each)


def _open(path: Path, durable: bool, may_create: bool, vfs: str | None) -> tuple[apsw.Connection, apsw.Connection]:
    """Migrates the file; returns the connections of the writer and of the checkpoints."""
    if not may_create and not path.exists():
        raise database_missing(f"There is no database {path}")
    opened: list[apsw.Connection] = []
    try:
        with our_errors():
            _make_private(path)
            opened.append(writer := connect(path, create=may_create, vfs=vfs))
            if not may_create and len(migrations.missing(writer, shipped := migrations.shipped())) == len(shipped):
                raise database_missing(f"The database {path} is empty")
            run_script(writer, f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}; PRAGMA foreign_keys = OFF;")
            run_script(writer, "PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON; PRAGMA temp_store = FILE;")
            # Migrate before setting the journal mode, which writes: a refused file stays unchanged.
            migrations.migrate(writer, migrations.shipped())
            if list(rows(writer, "PRAGMA journal_mode = WAL")) != [("wal",)]:
                raise Unavailable("Its folder does not support SQLite, as on a network drive. Choose a local folder.")
            opened.append(checkpointer := connect(path, vfs=vfs))
            # A checkpoint that waits for readers would block the writer, so it fails at once instead.
            checkpointer.set_busy_timeout(0)
    except HiveloreError:
        for connection in opened:
            connection.close()
        raise
    return writer, checkpointer


_PROGRESS_STEPS = 5_000
"""Virtual machine steps between two checks of the deadline; they take well under a millisecond."""


class Readers:
    """A pool of connections that read the file, each lent for one snapshot."""

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
    """A thread that runs units of work in groups that share a commit, and answers each once it is durable.

    It owns the writing connection. Every unit runs in a SAVEPOINT of the group's transaction. ``verify`` raises
    Unavailable if the files are not those that were opened: then nothing is written or acknowledged.
    """

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


CHECKPOINT_EVERY = 0.5
"""Seconds between two passive checkpoints."""
SMALL_LOG = 24 * 1024 * 1024
"""Up to this size the log may grow, because emptying it pauses the writer."""
LARGE_LOG = 64 * 1024 * 1024
"""From this size on, the writer pauses for as long as a read may last."""
LOG_STEP = 4 * 1024 * 1024
"""After a failed attempt, the log may grow by this much before the next one."""
SHORT_PATIENCE = 0.25
LONG_PATIENCE = 11.0
"""Seconds that a read gets from its start: slightly more than the deadline of an interactive call."""


def patience(size: int) -> float:
    """Returns how old a read may become, in seconds, before it is no longer waited for; ``size`` is that of the log."""
    grown = min(max(size - SMALL_LOG, 0) / (LARGE_LOG - SMALL_LOG), 1.0)
    return SHORT_PATIENCE + (LONG_PATIENCE - SHORT_PATIENCE) * grown**3


class Checkpoints:
    """A thread that copies the write-ahead log into the database file and keeps the log small.

    A passive checkpoint runs concurrently with readers and writers, but SQLite reuses the log from its start only when
    no reader needs it. Under steady reads that never happens. So a log that has grown is emptied: the writer pauses
    between two commits, new snapshots wait, and running snapshots get a bounded time to end.
    """

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
        self._next_try = SMALL_LOG
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
            self._wake.wait(CHECKPOINT_EVERY)
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
            self._next_try = max(SMALL_LOG, min(self._next_try, size + LOG_STEP))
            return
        if self._emptied(patience(size)):
            self._next_try, self._has_warned = SMALL_LOG, False
            return
        self._next_try = size + LOG_STEP
        if size > LARGE_LOG and not self._has_warned:
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


_Inode = tuple[int, int]
_Content = tuple[str | None, int]
"""The incarnation and the number of the newest change."""
REPLACED_SUFFIX = ".replaced"
"""Suffix for the log files of a database that was replaced while the store was open."""


class Identity:
    """Detects that the files of an open database were removed, replaced or restored. Create it after the first write,
    when the log of SQLite exists."""

    def __init__(self, path: Path, namespace: int, vfs: str | None = None) -> None:
        self._path, self._namespace, self._vfs = path, namespace, vfs
        log, index = database_files(path)[1:3]
        self._opened = _found(path, log)
        self._log_files = _found(log, index)
        self._incarnation, self._newest = self._content()
        self._foreign_content: _Content | None = None
        self._lock = threading.Lock()

    def verify_files(self) -> None:
        """Compares the inodes of the files, in microseconds. Raises Unavailable if they differ."""
        if self._foreign_content is not None or any(_inode(name) != opened for name, opened in self._opened.items()):
            raise database_replaced()

    def verify_content(self) -> None:
        """Verifies the files and their content, since a restore may write into the same file. The incarnation must be
        the same, and the number of the newest change must not fall. A mismatch is final: caches may already mix the old
        and the new content."""
        self.verify_files()
        with self._lock:  # Otherwise a newer value read by another thread could be compared with an older one.
            content = incarnation, newest = self._content()
            if incarnation != self._incarnation or newest < self._newest:
                self._foreign_content = content
                raise database_replaced()
            self._newest = newest

    def set_aside(self) -> None:
        """Renames the log of a replaced database after it was closed: SQLite would copy that log into the new file. The
        log stays if SQLite itself restored the database, because it may contain the new content."""
        try:
            if _inode(self._path) == self._opened[self._path] and not self._holds_other():
                return
            for file, opened in self._log_files.items():
                if _inode(file) == opened:
                    aside = file.replace(file.with_name(f"{file.name}{REPLACED_SUFFIX}"))
                    _LOG.warning("The database was replaced. %s of the old one was renamed to %s.", file, aside)
        except (HiveloreError, OSError) as error:
            _LOG.error(
                "The database was replaced, and the log files of the old one could not be renamed (%s). Remove %s "
                "before you start Hivelore again.",
                error,
                " and ".join(map(str, self._log_files)),
            )

    def _holds_other(self) -> bool:
        """Returns True if the foreign content is in the file itself, ignoring the log."""
        return self._foreign_content is not None and self._content(alone=True) == self._foreign_content

    def _content(self, *, alone: bool = False) -> _Content:
        """Reads the content on a fresh connection. ``alone``: ignore the log."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX | apsw.SQLITE_OPEN_URI
        name = f"{self._path.absolute().as_uri()}{'?immutable=1' if alone else ''}"
        try:
            with our_errors():
                connection = apsw.Connection(name, flags=flags, vfs=self._vfs)
                try:
                    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                    return next(iter(connection.execute(SQL["identity"], {"namespace": self._namespace})))
                finally:
                    connection.close()
        except Broken as error:
            if error.cause is not None:
                raise
            return None, 0  # Our tables are missing: a database of another program.


def _found(*files: Path) -> dict[Path, _Inode]:
    return {file: found for file in files if (found := _inode(file)) is not None}


def _inode(path: Path) -> _Inode | None:
    """Returns None if the file does not exist."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"The files of the database cannot be read ({error.strerror}).", cause=Cause.WRITES) from None
    return found.st_dev, found.st_ino
