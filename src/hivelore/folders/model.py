"""Values of memory folders and of the files in them.

Paths are relative to the workspace, with ``/`` as separator.
"""

from dataclasses import dataclass

from hivelore.core.text import Clean
from hivelore.memories.model import MemoryId, Scope


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    path: str
    scope: Scope
    agent: str | None = None
    """Name or id of the owning agent; None for the local agent."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that was stored as a memory."""

    place: Clean
    """Key of the workspace: its path and machine."""
    path: Clean
    mark: str
    """Changes with each write of the file, not with its name or folder."""
    digest: str
    """SHA-256 of the content, in hexadecimal."""
    memory: MemoryId


@dataclass(frozen=True, slots=True)
class FolderScan:
    """Files found by one scan, without links and special files."""

    marks: dict[str, str]
    """Marks of the files, by path."""
    unread: tuple[str, ...] = ()
    """Folders that could not be read completely; their files may still exist. An empty path stands for all."""
    problem: str | None = None
    """Reason, for display."""
