"""Port of memory folders: the files of agents on this machine."""

from collections.abc import Sequence
from typing import Protocol

from hivelore.folders.model import FolderScan, KnownFile


class Workspace(Protocol):
    """Files of agents on this machine that may be memories (``folders.rules``). Links are not followed, and only
    regular files are opened."""

    @property
    def path(self) -> str:
        """Real path of the workspace."""
        ...

    def create_folders(self) -> None:
        """Creates the memory folders. Raises Unavailable."""
        ...

    def scan(self) -> FolderScan:
        """Returns the current files, at most 10,000."""
        ...

    def read(self, path: str, most: int) -> tuple[str, bytes]:
        """Returns mark and content of a file. Raises NotFound if it is missing, not a regular file or being written,
        TooLarge above ``most`` bytes, Unavailable if it cannot be read now."""
        ...


class FileReads(Protocol):
    """The files of memory folders."""

    def files_after(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        """Returns the files behind this place and path, by place, then path."""
        ...


class FileWrites(Protocol):
    """The files of memory folders."""

    def put_files(self, files: Sequence[KnownFile]) -> None:
        """Inserts or replaces files by place and path."""
        ...

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        """Dropping twice is allowed."""
        ...
