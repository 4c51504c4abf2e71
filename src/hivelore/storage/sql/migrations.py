"""Numbered scripts that only go forward, and what may be said against a database before they run."""

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
    """A statement that, time and again, gives some of the old rows what the script made room for; for databases that
    others write to meanwhile."""

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def shipped(package: str) -> list[Migration]:
    """The migrations of a dialect, in order, numbered without a gap from 1: ``0004_name.sql``, and beside it
    ``0004_name.fill.sql`` where old rows are to be filled in."""
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
    """Those that are not applied yet, by the checksums of those that are.

    Raises Broken for a database of a newer version, or whose migrations are not the ones of this code."""
    if len(applied) > len(migrations):
        raise Broken(
            f"This database was written by a newer Hivelore (schema {len(applied)}, this one knows {len(migrations)}). "
            "Upgrade Hivelore; nothing was touched."
        )
    for migration, checksum in zip(migrations, applied, strict=False):
        if migration.checksum != checksum:
            raise Broken(f"Migration {migration.number} of this database differs from the one of this Hivelore.")
    return migrations[len(applied) :]
