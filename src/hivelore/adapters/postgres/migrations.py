"""Bringing a database to the schema of this code: numbered scripts that only go forward."""

from collections.abc import Callable

from psycopg import errors

from hivelore.adapters.postgres.connection import Connection, our_errors, run_script
from hivelore.adapters.sql import migrations as shared
from hivelore.adapters.sql.migrations import Migration
from hivelore.errors import Broken, Unavailable

OLDEST = 15
"""The first version of PostgreSQL that is supported."""
_LOCK = 0x48564C52
"""'HVLR': one at a time migrates, the others wait."""
_LEDGER = "CREATE TABLE hivelore_migration (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)"
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
    return shared.shipped("hivelore.adapters.postgres")


def migrate(connection: Connection, migrations: list[Migration], then: Callable[[], None] = lambda: None) -> int:
    """Apply what is missing, each in a transaction of its own, and do ``then`` before another may migrate. Answers how
    many were applied.

    Raises Broken, having touched nothing, for a server, an encoding or a database that will not do, for one of a newer
    version, or whose applied migrations are not the ones of this code; Unavailable where a right or the extension is
    missing."""
    with our_errors():
        _examine(connection)
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        try:
            known = _has(connection, "hivelore_migration")
            if not known and _has(connection, "memory"):
                raise Broken("These are the tables of another program. Choose another database or schema.")
            missing = shared.missing(migrations, _applied(connection) if known else [])
            if missing:
                _see_that_vectors_exist(connection)
            for migration in missing:
                _apply(connection, migration)
            then()
            return len(missing)
        finally:
            if not connection.broken:
                connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


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


def _apply(connection: Connection, migration: Migration) -> None:
    with connection.transaction():
        if migration.number == 1:
            run_script(
                connection, "CREATE TABLE hivelore_migration (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)"
            )
        run_script(connection, migration.script)
        connection.execute("INSERT INTO hivelore_migration VALUES (%s, %s)", (migration.number, migration.checksum))
