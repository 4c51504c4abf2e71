"""The place of test files: in memory where possible, since creating a database mostly waits for the disk."""

import os
import shutil
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 2_000_000_000
"""Bytes, several times as many as there are at any moment of a whole run."""

IN_MEMORY = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
"""For a database of a moment; None: where other files are."""


def of_everything() -> Path | None:
    """The folder for all that tests make; None: there is none but the usual one. In a container shared memory may be
    small, and closed to programs."""
    if IN_MEMORY is None or os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC or shutil.disk_usage(IN_MEMORY).free < _ROOM:
        return None
    return IN_MEMORY
