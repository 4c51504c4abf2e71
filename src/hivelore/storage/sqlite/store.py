"""The SQLite store: one file, one writer, and many readers, each on its own snapshot."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import apsw

from hivelore.core.clock import Clock
from hivelore.core.ids import uuid7
from hivelore.errors import Conflict, HiveloreError, NotFound, Unavailable
from hivelore.local import private_files
from hivelore.local.protection import database_files
from hivelore.search.model import Visibility
from hivelore.storage.null_objects import NullWatch
from hivelore.storage.ports import StoreWatch, Transaction, View
from hivelore.storage.refusals import database_missing
from hivelore.storage.sqlite import migrations
from hivelore.storage.sqlite.checkpoints import Checkpoints
from hivelore.storage.sqlite.connection import connect, our_errors, rows, run_script
from hivelore.storage.sqlite.identity import Identity
from hivelore.storage.sqlite.readers import Readers
from hivelore.storage.sqlite.writer import Writer

T = TypeVar("T")

NAMESPACE = 1


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
