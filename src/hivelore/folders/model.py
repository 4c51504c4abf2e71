"""The folders in which agents keep memories as files, and what is known of the files in them.

Paths are relative to the workspace, with ``/`` between their parts.
"""

from dataclasses import dataclass

from hivelore.core.text import Clean
from hivelore.memories.model import MemoryId, Scope


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    path: str
    scope: Scope
    agent: str | None = None
    """Name or id of the agent whose it is; None: this machine's."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file whose content became a memory."""

    place: Clean
    """The workspace: where it is, and on which machine."""
    path: Clean
    mark: str
    """Changes with every writing of the file, and not with its name or folder."""
    digest: str
    """Of its content: SHA-256, in hexadecimal."""
    memory: MemoryId


@dataclass(frozen=True, slots=True)
class FolderScan:
    """What was found in the memory folders at one time. Links and whatever is no file are not in it."""

    marks: dict[str, str]
    """By path: the marks of the files."""
    unread: tuple[str, ...] = ()
    """Folders that could not be looked into, or not to their end: what was in them may still be there. An empty path
    stands for all of them."""
    problem: str | None = None
    """Why not, for people."""
