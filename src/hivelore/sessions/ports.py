"""Ports: transcript files, summarizers and the spool of hook events."""

from collections.abc import Sequence
from typing import Protocol

from hivelore.memories.model import Json
from hivelore.sessions.model import Summary, Task, Transcript


class Transcripts(Protocol):
    """Transcript files of agent programs on this machine."""

    def end(self, path: str, most: int) -> tuple[Sequence[str], bool]:
        """Returns the last complete lines within ``most`` bytes, and True if earlier lines are missing. Invalid UTF-8
        is replaced. Raises NotFound if the file is no transcript or cannot be read."""
        ...


class Summarizer(Protocol):
    """Selects the points of a conversation that are worth storing."""

    @property
    def name(self) -> str:
        """Name for display."""
        ...

    def summary(self, conversation: Transcript, task: Task | None) -> Summary:
        """Summarizes a redacted conversation. Raises Unavailable if a retry may help, Invalid if it cannot."""
        ...


class Spool(Protocol):
    """Hook events that could not be delivered. All methods raise Unavailable if a retry may help."""

    def waiting(self) -> Sequence[str]:
        """Returns the names of waiting events, oldest first."""
        ...

    def read(self, name: str) -> Json:
        """Raises Invalid if the event can never be read."""
        ...

    def remove(self, name: str) -> None:
        """Removing a missing event has no effect."""
        ...

    def set_aside(self, name: str) -> None:
        """Keeps an unreadable event outside the queue."""
        ...

    def lost(self) -> int:
        """Returns the number of events that could not be spooled."""
        ...
