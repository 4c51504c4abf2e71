"""Port of memory folders: the files of agents on this machine."""

from typing import Protocol

from hivelore.folders.model import FolderScan


class Workspace(Protocol):
    """The files of agents on this machine, as far as they may be memories (``folders.rules``). No link is followed,
    and nothing but files is opened."""

    @property
    def path(self) -> str:
        """Where it is, with links followed."""
        ...

    def create_folders(self) -> None:
        """See that it has folders for memories. Raises Unavailable."""
        ...

    def scan(self) -> FolderScan:
        """Which files there are now; 10,000 at most."""
        ...

    def read(self, path: str, most: int) -> tuple[str, bytes]:
        """The mark of a file, and its content that goes with it. Raises NotFound where it is gone, no file or just
        being written, TooLarge over so many bytes, Unavailable where it cannot be read now."""
        ...
