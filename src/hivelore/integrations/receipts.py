"""What was set up where, kept in the home folder as long as it stands, so that it can be undone to the byte."""

import base64
import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hivelore.errors import Broken
from hivelore.integrations.entries import Entry, Kind
from hivelore.integrations.parts import Part, Shared, Touched, Whole
from hivelore.local import endpoint, private_files

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Receipt:
    """One set-up of one program."""

    program: str
    project: Path | None
    """The folder it was set up for; None: for the user, everywhere."""
    touched: tuple[Touched, ...]
    folders: tuple[Path, ...] = ()
    """What had to be made for it."""


class Receipts:
    """Those of one home folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def all(self) -> list[Receipt]:
        return [_read(file) for file in sorted((self._home / endpoint.SET_UP).glob("*.json"))]

    def find(self, program: str, project: Path | None) -> Receipt | None:
        file = self._file(program, project)
        return _read(file) if file.exists() else None

    def keep(self, receipt: Receipt) -> None:
        file = self._file(receipt.program, receipt.project)
        endpoint.make_home(self._home)
        private_files.make_folder(file.parent)
        with private_files.replacing(file) as out:
            out.write(json.dumps(_told(receipt), indent=1).encode())

    def drop(self, receipt: Receipt) -> None:
        file = self._file(receipt.program, receipt.project)
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()

    def _file(self, program: str, project: Path | None) -> Path:
        place = "user" if project is None else sha256(bytes(project)).hexdigest()[:12]
        return self._home / endpoint.SET_UP / f"{program}-{place}.json"


def _told(receipt: Receipt) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "program": receipt.program,
        "project": None if receipt.project is None else str(receipt.project),
        "folders": [str(folder) for folder in receipt.folders],
        "files": [
            {
                **_part(touched.part),
                "before": None if touched.before is None else base64.b64encode(touched.before).decode(),
                "digest": touched.digest,
            }
            for touched in receipt.touched
        ],
    }


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Whole):
        return {"path": str(part.path)}
    entries = [{"at": entry.at, "value": entry.value, "kind": entry.kind.name} for entry in part.entries]
    return {"path": str(part.path), "format": part.format, "entries": entries}


def _read(file: Path) -> Receipt:
    try:
        told = json.loads(file.read_text(encoding="ascii"))
        if told["version"] != _VERSION:
            raise Broken(f"{file} was written by another version of Hivelore: use that one to change this set-up.")
        return Receipt(
            told["program"],
            None if told["project"] is None else Path(told["project"]),
            tuple(map(_touched, told["files"])),
            tuple(map(Path, told["folders"])),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Broken(f"{file}, which says what was set up, cannot be read ({error}).") from None


def _touched(told: dict[str, Any]) -> Touched:
    before = None if told["before"] is None else base64.b64decode(told["before"])
    return Touched(_part_told(told), before, told["digest"])


def _part_told(told: dict[str, Any]) -> Part:
    if "format" not in told:
        return Whole(Path(told["path"]), b"")
    entries = (Entry(tuple(one["at"]), one["value"], Kind[one["kind"]]) for one in told["entries"])
    return Shared(Path(told["path"]), told["format"], tuple(entries))
