"""Reads the tables of a database of Agent Swarm within bounds, and changes nothing in it.

The file may be hostile, so only ordinary tables are read, and no value is loaded before its size is known.
"""

# The types of apsw use a Buffer that Python 3.11 does not have, so its results are unknown to pyright.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import os
import stat
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from hivelore.errors import Broken, HiveloreError, Invalid, TooLarge, Unavailable
from hivelore.transfer.agent_swarm.detection import read_header
from hivelore.transfer.agent_swarm.model import COLUMNS, FIELD_BYTES, Cell, Row, Table, TableName, Unreadable

MAX_ROWS = 5_000
"""Most rows of a table."""
MAX_BYTES = 128 * 1_048_576
"""Most bytes of all values together."""
BUSY_TIMEOUT_MS = 5_000
_WAL_VERSION = 2
_WRITE_VERSION_AT = 18
"""Place in the header of the format version for writers."""
_HEAP_BYTES = 64 * 1_048_576
"""Most memory that SQLite takes for a file. The declarations of many wide tables would take more."""
_VALUE_BYTES = 1_000_000
"""Most bytes of any value that SQLite itself loads, such as the declaration of a table."""
_STEPS = 10_000
_MAX_STEPS = 20_000_000
"""Most steps of SQLite's virtual machine for a file, and after how many they are counted."""
_TABLE = "table"
_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}


def read_tables(path: Path) -> Mapping[TableName, Table]:
    """Returns the tables that the file has. Raises Invalid if it has none of them or cannot be read, TooLarge beyond
    the bounds, Unavailable while another program locks it, and Broken for a damaged file."""
    resolved = path.resolve()
    try:
        with _errors(path), _opened(resolved) as connection:
            # One read transaction: the tables belong together.
            connection.execute("BEGIN")
            tables = _read_all(connection)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="file") from None
    if not tables:
        names = ", ".join(TableName)
        raise Invalid(
            f"{path} is a SQLite database, but not one of Agent Swarm: it has none of the tables {names}.", field="file"
        )
    return tables


def _read_all(connection: apsw.Connection) -> Mapping[TableName, Table]:
    codec = _CODECS[str(connection.pragma("encoding"))]
    found: dict[TableName, Table] = {}
    left = MAX_BYTES
    for name in TableName:
        kind = _kind_of(connection, name)
        if kind is None:
            continue
        if kind != _TABLE:
            found[name] = Table((), problem=f"{name} is a {kind}, not an ordinary table. It is not read.")
            continue
        table, size = _read_table(connection, name, codec, left)
        found[name] = table
        left -= size
    return found


def _kind_of(connection: apsw.Connection, name: TableName) -> str | None:
    """Returns what has the name of a table; None: nothing. This looks up one name, because a list of all tables
    makes SQLite resolve every view."""
    query = "SELECT type, rootpage FROM main.sqlite_schema WHERE lower(name) = ? AND type IN ('table', 'view')"
    row = connection.execute(query, (str(name),)).fetchone()
    if row is None:
        return None
    kind, root = row
    return "virtual table" if kind == _TABLE and not root else str(kind)


def _read_table(connection: apsw.Connection, name: TableName, codec: str, left: int) -> tuple[Table, int]:
    """Returns a table and the bytes of its values. ``left``: most bytes."""
    known = {
        str(column).lower()
        for _, column, _, _, _, _, hidden in connection.execute(f"PRAGMA table_xinfo({name})")
        if not hidden  # Others are computed when they are read.
    }
    columns = [one for one in COLUMNS[name] if one.lower() in known]
    if not columns:
        return Table((), problem=f"The table {name} has none of the expected columns."), 0
    fields = ", ".join(_FIELD.format(column=one, most=FIELD_BYTES) for one in columns)
    rows: list[Row] = []
    size = 0
    for values in connection.execute(f"SELECT {fields} FROM main.{name} LIMIT {MAX_ROWS + 1}"):
        if len(rows) == MAX_ROWS:
            raise TooLarge(f"The table {name} has more than {MAX_ROWS:,} rows. Delete those that you do not need.")
        cells: dict[str, Cell] = {}
        for place, column in enumerate(columns):
            kind, length, value = values[3 * place : 3 * place + 3]
            size += len(value) if isinstance(value, bytes) else 0
            cells[column] = _cell(str(kind), length, value, codec)
        if size > left:
            raise TooLarge(f"The file has more than {MAX_BYTES // 1_048_576} MB of agents, scripts and configuration.")
        rows.append(cells)
    return Table(tuple(rows)), size


_FIELD = """typeof("{column}"), octet_length("{column}"),
CASE typeof("{column}")
WHEN 'text' THEN CASE WHEN octet_length("{column}") <= {most} THEN CAST("{column}" AS BLOB) END
WHEN 'integer' THEN "{column}"
END"""
"""Type, bytes and value of a column: a text as its bytes, because Python could not decode every text."""


def _cell(kind: str, length: int | None, value: Any, codec: str) -> Cell:
    if kind == "null" or (kind == "integer" and isinstance(value, int)):
        return value
    if kind != "text":
        return Unreadable("is not a text")
    if value is None:
        return Unreadable(f"has {length or 0:,} bytes; at most {FIELD_BYTES:,} are read")
    try:
        text = bytes(value).decode(codec)
    except UnicodeDecodeError:
        return Unreadable("is not valid Unicode")
    return Unreadable("has a NUL character") if "\0" in text else text


@contextmanager
def _opened(path: Path) -> Generator[apsw.Connection]:
    """Opens a database so that no statement, and nothing in its schema, can write or load anything."""
    _check_files_beside(path)
    header = read_header(path)
    log = path.with_name(f"{path.name}-wal")
    is_write_ahead = len(header) > _WRITE_VERSION_AT and header[_WRITE_VERSION_AT] == _WAL_VERSION
    # Without a log no other program uses the file. SQLite would make the log and its index beside the file.
    is_closed = is_write_ahead and not log.exists()
    uri = f"{path.as_uri()}?mode=ro{'&immutable=1' if is_closed else ''}"
    with _limited_heap(), closing(_connect(uri)) as connection:
        yield connection
    if is_closed and log.exists():
        raise Unavailable(f"Another program began to write to {path}. Try again.")


def _check_files_beside(path: Path) -> None:
    """Raises Invalid if a file that SQLite would open, too, is a pipe, a link or a device."""
    for suffix in ("-journal", "-wal", "-shm"):
        beside = path.with_name(f"{path.name}{suffix}")
        if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):
            raise Invalid(f"{beside} is not an ordinary file. Remove it, or copy the database.", field="file")


@contextmanager
def _limited_heap() -> Generator[None]:
    """Limits the memory that SQLite takes, for all databases of the process together."""
    before = apsw.hard_heap_limit(apsw.memory_used() + _HEAP_BYTES)
    try:
        yield
    finally:
        apsw.hard_heap_limit(before)


def _connect(uri: str) -> apsw.Connection:
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.drop_modules(None)  # The schema can declare a virtual table as another one.
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        steps = count(_STEPS, _STEPS)
        connection.set_progress_handler(lambda: next(steps) > _MAX_STEPS, _STEPS)
        for statement in ("PRAGMA query_only = ON", "PRAGMA cell_size_check = ON", "PRAGMA mmap_size = 0"):
            connection.execute(statement).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _errors(path: Path) -> Generator[None]:
    """Translates errors of SQLite. None of them contains a value."""
    try:
        yield
    except HiveloreError:
        raise
    except (apsw.NoMemError, MemoryError):
        megabytes = _HEAP_BYTES // 1_048_576
        raise TooLarge(f"Reading {path} needs more than {megabytes} MB of memory.", field="file") from None
    except apsw.Error as error:
        raise _translated(error, path) from None


def _translated(error: apsw.Error, path: Path) -> HiveloreError:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable(f"{path} is locked by another program. Stop that, or try again.")
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return Broken(f"{path} is damaged, or it is encrypted. Use a copy that SQLite can read.")
        case apsw.InterruptError():
            return TooLarge(f"Reading {path} takes too many steps.", field="file")
        case apsw.TooBigError():
            return TooLarge(f"{path} has a value or a table declaration that is too large to be read.", field="file")
        case apsw.ReadOnlyError() | apsw.CantOpenError():
            return Invalid(
                f"{path} cannot be read as it was left. Copy it to a folder that you may write to, together with the "
                "files beside it that end in -wal or -journal; open and close it once with the program that wrote it.",
                field="file",
            )
        case _:
            return Invalid(f"{path} cannot be read ({type(error).__name__}).", field="file")
