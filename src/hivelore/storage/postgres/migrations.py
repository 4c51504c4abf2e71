"""Migration of a database to the schema of this version.

One replica migrates while replicas of the previous version keep serving. So a script only adds columns and tables,
with a default or a trigger for rows that old replicas write; a later version removes obsolete columns. A script gets
its locks quickly or gives up. It leaves old rows to a fill: a statement that updates some rows behind ``(:namespace,
:key)``, in this order, and returns the last one, until none is left.
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
"""The oldest supported version of PostgreSQL."""
_LOCK = 0x48564C52
"""'HVLR': one replica migrates at a time, the others wait."""
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
_KEEPALIVE = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
"""If the host of the migrating replica dies, the others wait for a minute instead of hours."""
LOCK_WAIT = 2_000
"""Milliseconds that a script waits for a table lock; later queries of the table queue behind it."""
PAUSE = 3.0
"""Seconds between attempts, in which other transactions continue."""
TRIES = 60
"""Attempts, which take about five minutes."""
_IN_USE = (
    "The database could not be migrated: its tables were in use for minutes. The previous version still works. "
    "Find long transactions (pg_stat_activity), end them, then start again."
)
_POLL = 0.2
"""Seconds between checks whether another replica is done."""
_LOG_AFTER = 25
"""Checks before the wait is logged."""
_LOG = logging.getLogger("hivelore")
T = TypeVar("T")

EXTENSION = "vector"
_NO_EXTENSION = (
    "This PostgreSQL server lacks the extension pgvector. Install it there (Debian and Ubuntu: "
    "apt install postgresql-{version}-pgvector), then start again."
)
_NO_RIGHT = (
    "The role {user} may not create the extension pgvector in the database {database}. "
    "Ask an administrator to run there: CREATE EXTENSION vector"
)


def shipped() -> list[Migration]:
    return shared.shipped("hivelore.storage.postgres")


def migrate(connection: Connection, migrations: list[Migration], then: Callable[[], None] = lambda: None) -> int:
    """Applies the missing migrations, each in one transaction, and calls ``then`` before another replica may migrate.
    Returns how many were applied.

    Raises Broken, without changing the database, for an unsuitable server, encoding or database, for one of a newer
    version, or with migrations that differ from those of this version. Raises Unavailable if a right or the
    extension is missing, or if the tables stay in use for too long."""
    with our_errors():
        _examine(connection)
        missing(connection, migrations)
        run_script(connection, _KEEPALIVE)
        _lock_migrations(connection)
        try:
            to_apply = missing(connection, migrations)
            if to_apply:
                _ensure_extension(connection)
            for migration in migrations:
                if migration in to_apply:
                    _retry_while_locked(connection, lambda migration=migration: _apply(connection, migration))
                if migration.fill is not None:
                    _fill(connection, migration.number, migration.fill)
            then()
            if to_apply:
                fields = {"from": len(migrations) - len(to_apply), "to": len(migrations)}
                _LOG.info("Migrated the database.", extra={"fields": fields})
            return len(to_apply)
        finally:
            if connection.info.transaction_status in (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS):
                connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def rehearse(connection: Connection, migrations: list[Migration]) -> bool:
    """Returns True if the database has no tables of Hivelore yet; then it creates them and rolls back. Raises as
    ``migrate``."""
    with our_errors():
        _examine(connection)
        if len(missing(connection, migrations)) < len(migrations):
            return False
        with connection.transaction(force_rollback=True):
            migrate(connection, migrations)
        return True


def missing(connection: Connection, migrations: list[Migration]) -> list[Migration]:
    """Returns the migrations that are not applied yet. Raises Broken as ``migrate``."""
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
        raise Broken("The database is not in UTF-8. Create one that is: CREATE DATABASE ... ENCODING 'UTF8'.")
    if _value(connection, "SELECT current_schema()") is None:
        raise Broken("No schema in the search path of this role exists. Create one, or name it in the URL.")


def _ensure_extension(connection: Connection) -> None:
    if _value(connection, f"SELECT 1 FROM pg_extension WHERE extname = '{EXTENSION}'"):
        return
    if not _value(connection, f"SELECT 1 FROM pg_available_extensions WHERE name = '{EXTENSION}'"):
        raise Unavailable(_NO_EXTENSION.format(version=connection.info.server_version // 10_000))
    try:
        connection.execute(f"CREATE EXTENSION {EXTENSION}".encode())
    except errors.InsufficientPrivilege as error:
        info = connection.info
        raise Unavailable(_NO_RIGHT.format(user=info.user, database=info.dbname)) from error


def _lock_migrations(connection: Connection) -> None:
    """Waits until no other replica migrates. It polls, since one long statement would prevent vacuuming during a
    fill of large tables."""
    for tries in count(1):
        if _value(connection, f"SELECT pg_try_advisory_lock({_LOCK})"):
            return
        if tries == _LOG_AFTER:
            _LOG.warning("Another replica is migrating the database. QueuedPassage for it.")
        connection.execute("SELECT pg_sleep(%s)", (_POLL,))


def _retry_while_locked(connection: Connection, work: Callable[[], T]) -> T:
    """Runs ``work`` in a transaction that yields to other transactions and is retried after a pause."""
    for attempts in range(TRIES, 0, -1):
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT}".encode())
                return work()
        except (errors.LockNotAvailable, *AGAIN) as error:
            if attempts == 1:
                raise Unavailable(_IN_USE) from error
            if attempts == TRIES:
                _LOG.warning("The tables of the database are in use. Retrying the migration for some minutes.")
            connection.execute("SELECT pg_sleep(%s)", (PAUSE,))
    raise AssertionError("the last attempt returns or raises")


def _apply(connection: Connection, migration: Migration) -> None:
    if migration.number == 1:
        run_script(connection, _LEDGER)
    run_script(connection, migration.script)
    connection.execute("INSERT INTO hivelore_migration VALUES (%s, %s)", (migration.number, migration.checksum))


def _fill(connection: Connection, number: int, statement: str) -> None:
    if not _has(connection, "hivelore_fill"):
        run_script(connection, _FILLS)
    while _retry_while_locked(connection, lambda: _fill_some(connection, number, statement)):
        pass


def _fill_some(connection: Connection, number: int, statement: str) -> bool:
    """Continues a fill, also of a replica that was killed. Returns False if no row is left."""
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
