"""Receipts of setups, stored in the home folder, so that files can be restored to the byte."""

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
    """Record of one setup of one program."""

    program: str
    project: Path | None
    """Folder of a project setup; None for a user setup."""
    touched: tuple[Touched, ...]
    folders: tuple[Path, ...] = ()
    """Folders that setup created."""


class Receipts:
    """Receipts of one home folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def all(self) -> list[Receipt]:
        return [_read(file) for file in sorted((self._home / endpoint.SET_UP).glob("*.json"))]

    def find(self, program: str, project: Path | None) -> Receipt | None:
        file = self._file(program, project)
        return _read(file) if file.exists() else None

    def store(self, receipt: Receipt) -> None:
        file = self._file(receipt.program, receipt.project)
        endpoint.make_home(self._home)
        private_files.make_folder(file.parent)
        with private_files.replacing(file) as out:
            out.write(json.dumps(_as_json(receipt), indent=1).encode())

    def drop(self, receipt: Receipt) -> None:
        file = self._file(receipt.program, receipt.project)
        file.unlink(missing_ok=True)
        if not any(file.parent.iterdir()):
            file.parent.rmdir()

    def _file(self, program: str, project: Path | None) -> Path:
        place = "user" if project is None else sha256(bytes(project)).hexdigest()[:12]
        return self._home / endpoint.SET_UP / f"{program}-{place}.json"


def _as_json(receipt: Receipt) -> dict[str, Any]:
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
        data = json.loads(file.read_text(encoding="ascii"))
        if data["version"] != _VERSION:
            raise Broken(f"{file} was written by another version of Hivelore: use that version to change this setup.")
        return Receipt(
            data["program"],
            None if data["project"] is None else Path(data["project"]),
            tuple(map(_read_touched, data["files"])),
            tuple(map(Path, data["folders"])),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Broken(f"{file}, the receipt of a setup, cannot be read ({error}).") from None


def _read_touched(data: dict[str, Any]) -> Touched:
    before = None if data["before"] is None else base64.b64decode(data["before"])
    return Touched(_read_part(data), before, data["digest"])


def _read_part(data: dict[str, Any]) -> Part:
    if "format" not in data:
        return Whole(Path(data["path"]), b"")
    entries = (Entry(tuple(one["at"]), one["value"], Kind[one["kind"]]) for one in data["entries"])
    return Shared(Path(data["path"]), data["format"], tuple(entries))
