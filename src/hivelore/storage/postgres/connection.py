"""PostgreSQL connections: opening them, running statements, and translating errors."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, LiteralString, cast

import numpy as np
import psycopg
import psycopg_pool
from psycopg import errors, pq
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper

from hivelore.errors import Broken, Conflict, Expired, HiveloreError, Invalid, Unavailable
from hivelore.health.model import Cause
from hivelore.indexing.model import Vector

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]

CONNECT_TIMEOUT = 5
"""Seconds, unless the URL sets it."""
RECONNECTING = 5
"""Seconds that the pool retries with growing pauses. After that, the next caller restarts the attempts, so a server
that is back is found at once."""
ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""Detects a dead host within a minute."""
SESSION = (
    "SET client_min_messages = warning; SET jit = off; "
    "SET statement_timeout = '30min'; SET idle_in_transaction_session_timeout = '10min'; "
    "SELECT set_config('application_name', left('hivelore ' || current_schema(), 63), false) "
    "WHERE current_setting('application_name') = 'hivelore'"
)
"""Limits for calls without a deadline, and for transactions left open, which prevent vacuuming. The application name
shows administrators, and 'hivelore move', which schema a connection uses."""

OVER = "This transaction has ended, or the connection was lost. Nothing of it was stored."
CLOSED = "The store is closed."
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Conflicts with another transaction: the whole unit is run again."""

SERVER = "The database server"

_PLACEHOLDER = re.compile(r"(?<![:\w]):([a-z_][a-z_0-9]*)")
_VECTOR_HEAD = np.dtype(">i2")
_VECTOR_FLOAT = np.dtype(">f4")


class Packed(bytes):
    """A vector in pgvector's binary format: the dimension, two empty bytes, big-endian floats."""


def packed(vector: Vector) -> Packed:
    return Packed(np.array([len(vector), 0], _VECTOR_HEAD).tobytes() + vector.astype(_VECTOR_FLOAT).tobytes())


def unpacked(vectors: list[bytes]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Decodes vectors of one dimension into an array (n, dimension)."""
    together = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), -1)
    return np.ascontiguousarray(together[:, 4:]).view(_VECTOR_FLOAT).astype(np.float32)


class _PackedDumper(Dumper):
    """Sends vectors without a type; the server infers it from the column."""

    format = pq.Format.BINARY

    def dump(self, obj: Packed) -> Buffer:
        return obj


_ADAPTERS = AdaptersMap(psycopg.adapters)
_ADAPTERS.register_dumper(Packed, _PackedDumper)
# A single integer type gives every statement one plan, however large the numbers are.
_ADAPTERS.register_dumper(int, Int8BinaryDumper)


@lru_cache(maxsize=2_000)
def dialect(sql: str) -> bytes:
    """Converts a statement with ``:name`` parameters into the format of psycopg."""
    return _PLACEHOLDER.sub(r"%(\1)s", sql.replace("%", "%%")).encode()


def execute(connection: Connection, sql: str, params: Mapping[str, Any] | None = None) -> Cursor:
    """Runs one statement. Raises errors of psycopg."""
    return connection.execute(dialect(sql), params, binary=True)


def run_script(connection: Connection, script: str) -> str:
    """Runs all statements of a script of this package in one round trip. Returns the first value of the last
    statement's first row, or an empty text. Raises errors of psycopg."""
    cursor = connection.execute(cast(LiteralString, script))
    while cursor.nextset():
        pass
    row = None if cursor.description is None else cursor.fetchone()
    return "" if row is None else str(row[0])


_QUOTED = re.compile(r'".*"', re.DOTALL)
"""Quoted parts of a message about a URL; they may contain a password."""


def server_name(url: str) -> str:
    """Describes the server and database of a URL for people, without user and password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise Invalid(
            f"HIVELORE_DATABASE is not a valid PostgreSQL URL ({_QUOTED.sub('...', _first_line(error))}). "
            "Use the form postgresql://user:password@host:5432/database.",
            field="HIVELORE_DATABASE",
        ) from None
    host, port = parts.get("host") or "localhost", parts.get("port") or "5432"
    return f"{parts.get('dbname') or parts.get('user') or 'postgres'} on {host}:{port}"


def with_application_name(url: str, name: str) -> str:
    """Returns a connection string whose connections the server lists under this name."""
    server_name(url)
    return make_conninfo(url, application_name=name)


def connect(url: str, name: str = "hivelore") -> Connection:
    """Opens a connection in autocommit mode outside the pool; administrators see ``name``. Raises errors of psycopg."""
    return psycopg.connect(url, autocommit=True, **_defaults(url, name))


def make_pool(url: str, size: int) -> psycopg_pool.ConnectionPool[Connection]:
    """Returns a pool that is not open yet."""
    return psycopg_pool.ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        configure=_configure,
        reconnect_timeout=RECONNECTING,
        kwargs={"autocommit": True, "context": _ADAPTERS, **_defaults(url)},
        name="hivelore",
    )


def _configure(connection: Connection) -> None:
    run_script(connection, SESSION)


def _defaults(url: str, name: str = "hivelore") -> dict[str, Any]:
    """Returns the parameters that the URL does not set."""
    ours = {"connect_timeout": CONNECT_TIMEOUT, "application_name": name, **ALIVE}
    known = conninfo_to_dict(url)
    return {name: value for name, value in ours.items() if name not in known}


@contextmanager
def our_errors(who: str = SERVER) -> Generator[None]:
    """Translates errors of PostgreSQL into ``hivelore.errors``. ``who`` names the server in messages."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error, who) from error


def translated(error: psycopg.Error, who: str = SERVER) -> HiveloreError:
    said = _first_line(error)
    if type(error) is psycopg.DataError:  # psycopg itself refused a parameter
        return Invalid(f"The database cannot store this text ({said}).")
    for kinds, ours, words in _MESSAGES:
        if isinstance(error, kinds):
            message = words.format(said=said, who=who)
            return ours(message, cause=_cause(error)) if ours in (Unavailable, Broken) else ours(message)
    return Broken(f"The database answered with an unexpected error ({said}).")


_MESSAGES: tuple[tuple[tuple[type[psycopg.Error], ...], type[HiveloreError], str], ...] = (
    (
        (errors.QueryCanceled, errors.LockNotAvailable, errors.TransactionTimeout),
        Expired,
        "The call exceeded its deadline. Narrow the query or try again later.",
    ),
    ((errors.UniqueViolation,), Conflict, "This id, name, path or external id is already in use ({said})."),
    (AGAIN, Unavailable, "The write conflicted with others, and nothing of this was stored. Try again."),
    (
        (errors.DiskFull, errors.OutOfMemory),
        Unavailable,
        "The database server has no space left ({said}), and nothing was stored. Free some space there and try again.",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        Unavailable,
        "The database is read-only, as on a standby server. "
        "Set HIVELORE_DATABASE to the primary server, or try again later.",
    ),
    (
        (errors.InsufficientPrivilege,),
        Unavailable,
        "The role in HIVELORE_DATABASE lacks a right ({said}). Make it the owner of the database, or grant the right.",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction),
        Broken,
        "The database lacks a part of Hivelore's schema ({said}). Restore a backup.",
    ),
    (
        (errors.ProgramLimitExceeded,),
        Invalid,
        "A text is too long for the database ({said}). Shorten it.",
    ),
    ((psycopg_pool.PoolClosed,), Unavailable, CLOSED),
    (
        (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests),
        Unavailable,
        "No connection to the database became free in time ({said}). Try again.",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        Unavailable,
        "{who} does not answer ({said}). "
        "Check that the server runs, and that the host, role and password in HIVELORE_DATABASE are correct.",
    ),
    (
        (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter),
        Invalid,
        "The database cannot store this text ({said}).",
    ),
)
"""Kinds of errors with our error type and message. The first matching row applies."""


_CAUSES: tuple[tuple[tuple[type[psycopg.Error], ...], Cause | None], ...] = (
    ((errors.DataCorrupted, errors.IndexCorrupted), Cause.DAMAGED),
    ((errors.UndefinedTable,), Cause.REPLACED),
    ((errors.DiskFull,), Cause.DISK_FULL),
    ((errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege, errors.IoError), Cause.WRITES),
    ((*AGAIN, errors.OutOfMemory), None),
    ((psycopg_pool.PoolClosed, psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests), None),
    ((psycopg.OperationalError, psycopg.InterfaceError), Cause.SERVER),
)
"""Kinds of errors with the cause they indicate, None for no cause. The first matching row applies."""


def _cause(error: psycopg.Error) -> Cause | None:
    return next((cause for kinds, cause in _CAUSES if isinstance(error, kinds)), None)


def _first_line(error: psycopg.Error) -> str:
    """Returns the first line of the server's message; the others may repeat the statement."""
    said = error.diag.message_primary or str(error).strip()
    lines = [line.strip() for line in said.splitlines()] or [type(error).__name__]
    return lines[0].rstrip(".")
