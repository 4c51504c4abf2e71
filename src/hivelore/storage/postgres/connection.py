"""Connecting to PostgreSQL, running statements, and saying its errors in our words."""

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
"""Seconds, unless the URL says otherwise."""
RECONNECTING = 5
"""Seconds that the pool goes on trying by itself, at growing distances; then who needs a connection makes it begin
anew, so that nobody waits longer for a server that is back."""
ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""A host that went without a word is noticed after a minute or less."""
SESSION = (
    "SET client_min_messages = warning; SET jit = off; "
    "SET statement_timeout = '30min'; SET idle_in_transaction_session_timeout = '10min'; "
    "SELECT set_config('application_name', left('hivelore ' || current_schema(), 63), false) "
    "WHERE current_setting('application_name') = 'hivelore'"
)
"""A statement of a call without a deadline ends all the same. What holds a transaction open and does nothing for so
long is gone: it keeps the database from tidying up. The name tells who looks at the server, and who moves a swarm,
which schema a connection is of."""

OVER = "This transaction is over: it was ended, or the connection was lost. Nothing of it was stored."
CLOSED = "The store is closed."
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""Another transaction was in the way: the whole unit is to be run again."""

SERVER = "The database server"

_PLACEHOLDER = re.compile(r"(?<![:\w]):([a-z_]+)")
_VECTOR_HEAD = np.dtype(">i2")
_VECTOR_FLOAT = np.dtype(">f4")


class Packed(bytes):
    """A vector as pgvector sends it: the number of dimensions, two empty bytes, floats with the highest byte first."""


def packed(vector: Vector) -> Packed:
    return Packed(np.array([len(vector), 0], _VECTOR_HEAD).tobytes() + vector.astype(_VECTOR_FLOAT).tobytes())


def unpacked(vectors: list[bytes]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Vectors of one dimension, (n, dimension)."""
    together = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), -1)
    return np.ascontiguousarray(together[:, 4:]).view(_VECTOR_FLOAT).astype(np.float32)


class _PackedDumper(Dumper):
    """Says nothing of the type: the server knows it by the column."""

    format = pq.Format.BINARY

    def dump(self, obj: Packed) -> Buffer:
        return obj


_ADAPTERS = AdaptersMap(psycopg.adapters)
_ADAPTERS.register_dumper(Packed, _PackedDumper)
# One statement has one plan, however large the numbers are.
_ADAPTERS.register_dumper(int, Int8BinaryDumper)


@lru_cache(maxsize=2_000)
def dialect(sql: str) -> bytes:
    """A statement with ``:name`` for parameters as psycopg wants it."""
    return _PLACEHOLDER.sub(r"%(\1)s", sql.replace("%", "%%")).encode()


def execute(connection: Connection, sql: str, params: Mapping[str, Any] | None = None) -> Cursor:
    """Run one statement. Raises what psycopg raises."""
    return connection.execute(dialect(sql), params, binary=True)


def run_script(connection: Connection, script: str) -> str:
    """Run all statements of a script that comes with this code, in one exchange with the server. Answers the first
    value of the last one's first row, nothing where there is none. Raises what psycopg raises."""
    cursor = connection.execute(cast(LiteralString, script))
    while cursor.nextset():
        pass
    row = None if cursor.description is None else cursor.fetchone()
    return "" if row is None else str(row[0])


_QUOTED = re.compile(r'".*"', re.DOTALL)
"""Parts of the URL in what is said of it: a password could be among them."""


def whereabouts(url: str) -> str:
    """Which server and database a URL names, for people: without user and password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise Invalid(
            f"HIVELORE_DATABASE is no URL of a PostgreSQL database ({_QUOTED.sub('...', _line(error))}). "
            "It has the form postgresql://user:password@host:5432/database.",
            field="HIVELORE_DATABASE",
        ) from None
    host, port = parts.get("host") or "localhost", parts.get("port") or "5432"
    return f"{parts.get('dbname') or parts.get('user') or 'postgres'} on {host}:{port}"


def named(url: str, name: str) -> str:
    """The same, for connections that the server knows by this name."""
    whereabouts(url)
    return make_conninfo(url, application_name=name)


def connect(url: str, name: str = "hivelore") -> Connection:
    """A connection of its own, every statement a transaction of its own; ``name`` is what administrators see. Raises
    what psycopg raises."""
    return psycopg.connect(url, autocommit=True, **_given(url, name))


def make_pool(url: str, size: int) -> psycopg_pool.ConnectionPool[Connection]:
    """Not open yet."""
    return psycopg_pool.ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        open=False,
        configure=_settle_in,
        reconnect_timeout=RECONNECTING,
        kwargs={"autocommit": True, "context": _ADAPTERS, **_given(url)},
        name="hivelore",
    )


def _settle_in(connection: Connection) -> None:
    run_script(connection, SESSION)


def _given(url: str, name: str = "hivelore") -> dict[str, Any]:
    """What a URL may leave to us."""
    ours = {"connect_timeout": CONNECT_TIMEOUT, "application_name": name, **ALIVE}
    known = conninfo_to_dict(url)
    return {name: value for name, value in ours.items() if name not in known}


@contextmanager
def our_errors(who: str = SERVER) -> Generator[None]:
    """Turn what PostgreSQL raises into our family. ``who`` does not answer where it is not there."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error, who) from error


def translated(error: psycopg.Error, who: str = SERVER) -> HiveloreError:
    said = _line(error)
    if type(error) is psycopg.DataError:  # psycopg itself refused a parameter
        return Invalid(f"The database cannot keep this text ({said}).")
    for kinds, ours, words in _WORDS:
        if isinstance(error, kinds):
            told = words.format(said=said, who=who)
            return ours(told, cause=_cause(error)) if ours in (Unavailable, Broken) else ours(told)
    return Broken(f"The database answered with an unexpected error ({said}).")


_WORDS: tuple[tuple[tuple[type[psycopg.Error], ...], type[HiveloreError], str], ...] = (
    (
        (errors.QueryCanceled, errors.LockNotAvailable, errors.TransactionTimeout),
        Expired,
        "The call took longer than its deadline. Narrow the question or try again later.",
    ),
    ((errors.UniqueViolation,), Conflict, "Another one has this id, name, path or external id already ({said})."),
    (AGAIN, Unavailable, "Others wrote at the same time, and nothing of this was stored. Try again."),
    (
        (errors.DiskFull, errors.OutOfMemory),
        Unavailable,
        "The database server has no room left ({said}): nothing of this was stored. "
        "Free some space there and try again.",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        Unavailable,
        "The database can only be read at the moment, as a standby. "
        "Let HIVELORE_DATABASE name the primary server, or try again later.",
    ),
    (
        (errors.InsufficientPrivilege,),
        Unavailable,
        "The role of HIVELORE_DATABASE may not do that ({said}). Let it own the database, or grant it what is missing.",
    ),
    (
        (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction),
        Broken,
        "The database lacks a part of Hivelore's schema ({said}). Restore a backup.",
    ),
    (
        (errors.ProgramLimitExceeded,),
        Invalid,
        "A text is longer than the database can keep ({said}). Shorten it.",
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
        "See that the server runs, and that HIVELORE_DATABASE names it, a role that may log in, and its password.",
    ),
    (
        (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter),
        Invalid,
        "The database cannot keep this text ({said}).",
    ),
)
"""The first row that fits is taken: kinds of errors, and what they are in our family and words."""


_CAUSES: tuple[tuple[tuple[type[psycopg.Error], ...], Cause | None], ...] = (
    ((errors.DataCorrupted, errors.IndexCorrupted), Cause.DAMAGED),
    ((errors.UndefinedTable,), Cause.REPLACED),
    ((errors.DiskFull,), Cause.DISK_FULL),
    ((errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege, errors.IoError), Cause.WRITES),
    ((*AGAIN, errors.OutOfMemory), None),
    ((psycopg_pool.PoolClosed, psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests), None),
    ((psycopg.OperationalError, psycopg.InterfaceError), Cause.SERVER),
)
"""The first row that fits is taken: what errors say of the database itself, None where they say nothing."""


def _cause(error: psycopg.Error) -> Cause | None:
    return next((cause for kinds, cause in _CAUSES if isinstance(error, kinds)), None)


def _line(error: psycopg.Error) -> str:
    """The first line of what the server said: the others may repeat what was asked."""
    said = error.diag.message_primary or str(error).strip()
    lines = [line.strip() for line in said.splitlines()] or [type(error).__name__]
    return lines[0].rstrip(".")
