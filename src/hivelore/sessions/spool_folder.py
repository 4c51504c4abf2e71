"""The folder in which hooks put events aside that they could not hand over."""

import errno
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from hivelore.errors import Invalid, Unavailable
from hivelore.local.endpoint import SPOOL, SPOOL_LOST
from hivelore.memories.model import Json

_SUFFIX = ".json"
_UNREADABLE = ".unreadable"
_MAX_BYTES = 64_000_000
"""Bytes of an event; hooks put less aside in all."""
_TRANSIENT_ERRORS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EAGAIN, errno.EINTR)
"""Reasons that have nothing to do with the file."""


class SpoolFolder:
    """Implements ``storage.ports.Spool``."""

    def __init__(self, home: Path) -> None:
        self._folder = home / SPOOL

    def waiting(self) -> Sequence[str]:
        try:
            return sorted(file.name for file in self._folder.iterdir() if file.suffix == _SUFFIX)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise Unavailable(f"The folder {self._folder} cannot be read ({error.strerror}).") from None

    def read(self, name: str) -> Json:
        try:
            return json.loads(_read_regular_file(self._folder / name))
        except (ValueError, RecursionError) as error:
            raise Invalid(f"{self._folder / name} is no event ({error}).") from None
        except OSError as error:
            kind = Unavailable if error.errno in _TRANSIENT_ERRORS else Invalid
            raise kind(f"{self._folder / name} cannot be read ({error.strerror}).") from None

    def remove(self, name: str) -> None:
        try:
            (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"{self._folder / name} cannot be removed ({error.strerror}).") from None

    def set_aside(self, name: str) -> None:
        file = self._folder / name
        try:
            file.rename(file.with_suffix(_UNREADABLE))
        except FileNotFoundError:
            pass  # A hook needed its room meanwhile.
        except OSError as error:
            raise Unavailable(f"{file} cannot be renamed ({error.strerror}).") from None

    def lost(self) -> int:
        try:
            return (self._folder / SPOOL_LOST).stat().st_size
        except OSError:
            return 0


def _read_regular_file(file: Path) -> bytes:
    """Of a file proper; what else lies there might never end, or be another user's."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as data:
        told = os.fstat(descriptor)
        if not stat.S_ISREG(told.st_mode) or told.st_size > _MAX_BYTES:
            raise ValueError("no file, or too large")
        return data.read(_MAX_BYTES)
