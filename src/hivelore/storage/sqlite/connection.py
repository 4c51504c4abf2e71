"""Opening SQLite, running scripts, and saying its errors in our words."""

# apsw's types name a Buffer that Python 3.11 does not have: what it answers is typed here, once.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

from hivelore.errors import Broken, Conflict, Expired, HiveloreError, Invalid, Unavailable
from hivelore.health.model import Cause

BUSY_TIMEOUT_MS = 5_000
APPLICATION_ID = 0x48564C52
"""'HVLR' in the file header: tells our databases from everybody else's."""

OVER = "This transaction is over: it was ended, or the disk failed. Nothing of it was stored."


def connect(path: Path, *, read_only: bool = False, create: bool = True, vfs: str | None = None) -> apsw.Connection:
    """A connection that waits for locks from its first statement on. ``create``: make the file where there is none."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    flags |= apsw.SQLITE_OPEN_CREATE if create and not read_only else 0
    connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOMUTEX, vfs=vfs)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Else a statement is planned anew for every new value that a partial index or the statistics could care about.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        run_script(connection, "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA trusted_schema = OFF;")
        # The file is not mapped into memory: SQLite lets go of the whole mapping whenever another connection has
        # committed, and a recall that comes next takes twice as long.
    except apsw.Error:
        connection.close()
        raise
    return connection


def rows(connection: apsw.Connection, sql: str, params: Mapping[str, Any] | None = None) -> Iterator[tuple[Any, ...]]:
    """The rows one statement answers, as they come. Nothing happens before the first is asked for."""
    try:
        yield from connection.execute(sql, params)
    except apsw.Error as error:
        raise translated(error) from error


def all_rows(connection: apsw.Connection, sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The same at once."""
    try:
        return connection.execute(sql, params).fetchall()
    except apsw.Error as error:
        raise translated(error) from error


def pragma(connection: apsw.Connection, name: str) -> Any:
    return connection.pragma(name)


def run_script(connection: apsw.Connection, script: str) -> None:
    """Run every statement of a script: a statement that answers rows would else end it silently."""
    for _ in connection.execute(script):
        pass


def close(connection: apsw.Connection, verify: Callable[[], None]) -> None:
    """Close what may be the last connection, which copies the log into the database and removes it; both stay as they
    are where ``verify`` raises Unavailable, since they are not those that were opened."""
    try:
        verify()
    except Unavailable:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()


@contextmanager
def our_errors() -> Generator[None]:
    """Turn what SQLite raises into our family."""
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
                "The disk is full: nothing of this was stored. Free some space and try again.", cause=Cause.DISK_FULL
            )
        case apsw.IOError():
            # A commit whose sync failed is not there, but may come back, whole, if the process dies right then.
            return Unavailable(
                f"The disk refused to read or write ({error}). Look for what you wrote before trying again.",
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
                f"What was read of the database is damaged or no database at all ({error}). Run 'hivelore doctor': it "
                "tells a passing error of the disk from damage that needs a backup.",
                cause=Cause.DAMAGED,
            )
        case apsw.InterruptError():
            return Expired("The call took longer than its deadline. Narrow the question or try again later.")
        case apsw.CursorClosedError() | apsw.ConnectionClosedError():
            return Unavailable(OVER)
        case apsw.ConstraintError():
            return Conflict(f"Another one has this id, name, path or external id already ({error}).")
        case apsw.TooBigError():
            return Invalid("The text is larger than the database can keep. Split it.")
        case _:
            return Broken(f"The database answered with an unexpected error ({error}).")
