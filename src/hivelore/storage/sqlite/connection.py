"""SQLite connections: opening them, running statements, translating errors, and the views and transactions on them."""

# The types of apsw use a Buffer that Python 3.11 does not have, so its results are unknown to pyright.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import orjson
import sqlite_vec
from numpy.typing import NDArray

from hivelore.core.vectors import to_blob
from hivelore.errors import Broken, Conflict, Expired, HiveloreError, Invalid, Unavailable
from hivelore.health.model import Cause
from hivelore.indexing.model import Change, ChangeCursor, ChangeKind, Vector
from hivelore.memories.stored import DocumentKey
from hivelore.storage.sql.statements import Dialect, Params
from hivelore.storage.sql.view import SqlTransaction, SqlView, load_statements

BUSY_TIMEOUT_MS = 5_000
APPLICATION_ID = 0x48564C52
"""'HVLR' in the file header identifies databases of Hivelore."""

OVER = "This transaction has ended, or the disk failed. Nothing of it was stored."


def connect(path: Path, *, read_only: bool = False, create: bool = True, vfs: str | None = None) -> apsw.Connection:
    """Opens a connection that waits for locks from its first statement on. ``create``: create a missing file."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    flags |= apsw.SQLITE_OPEN_CREATE if create and not read_only else 0
    connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOMUTEX, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Without this, a statement is replanned for every value that a partial index or the statistics depend on.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        run_script(connection, "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA trusted_schema = OFF;")
        # The file is not memory-mapped: SQLite drops the whole mapping whenever another connection commits, and the
        # next recall takes twice as long.
    except apsw.Error:
        connection.close()
        raise
    return connection


def rows(connection: apsw.Connection, sql: str, params: Mapping[str, Any] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of one statement. The statement runs when the first row is requested."""
    try:
        yield from connection.execute(sql, params)
    except apsw.Error as error:
        raise translated(error) from error


def pragma(connection: apsw.Connection, name: str) -> Any:
    return connection.pragma(name)


def run_script(connection: apsw.Connection, script: str) -> None:
    """Runs every statement of a script. All rows are read: an unread row would silently end the script."""
    for _ in connection.execute(script):
        pass


def close(connection: apsw.Connection, verify: Callable[[], None]) -> None:
    """Closes a connection. The last one copies the log into the database and removes it, unless ``verify`` raises
    Unavailable because the files are not those that were opened."""
    try:
        verify()
    except Unavailable:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


@contextmanager
def our_errors() -> Generator[None]:
    """Translates errors of SQLite into ``hivelore.errors``."""
    try:
        yield
    except HiveloreError:
        raise
    except apsw.Error as error:
        raise translated(error) from error


def translated(error: apsw.Error) -> HiveloreError:
    match error:
        case apsw.FullError():
            return Unavailable(
                "The disk is full, and nothing was stored. Free some space and try again.", cause=Cause.DISK_FULL
            )
        case apsw.IOError():
            # A commit whose sync failed is invisible, but may reappear as a whole if the process dies right then.
            return Unavailable(
                f"The disk failed to read or write ({error}). Check whether your change was stored before you retry.",
                cause=Cause.WRITES,
            )
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("The database is locked by another program. Close it and try again.", cause=Cause.WRITES)
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable(
                "The database cannot be written: check the permissions of its folder and file.", cause=Cause.WRITES
            )
        case apsw.CantOpenError():
            return Unavailable(
                f"The database cannot be opened ({error}): its folder must exist and be writable.", cause=Cause.WRITES
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return Broken(
                f"The database is damaged, or the file is not a database ({error}). Run 'hivelore doctor': it "
                "distinguishes a temporary disk error from damage that needs a backup.",
                cause=Cause.DAMAGED,
            )
        case apsw.InterruptError():
            return Expired("The call exceeded its deadline. Narrow the query or try again later.")
        case apsw.CursorClosedError() | apsw.ConnectionClosedError():
            return Unavailable(OVER)
        case apsw.ConstraintError():
            return Conflict(f"This id, name, path or external id is already in use ({error}).")
        case apsw.TooBigError():
            return Invalid("The text is too large for the database. Split it.")
        case _:
            return Broken(f"The database answered with an unexpected error ({error}).")


SQL = load_statements(
    Dialect(
        package="hivelore.storage.sqlite",
        any="IN (SELECT value FROM json_each(:{name}))",
        same="{column} = :{name}",
        given="",
        join="LEFT JOIN {table} {name} ON {name}.namespace = :namespace AND {name}.document = m.key",
        places={
            "vectors": "vector",
            "now": ":now",
            "greatest": "MAX",
            "ours": "",
            "claims_at_once": "1",
            "skip_locked": "",
        },
    )
)

PAGE = 1_000
"""Changes in a batch."""


class SqliteView(SqlView):
    """Implements ``storage.ports.View`` on a connection inside a transaction."""

    SQL = SQL
    dialect = "sqlite"

    def __init__(self, connection: apsw.Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace

    @property
    def namespace(self) -> int:
        return self._namespace

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        if not self._connection.in_transaction:
            raise Unavailable(OVER)
        try:
            return self._connection.execute(sql, {"namespace": self._namespace, **(params or {})}).fetchall()
        except apsw.Error as error:
            raise translated(error) from error

    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        if not self._connection.in_transaction:
            raise Unavailable(OVER)
        return rows(self._connection, sql, {"namespace": self._namespace, **(params or {})})

    def array(self, keys: Collection[int] | Collection[str]) -> str:
        return orjson.dumps(list(keys)).decode()

    def vector(self, vector: Vector) -> bytes:
        return to_blob(vector)

    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)

    def change_cursor(self) -> ChangeCursor:
        return ChangeCursor(self.rows(SQL["last_change"])[0][0])

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        after = since.upto
        while found := self.rows(SQL["changes"], {"after": after, "limit": PAGE}):
            after = found[-1][0]
            yield ChangeCursor(after), [Change(seq, ChangeKind(kind), DocumentKey(key)) for seq, kind, key in found]


class SqliteTransaction(SqliteView, SqlTransaction):
    """Implements ``storage.ports.Transaction``; the writer begins and ends the transaction."""

    def count(self, name: str, params: Params) -> int:
        self.rows(self.SQL[name], params)
        return self._connection.changes()

    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        for params in each:
            self.rows(sql, params)

    def claim(self, what: bytes) -> None:
        """Does nothing: the writer runs one transaction at a time."""

    def number_from(self, table: str, last: int) -> None:
        """Does nothing: AUTOINCREMENT does it."""

    def savepoint(self) -> AbstractContextManager[object]:
        return self._connection

    def total_changes(self) -> int:
        """Returns the number of rows written through this connection since it was opened."""
        return self._connection.total_changes()
