"""Bringing a database file to the schema of this code: numbered scripts that only go forward."""

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

import apsw

from hivelore.adapters.sqlite.connection import APPLICATION_ID, pragma, rows, run_script
from hivelore.errors import Broken, HiveloreError

_FILE = re.compile(r"^(\d{4})_\w+\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def shipped() -> list[Migration]:
    """The migrations of this code, in order, numbered without a gap from 1."""
    folder = files("hivelore.adapters.sqlite").joinpath("migrations")
    found = [
        Migration(int(match[1]), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if (match := _FILE.match(entry.name))
    ]
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise Broken("The installation is damaged: a migration is missing. Install Hivelore again.")
    return found


def migrate(connection: apsw.Connection, migrations: list[Migration]) -> int:
    """Apply what is missing, each in a transaction of its own. Answers how many were applied.

    Raises Broken, having touched nothing, for a file that is not ours, of a newer version, or whose
    applied migrations are not the ones of this code.
    """
    application = pragma(connection, "application_id")
    empty = not list(rows(connection, "SELECT 1 FROM sqlite_master LIMIT 1"))
    if application != APPLICATION_ID and (application or not empty):
        raise Broken("This is a database of another program. Choose another folder with HIVELORE_HOME.")
    applied = [] if empty else _applied(connection)
    if len(applied) > len(migrations):
        raise Broken(
            f"This database was written by a newer Hivelore (schema {len(applied)}, this one knows {len(migrations)}). "
            "Upgrade Hivelore; nothing was touched."
        )
    for migration, checksum in zip(migrations, applied, strict=False):
        if migration.checksum != checksum:
            raise Broken(f"Migration {migration.number} of this database differs from the one of this Hivelore.")
    for migration in migrations[len(applied) :]:
        _apply(connection, migration)
    return len(migrations) - len(applied)


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
