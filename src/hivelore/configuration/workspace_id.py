"""The id of a workspace, in a file of the workspace. It stays when the folder or the machine gets another name."""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

from hivelore.errors import Conflict
from hivelore.local import private_files

FILE = ".hivelore-workspace"
_ID = re.compile(r"[0-9a-f]{32}")
_BYTES = 16


class WorkspaceId:
    def __init__(self, folder: Path, random: Callable[[int], bytes]) -> None:
        self._folder = folder
        self._random = random

    @property
    def location(self) -> str:
        """The machine and the folder, for people."""
        return f"{socket.gethostname()}:{os.path.realpath(self._folder)}"

    def find(self) -> str | None:
        """Returns the id; None if the workspace has none yet. Raises Conflict if the file was damaged."""
        file = Path(os.path.realpath(self._folder), FILE)
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Conflict(
                f"{file} cannot be read ({error.strerror}). Make it a readable file, or remove it."
            ) from None
        with os.fdopen(descriptor, "rb") as opened:
            try:
                text = opened.read(100).decode("ascii", "replace").strip()
            except OSError as error:
                raise Conflict(f"{file} cannot be read ({error.strerror}). Remove it.") from None
        if not _ID.fullmatch(text):
            raise Conflict(f"{file} has no id of a workspace. Restore the file, or remove it to get a new id.")
        return text

    def make(self) -> str:
        """Returns the id, which is created if there is none. Raises Conflict if that is not possible."""
        known = self.find()
        if known is not None:
            return known
        fresh = self._random(_BYTES).hex()
        file = Path(os.path.realpath(self._folder), FILE)
        try:
            with private_files.replacing(file) as out:
                out.write(f"{fresh}\n".encode())
        except OSError as error:
            raise Conflict(
                f"{file} cannot be created ({error.strerror}). Make the workspace writable, or leave envPath out."
            ) from None
        return fresh
