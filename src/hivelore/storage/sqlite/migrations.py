"""Migration of a database file to the schema of this version."""

import logging

import apsw

from hivelore.errors import Broken, HiveloreError
from hivelore.storage.sql import migrations as shared
from hivelore.storage.sql.migrations import Migration
from hivelore.storage.sqlite.connection import APPLICATION_ID, pragma, rows, run_script

_LOG = logging.getLogger("hivelore")


def shipped() -> list[Migration]:
    return shared.shipped("hivelore.storage.sqlite")


def migrate(connection: apsw.Connection, migrations: list[Migration]) -> int:
    """Applies the missing migrations, each in one transaction; returns how many. Raises as ``missing``."""
    to_apply = missing(connection, migrations)
    for migration in to_apply:
        _apply(connection, migration)
    if to_apply:
        fields = {"from": len(migrations) - len(to_apply), "to": len(migrations)}
        _LOG.info("Migrated the database.", extra={"fields": fields})
    return len(to_apply)


def missing(connection: apsw.Connection, migrations: list[Migration]) -> list[Migration]:
    """Returns the migrations that are not applied yet.

    Raises Broken, without changing the file, if it belongs to another program or a newer version, or if its applied
    migrations differ from those of this version.
    """
    application = pragma(connection, "application_id")
    empty = not list(rows(connection, "SELECT 1 FROM sqlite_master LIMIT 1"))
    if application != APPLICATION_ID and (application or not empty):
        raise Broken("This is a database of another program. Choose another folder with HIVELORE_HOME.")
    return shared.missing(migrations, [] if empty else _applied(connection))


def _applied(connection: apsw.Connection) -> list[str]:
    return [row[0] for row in rows(connection, "SELECT checksum FROM migration ORDER BY number")]


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    run_script(connection, "BEGIN IMMEDIATE")
    try:
        if migration.number == 1:
            run_script(
                connection,
                f"PRAGMA application_id = {APPLICATION_ID};"
                "CREATE TABLE migration (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL);",
            )
        run_script(connection, migration.script)
        applied = {"number": migration.number, "checksum": migration.checksum}
        list(rows(connection, "INSERT INTO migration VALUES (:number, :checksum)", applied))
        run_script(connection, "COMMIT")
    except (apsw.Error, HiveloreError):
        if connection.in_transaction:  # a full disk has ended it already
            run_script(connection, "ROLLBACK")
        raise
