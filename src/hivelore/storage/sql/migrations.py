"""Numbered, forward-only migrations, and the check that they fit a database."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from hivelore.errors import Broken

_FILE = re.compile(r"^(\d{4}_\w+)(\.fill)?\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    script: str
    fill: str | None = None
    """A statement that fills new columns of some old rows at a time, for databases that are in use."""

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def shipped(package: str) -> list[Migration]:
    """Returns the migrations of a dialect in order, numbered from 1 without gaps. A migration is a file
    ``0004_name.sql``, with a ``0004_name.fill.sql`` if old rows need filling."""
    folder = files(package).joinpath("migrations")
    scripts: dict[str, str] = {}
    fills: dict[str, str] = {}
    for entry in folder.iterdir():
        if match := _FILE.match(entry.name):
            (fills if match[2] else scripts)[match[1]] = entry.read_text(encoding="utf-8")
    found = [Migration(int(name[:4]), scripts[name], fills.get(name)) for name in sorted(scripts)]
    if [migration.number for migration in found] != list(range(1, len(found) + 1)) or fills.keys() - scripts.keys():
        raise Broken("The installation is damaged: a migration is missing. Install Hivelore again.")
    return found


def missing(migrations: list[Migration], applied: Sequence[str]) -> list[Migration]:
    """Returns the migrations to apply, given the checksums of those already applied.

    Raises Broken for a database of a newer version, or with migrations that differ from those of this version."""
    if len(applied) > len(migrations):
        raise Broken(
            f"This database was written by a newer Hivelore (schema {len(applied)}, this one knows {len(migrations)}). "
            "Upgrade Hivelore. The database was not changed."
        )
    for migration, checksum in zip(migrations, applied, strict=False):
        if migration.checksum != checksum:
            raise Broken(f"Migration {migration.number} of this database differs from the one of this Hivelore.")
    return migrations[len(applied) :]
