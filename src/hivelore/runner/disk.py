"""Free room on the disks that a run writes to."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LEAST_TO_START = 200_000_000
"""Free bytes below which no run is started."""
LEAST_TO_GO_ON = 50_000_000
"""Free bytes below which a program is ended."""


def find_full(folders: Iterable[Path], least: int) -> Path | None:
    """Returns the first folder whose disk has less than ``least`` free bytes. One that is not there is free."""
    for folder in folders:
        with suppress(OSError):
            found = os.statvfs(folder)
            if found.f_bavail * found.f_frsize < least:
                return folder
    return None
