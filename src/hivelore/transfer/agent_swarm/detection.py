"""Recognizes SQLite databases, with the standard library only."""

import stat
from pathlib import Path

HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Returns True if a regular file begins as one of SQLite. Nothing is read of a pipe."""
    try:
        return stat.S_ISREG(path.stat().st_mode) and read_header(path).startswith(_MAGIC)
    except (OSError, ValueError):
        return False


def read_header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADER_BYTES)
