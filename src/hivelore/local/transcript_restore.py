"""Writes a stored transcript where Claude Code of this machine looks for it, without losing an entry that is there."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hivelore.errors import Conflict
from hivelore.local import private_files
from hivelore.local.claude_code_files import METADATA_SUFFIX, METADATA_TYPE, SUFFIX, open_regular
from hivelore.local.transcript_entries import digest, parse_entry, uuid_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from hivelore.local.transcript_entries import Json

    Known = dict[int, list[tuple[int, int]]]
    """Positions and lengths of the entries of a file, by what identifies them."""

WRITTEN = "written"
EXTENDED = "extended"
KEPT = "kept"
"""The file had all stored entries, and did not change."""


@dataclass(frozen=True)
class Restored:
    outcome: str
    inode: int = 0
    size: int = 0
    """Bytes that were written. The agent program may append more at once."""

    @property
    def is_written(self) -> bool:
        return self.outcome != KEPT


class _Complete(Exception):
    """The file has all stored entries, so that there is nothing to write."""


def restore_file(target: Path, lines: "Iterable[str]", below: Path) -> Restored:
    """Write the lines of a transcript to a file. An existing file is replaced only if all its entries are among the
    lines; these stay as they are. Raises Conflict for another file, and for a link among the folders between ``below``
    and the file. Raises OSError."""
    for parent in target.relative_to(below).parents:
        if (below / parent).is_symlink() and parent != Path():
            raise Conflict(f"{below / parent} is a link. Move it away, and restore again.")
    private_files.make_folder(target.parent)
    try:
        existing = open_regular(target)
    except FileNotFoundError:
        return _write(target, lines, None)
    except OSError as error:
        raise Conflict(f"{target} cannot be read ({error.strerror}). Move it away, and restore again.") from None
    with existing, suppress(_Complete):
        return _write(target, lines, existing)
    return Restored(KEPT)


def restore_part(target: Path, lines: "Iterable[str]", below: Path) -> Restored:
    """Write the transcript of a sub-agent like ``restore_file``. The entry with its type becomes a file next to it; one
    that exists stays as it is."""
    found: dict[str, Json] = {}
    restored = restore_file(target, _without_metadata(lines, found), below)
    if found:
        data = json.dumps({name: value for name, value in found.items() if name != "type"}).encode()
        place = target.with_name(target.name.removesuffix(SUFFIX) + METADATA_SUFFIX)
        with suppress(FileExistsError), os.fdopen(private_files.create(place), "wb") as out:
            out.write(data)
    return restored


def _without_metadata(lines: "Iterable[str]", found: "dict[str, Json]") -> "Iterator[str]":
    """Yield the lines of a sub-agent's transcript. ``found`` becomes the last entry with its type."""
    for line in lines:
        entry = parse_entry(line)
        if entry is not None and entry.get("type") == METADATA_TYPE:
            found.clear()
            found.update(entry)
        else:
            yield line


def _write(target: Path, lines: "Iterable[str]", existing: "BinaryIO | None") -> Restored:
    before = None if existing is None else os.fstat(existing.fileno())
    known: Known = {} if existing is None else _entries_of(existing)
    has_new = False

    def check() -> None:
        if _changed_since(target, before):
            raise Conflict(f"{target} is being written. End the session on this host, and restore again.")

    with private_files.replacing(target, check=check) as out:
        for line in lines:
            places = known.get(_identity(line))
            if places and existing is not None:
                start, length = places.pop(0)
                existing.seek(start)
                out.write(existing.read(length) + b"\n")
            else:
                has_new = True
                out.write(line.encode() + b"\n")
        left = sum(map(len, known.values()))
        if left and has_new:
            raise Conflict(
                f"{target} has {left:,} entries that are not stored: this host continued the session, too. Send them "
                "with 'hivelore session save', or move the file away, and restore again."
            )
        if existing is not None and not has_new:
            raise _Complete
        out.flush()
        restored = Restored(WRITTEN if existing is None else EXTENDED, os.fstat(out.fileno()).st_ino, out.tell())
    if existing is not None and before is not None:
        _append_rest(target, existing, before.st_size)
    return restored


def _append_rest(target: Path, replaced: "BinaryIO", end: int) -> None:
    """Append the lines that were written to the replaced file after the last look at it, when it had ``end`` bytes."""
    if os.fstat(replaced.fileno()).st_size <= end:
        return
    position = replaced.seek(0)
    with os.fdopen(private_files.open_private(target, os.O_WRONLY | os.O_APPEND), "ab") as out:
        for line in replaced:
            position += len(line)
            if position > end:
                out.write(line)


def _changed_since(target: Path, before: os.stat_result | None) -> bool:
    try:
        now = os.lstat(target)
    except FileNotFoundError:
        return before is not None
    if before is None:
        return True
    return (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns)


def _entries_of(file: "BinaryIO") -> "Known":
    """Return the entries of a file. A last line that was cut, and lines that are no entries, do not count."""
    known: Known = {}
    position = 0
    for line in file:
        text = line.strip()
        with suppress(UnicodeDecodeError):
            decoded = text.decode()
            if parse_entry(decoded) is not None:
                known.setdefault(_identity(decoded), []).append((position + line.index(text), len(text)))
        position += len(line)
    return known


def _identity(line: str) -> int:
    entry = parse_entry(line)
    uuid = None if entry is None else uuid_of(entry)
    return digest(uuid) if uuid is not None else digest("line", line)
