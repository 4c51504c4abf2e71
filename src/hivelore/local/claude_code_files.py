"""Files in which Claude Code stores sessions: ``projects/<folder>/<session>.jsonl`` in its settings folder, and
``projects/<folder>/<session>/subagents`` for those of sub-agents.

Standard library only, because hooks use it.
"""

import errno
import os
import re
import stat

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

SUFFIX = ".jsonl"
METADATA_SUFFIX = ".meta.json"
"""Suffix of the file with the type of a sub-agent, next to its transcript."""
METADATA_TYPE = "agent_metadata"
"""Type of the entry that stands for this file in a stored transcript."""
MOST_PARTS = 2_000
"""Most transcripts of sub-agents of one session."""
_LONGEST_NAME = 200
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def is_session_id(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def project_folder_name(workspace: "Path") -> str:
    """Return the name of the folder with the sessions of a workspace."""
    import unicodedata

    path = unicodedata.normalize("NFC", os.path.realpath(workspace))
    # By UTF-16 units, as in JavaScript.
    units = [int.from_bytes(pair, "little") for pair in _pairs(path.encode("utf-16-le", "surrogatepass"))]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= _LONGEST_NAME:
        return name
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return f"{name[:_LONGEST_NAME]}-{_in_base_36(abs(value - (1 << 32) if value >> 31 else value))}"


def parts_of(session_file: "Path") -> "Iterator[tuple[str, Path]]":
    """Yield sub-keys and files of the transcripts of a session's sub-agents. Links are not followed."""
    folder = session_file.with_suffix("")
    for found, file in enumerate(sorted((folder / "subagents").rglob(f"*{SUFFIX}"))):
        if found >= MOST_PARTS:
            return
        if file.is_file() and not file.is_symlink():
            yield file.relative_to(folder).with_suffix("").as_posix(), file


def open_regular(file: "Path") -> "BinaryIO":
    """Open a regular file for reading, without following a link or waiting for a pipe. Raises OSError."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(file))
    return os.fdopen(descriptor, "rb")


def _pairs(data: bytes) -> "Iterator[bytes]":
    return (data[place : place + 2] for place in range(0, len(data), 2))


def _in_base_36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
