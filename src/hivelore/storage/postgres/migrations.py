"""Bringing a database to the schema of this code: numbered scripts that only go forward.

One replica does so while those of the version before go on serving. So a script only adds, with a default or a trigger
for what they write from then on; what nobody needs any more goes with a later version. It takes its locks quickly or
not at all, and leaves the old rows to a fill: a statement that does some of those behind ``(:namespace, :key)``, in
this order, and answers the last ones it did, until there are none.
"""

import logging
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from psycopg import errors, pq

from hivelore.errors import Broken, Unavailable
from hivelore.storage.postgres.connection import AGAIN, Connection, execute, our_errors, run_script
from hivelore.storage.sql import migrations as shared
from hivelore.storage.sql.migrations import Migration

OLDEST = 15
"""The first version of PostgreSQL that is supported."""
_LOCK = 0x48564C52
"""'HVLR': one at a time migrates, the others wait."""
_LEDGER = "CREATE TABLE hivelore_migration (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)"
_FILLS = """
CREATE TABLE hivelore_fill (
  number          INTEGER PRIMARY KEY,
  after_namespace BIGINT NOT NULL,
  after_key       BIGINT NOT NULL,
  is_done         BOOLEAN NOT NULL
)
"""
_FILLED = """
INSERT INTO hivelore_fill VALUES (:number, :namespace, :key, :is_done) ON CONFLICT (number)
DO UPDATE SET after_namespace = :namespace, after_key = :key, is_done = :is_done
"""
_NOTICED = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
"""Where the host of the replica that migrates goes without a word, the others wait for a minute, not for hours."""
LOCK_WAIT = 2_000
"""Milliseconds that a script waits for a table; whoever comes to it then waits behind the script."""
PAUSE = 3.0
"""Seconds in which the others go on, before it is tried again."""
TRIES = 60
"""About five minutes."""
_IN_USE = (
    "The database could not be brought to this version: for minutes its tables were in use whenever it was tried. What "
    "was there before works as it did. Look for long transactions (pg_stat_activity) and end them, then start again."
)
_POLL = 0.2
"""Seconds between asking whether another replica is done."""
_SAID_AFTER = 25
"""So often it was asked before the log says what is waited for."""
_LOG = logging.getLogger("hivelore")
T = TypeVar("T")

EXTENSION = "vector"
_NO_EXTENSION = (
    "This PostgreSQL server does not have the extension pgvector. Install it there (Debian and Ubuntu: "
    "apt install postgresql-{version}-pgvector), then start again."
)
_NO_RIGHT = (
    "The role {user} may not create the extension pgvector in the database {database}. "
    "Let an administrator run there: CREATE EXTENSION vector"
)


def shipped() -> list[Migration]:
    return shared.shipped("hivelore.storage.postgres")


def migrate(connection: Connection, migrations: list[Migration], then: Callable[[], None] = lambda: None) -> int:
    """Apply what is missing, each in a transaction of its own, and do ``then`` before another may migrate. Answers how
    many were applied.

    Raises Broken, having touched nothing, for a server, an encoding or a database that will not do, for one of a newer
    version, or whose applied migrations are not the ones of this code; Unavailable where a right or the extension is
    missing, or others use the tables for too long."""
    with our_errors():
        _examine(connection)
        missing(connection, migrations)
        run_script(connection, _NOTICED)
        _take_turn(connection)
        try:
            left = missing(connection, migrations)
            if left:
                _see_that_vectors_exist(connection)
            for migration in migrations:
                if migration in left:
                    _when_free(connection, lambda migration=migration: _apply(connection, migration))
                if migration.fill is not None:
                    _fill(connection, migration.number, migration.fill)
            then()
            if left:
                fields = {"from": len(migrations) - len(left), "to": len(migrations)}
                _LOG.info("Migrated the database.", extra={"fields": fields})
            return len(left)
        finally:
            if connection.info.transaction_status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS):
                connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def rehearse(connection: Connection, migrations: list[Migration]) -> bool:
    """Whether a database has no tables of ours yet; where it has none, they are made and undone again. Raises as
    ``migrate``."""
    with our_errors():
        _examine(connection)
        if len(missing(connection, migrations)) < len(migrations):
            return False
        with connection.transaction(force_rollback=True):
            migrate(connection, migrations)
        return True


def missing(connection: Connection, migrations: list[Migration]) -> list[Migration]:
    """Those that are not applied yet. Raises Broken as ``migrate``."""
    known = _has(connection, "hivelore_migration")
    if not known and _has(connection, "memory"):
        raise Broken("These are the tables of another program. Choose another database or schema.")
    return shared.missing(migrations, _applied(connection) if known else [])


def version(connection: Connection) -> str:
    major, minor = divmod(connection.info.server_version, 10_000)
    return f"{major}.{minor}"


def _examine(connection: Connection) -> None:
    if connection.info.server_version < OLDEST * 10_000:
        raise Broken(f"This is PostgreSQL {version(connection)}; Hivelore needs {OLDEST} or newer. Upgrade the server.")
    if _value(connection, "SHOW server_encoding") != "UTF8":
        raise Broken("The database is not in UTF-8. Make one that is: CREATE DATABASE ... ENCODING 'UTF8'.")
    if _value(connection, "SELECT current_schema()") is None:
        raise Broken("The search path of this role names no schema that exists. Create one, or name it in the URL.")


def _see_that_vectors_exist(connection: Connection) -> None:
    if _value(connection, f"SELECT 1 FROM pg_extension WHERE extname = '{EXTENSION}'"):
        return
    if not _value(connection, f"SELECT 1 FROM pg_available_extensions WHERE name = '{EXTENSION}'"):
        raise Unavailable(_NO_EXTENSION.format(version=connection.info.server_version // 10_000))
    try:
        connection.execute(f"CREATE EXTENSION {EXTENSION}".encode())
    except errors.InsufficientPrivilege as error:
        info = connection.info
        raise Unavailable(_NO_RIGHT.format(user=info.user, database=info.dbname)) from error


def _take_turn(connection: Connection) -> None:
    """Wait until nobody else migrates. Not in one statement, behind whose snapshot the server may not tidy up: filling
    in large tables takes a while."""
    for tries in count(1):
        if _value(connection, f"SELECT pg_try_advisory_lock({_LOCK})"):
            return
        if tries == _SAID_AFTER:
            _LOG.warning("Another replica is bringing the database to its version; this one waits for it.")
        connection.execute("SELECT pg_sleep(%s)", (_POLL,))


def _when_free(connection: Connection, work: Callable[[], T]) -> T:
    """Do something in a transaction that gives way to the transactions of others, and is tried again after a pause."""
    for left in range(TRIES, 0, -1):
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT}".encode())
                return work()
        except (errors.LockNotAvailable, *AGAIN) as error:
            if left == 1:
                raise Unavailable(_IN_USE) from error
            if left == TRIES:
                _LOG.warning("The tables of the database are in use; trying for some minutes to change them.")
            connection.execute("SELECT pg_sleep(%s)", (PAUSE,))
    raise AssertionError("the last try answers or raises")


def _apply(connection: Connection, migration: Migration) -> None:
    if migration.number == 1:
        run_script(connection, _LEDGER)
    run_script(connection, migration.script)
    connection.execute("INSERT INTO hivelore_migration VALUES (%s, %s)", (migration.number, migration.checksum))


def _fill(connection: Connection, number: int, statement: str) -> None:
    if not _has(connection, "hivelore_fill"):
        run_script(connection, _FILLS)
    while _when_free(connection, lambda: _fill_some(connection, number, statement)):
        pass


def _fill_some(connection: Connection, number: int, statement: str) -> bool:
    """Behind what was done before, be it by a replica that was killed. False where nothing is left."""
    how_far = "SELECT after_namespace, after_key, is_done FROM hivelore_fill WHERE number = :number"
    namespace, key, is_done = execute(connection, how_far, {"number": number}).fetchone() or (0, 0, False)
    if is_done:
        return False
    last = execute(connection, statement, {"namespace": namespace, "key": key}).fetchone()
    if last is not None:
        namespace, key = last
    filled = {"number": number, "namespace": namespace, "key": key, "is_done": last is None}
    execute(connection, _FILLED, filled)
    return last is not None


def _has(connection: Connection, table: str) -> bool:
    return (
        _value(connection, f"SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = '{table}'")
        == 1
    )


def _value(connection: Connection, sql: str) -> object:
    row = connection.execute(sql.encode()).fetchone()
    return None if row is None else row[0]


def _applied(connection: Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT checksum FROM hivelore_migration ORDER BY number")]
