"""Plans and applies setup and removal. Nothing is written before the plan is complete; a plan is applied as a whole."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hivelore.errors import Broken
from hivelore.integrations.parts import Change, Part, add_part, is_edited, remove_part
from hivelore.integrations.receipts import Receipt, Receipts
from hivelore.local import private_files


@dataclass(frozen=True, slots=True)
class Plan:
    """Planned changes of files; empty if nothing has to change."""

    changes: tuple[Change, ...]
    receipt: Receipt
    edited: frozenset[Path] = frozenset()
    """Files that were edited since setup."""


def plan_setup(program: str, project: Path | None, parts: Sequence[Part], receipts: Receipts) -> Plan:
    """Raises Conflict or Broken if a file cannot be read, changed or written."""
    receipt = receipts.find(program, project)
    earlier = {touched.part.path: touched for touched in receipt.touched} if receipt is not None else {}
    added = [add_part(part, earlier.pop(part.path, None)) for part in parts]
    removed = [remove_part(touched) for touched in earlier.values()]
    changes = _select_needed([*(change for change, _ in added), *removed])
    folders = () if receipt is None else receipt.folders
    return Plan(changes, Receipt(program, project, tuple(touched for _, touched in added), folders))


def plan_undoing(receipt: Receipt) -> Plan:
    """Raises Conflict or Broken if a file cannot be read, changed or written."""
    changes = _select_needed([remove_part(touched) for touched in receipt.touched])
    edited = frozenset(touched.part.path for touched in receipt.touched if is_edited(touched))
    return Plan(changes, receipt, edited)


def set_up(plan: Plan, receipts: Receipts) -> None:
    """Apply a plan. The receipt is stored first, so that an interrupted setup can be undone."""
    missing = [folder for change in plan.changes if change.after is not None for folder in _missing(change.path.parent)]
    receipt = plan.receipt
    folders = tuple(dict.fromkeys([*receipt.folders, *missing]))
    before = receipts.find(receipt.program, receipt.project)
    receipts.store(Receipt(receipt.program, receipt.project, receipt.touched, folders))
    try:
        _apply(plan.changes)
    except OSError as error:
        remove_empty(missing)
        receipts.store(before) if before is not None else receipts.drop(receipt)
        raise Broken(f"{error.filename} cannot be written ({error.strerror}). Nothing was changed.") from None


def undo(plan: Plan, receipts: Receipts) -> None:
    try:
        _apply(plan.changes)
    except OSError as error:
        raise Broken(f"{error.filename} cannot be written ({error.strerror}). Nothing was changed.") from None
    remove_empty(plan.receipt.folders)
    receipts.drop(plan.receipt)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove empty folders, innermost first."""
    for folder in sorted(set(folders), key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):  # It is not empty, or does not exist.
            folder.rmdir()


def _select_needed(changes: Sequence[Change]) -> tuple[Change, ...]:
    needed = tuple(change for change in changes if change.before != change.after)
    for change in needed:
        place = next(folder for folder in change.path.parents if folder.exists())
        for path in (place, change.path.resolve()):
            if path.exists() and not os.access(path, os.W_OK):
                raise Broken(f"{path} cannot be written. Nothing was changed: make it writable, then try again.")
    return needed


def _missing(folder: Path) -> list[Path]:
    """Return the missing folders of a path, outermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    return missing[::-1]


def _apply(changes: Sequence[Change]) -> None:
    """Apply all changes, or none if one fails with OSError."""
    done: list[Change] = []
    try:
        for change in changes:
            _write(change.path, change.after)
            done.append(change)
    except OSError:
        for change in reversed(done):
            with suppress(OSError):
                _write(change.path, change.before)
        raise


def _write(path: Path, content: bytes | None) -> None:
    """Write a file atomically. A link stays a link, and a file keeps its permissions."""
    file = path.resolve()
    if content is None:
        file.unlink(missing_ok=True)
        return
    private_files.make_folder(file.parent)
    mode = file.stat().st_mode & 0o777 if file.exists() else private_files.FILE
    try:
        with private_files.replacing(file, mode) as out:
            out.write(content)
    except OSError as error:
        error.filename = str(file)  # Not the temporary file.
        raise
