"""Setting a program up and undoing it: everything is planned before anything is touched, and then all of it is done or
nothing."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hivelore.errors import Broken
from hivelore.integrations.parts import Change, Part, is_edited, put_in, undone
from hivelore.integrations.receipts import Receipt, Receipts
from hivelore.local import private_files


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; nothing is, where ``changes`` is empty."""

    changes: tuple[Change, ...]
    receipt: Receipt
    edited: frozenset[Path] = frozenset()
    """Files that somebody has changed since they were set up."""


def plan_setup(program: str, project: Path | None, parts: Sequence[Part], receipts: Receipts) -> Plan:
    """Raises Conflict or Broken where a file cannot be read, changed or written."""
    receipt = receipts.find(program, project)
    earlier = {touched.part.path: touched for touched in receipt.touched} if receipt is not None else {}
    put = [put_in(part, earlier.pop(part.path, None)) for part in parts]
    dropped = [undone(touched) for touched in earlier.values()]
    changes = _worth_making([*(change for change, _ in put), *dropped])
    folders = () if receipt is None else receipt.folders
    return Plan(changes, Receipt(program, project, tuple(touched for _, touched in put), folders))


def plan_undoing(receipt: Receipt) -> Plan:
    """Raises Conflict or Broken where a file cannot be read, changed or written."""
    changes = _worth_making([undone(touched) for touched in receipt.touched])
    edited = frozenset(touched.part.path for touched in receipt.touched if is_edited(touched))
    return Plan(changes, receipt, edited)


def set_up(plan: Plan, receipts: Receipts) -> None:
    """The receipt is kept first: whatever happens after it can be undone."""
    missing = [folder for change in plan.changes if change.after is not None for folder in _missing(change.path.parent)]
    receipt = plan.receipt
    folders = tuple(dict.fromkeys([*receipt.folders, *missing]))
    before = receipts.find(receipt.program, receipt.project)
    receipts.keep(Receipt(receipt.program, receipt.project, receipt.touched, folders))
    try:
        _make(plan.changes)
    except OSError as error:
        remove_empty(missing)
        receipts.keep(before) if before is not None else receipts.drop(receipt)
        raise Broken(f"{error.filename} cannot be written ({error.strerror}). Nothing was changed.") from None


def undo(plan: Plan, receipts: Receipts) -> None:
    try:
        _make(plan.changes)
    except OSError as error:
        raise Broken(f"{error.filename} cannot be written ({error.strerror}). Nothing was changed.") from None
    remove_empty(plan.receipt.folders)
    receipts.drop(plan.receipt)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders in which nothing is, innermost first."""
    for folder in sorted(set(folders), key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):  # Somebody uses it, or it is gone.
            folder.rmdir()


def _worth_making(changes: Sequence[Change]) -> tuple[Change, ...]:
    worth = tuple(change for change in changes if change.before != change.after)
    for change in worth:
        place = next(folder for folder in change.path.parents if folder.exists())
        for needed in (place, change.path.resolve()):
            if needed.exists() and not os.access(needed, os.W_OK):
                raise Broken(
                    f"{needed} cannot be written. Nothing was changed: make it yours to write, then do this again."
                )
    return worth


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made for this one to be there, outermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    return missing[::-1]


def _make(changes: Sequence[Change]) -> None:
    """All of them, or none where one fails with OSError."""
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
    """Whole or not at all. A link stays one, and a file keeps its rights."""
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
        error.filename = str(file)  # Not the file beside it.
        raise
