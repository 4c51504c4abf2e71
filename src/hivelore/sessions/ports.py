"""Ports of sessions: transcript files, summarizers and the spool of hook events."""

from collections.abc import Sequence
from typing import Protocol

from hivelore.memories.model import Json
from hivelore.sessions.model import Summary, Task, Transcript


class Transcripts(Protocol):
    """The files in which agent programs on this machine keep their sessions."""

    def end(self, path: str, most: int) -> tuple[Sequence[str], bool]:
        """The last whole lines of a file, of at most so many bytes, and whether there is more before them; what is no
        text in them is replaced. Raises NotFound for what cannot be read, or is no transcript."""
        ...


class Summarizer(Protocol):
    """Tells what is worth keeping of a conversation."""

    @property
    def name(self) -> str:
        """Who makes the summaries when all goes well, for people."""
        ...

    def summary(self, conversation: Transcript, task: Task | None) -> Summary:
        """Of a conversation whose texts are clean. Raises Unavailable when trying later may help, Invalid for one that
        can never be summarised."""
        ...


class Spool(Protocol):
    """Events that hooks could not hand over. Raises Unavailable where that may be otherwise later."""

    def waiting(self) -> Sequence[str]:
        """Names of those that wait, oldest first."""
        ...

    def read(self, name: str) -> Json:
        """Raises Invalid for what can never be read."""
        ...

    def remove(self, name: str) -> None:
        """Removing twice is fine."""
        ...

    def set_aside(self, name: str) -> None:
        """Keep it where it waits no more."""
        ...

    def lost(self) -> int:
        """How many there were that nobody could keep."""
        ...
