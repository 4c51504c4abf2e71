"""Log of the output of a run: a private file of bounded size."""

import os
from pathlib import Path

from hivelore.local import private_files

LARGEST_PART = 5_000_000
"""Bytes of one of the two files: the newer one, and the one before."""
FORMER = ".1"


class RunLog:
    """The last part of an output. A full disk ends the log, not the run."""

    def __init__(self, file: Path, largest: int = LARGEST_PART) -> None:
        self.file = file
        self._largest = largest
        self._descriptor: int | None = None
        self._size = 0
        self.is_incomplete = False
        """True if something could not be written."""

    def write(self, data: bytes) -> None:
        try:
            self._write(data[-self._largest :])
        except OSError:
            self.is_incomplete = True

    def _write(self, data: bytes) -> None:
        if self._descriptor is not None and self._size + len(data) > self._largest:
            self.close()
            self.file.replace(f"{self.file}{FORMER}")
        if self._descriptor is None:
            self._descriptor = private_files.open_private(self.file, os.O_WRONLY | os.O_TRUNC)
            self._size = 0
        while data:
            written = os.write(self._descriptor, data)
            self._size += written
            data = data[written:]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
