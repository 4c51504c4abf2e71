"""Writes a stored transcript where Claude Code of this machine looks for it, without losing an entry that is there."""

import json
import os
from contextlib import suppress
from pathlib import Path

from hivelore.errors import Conflict
from hivelore.local import private_files
from hivelore.local.claude_code_files import METADATA_SUFFIX, METADATA_TYPE, SUFFIX, open_regular
from hivelore.local.transcript_entries import digest, parse_entry, uuid_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    Known = dict[int, list[tuple[int, int]]]
    """Positions and lengths of the entries of a file, by what identifies them."""

WRITTEN = "written"
EXTENDED = "extended"
KEPT = "kept"
"""The file had all stored entries, and did not change."""


class _Complete(Exception):
    """The file has all stored entries, so that there is nothing to write."""


def restore_file(target: Path, lines: "Iterable[str]") -> str:
    """Write the lines of a transcript to a file, and return WRITTEN, EXTENDED or KEPT. An existing file is replaced
    only if all its entries are among the lines; these stay as they are. Raises Conflict for another file, and
    OSError."""
    private_files.make_folder(target.parent)
    try:
        existing = open_regular(target)
    except FileNotFoundError:
        _write(target, lines, None)
        return WRITTEN
    except OSError as error:
        raise Conflict(f"{target} cannot be read ({error.strerror}). Move it away, and restore again.") from None
    with existing, suppress(_Complete):
        _write(target, lines, existing)
        return EXTENDED
    return KEPT


def split_metadata(lines: "Iterable[str]", target: Path) -> "Iterable[str]":
    """Yield the lines of a sub-agent's transcript. The entry with its type goes to a file beside ``target``."""
    metadata = None
    for line in lines:
        entry = parse_entry(line)
        if entry is not None and entry.get("type") == METADATA_TYPE:
            metadata = {name: value for name, value in entry.items() if name != "type"}
        else:
            yield line
    if metadata is not None:
        private_files.make_folder(target.parent)
        with private_files.replacing(target.with_name(target.name.removesuffix(SUFFIX) + METADATA_SUFFIX)) as out:
            out.write(json.dumps(metadata).encode())


def _write(target: Path, lines: "Iterable[str]", existing: "BinaryIO | None") -> None:
    before = None if existing is None else os.fstat(existing.fileno())
    known: Known = {} if existing is None else _entries_of(existing)
    has_new = False
    with private_files.replacing(target) as out:
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
        if _changed_since(target, before):
            raise Conflict(f"{target} is being written. End the session on this host, and restore again.")


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
