"""Ports of sessions: transcript files, summarizers and the spool of hook events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.memories.model import Json
from hivelore.sessions.model import EventId, Handover, HandoverState, Session, Summary, Task, Transcript


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


class SessionReads(Protocol):
    """Sessions, and handovers of ended sessions."""

    def session(self, agent: AgentId, session: Clean) -> Session | None: ...

    def handover(self, event: EventId) -> Handover | None: ...

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        """Returns the waiting handovers that are due, by the end of their session, then id."""
        ...

    def handovers_after(self, event: EventId, limit: int) -> Sequence[Handover]:
        """Returns handovers in any state with a greater id, by id."""
        ...

    def handover_counts(self) -> Mapping[HandoverState, int]:
        """Counts the handovers in each state, 0 included."""
        ...


class SessionWrites(Protocol):
    """Sessions, and handovers of ended sessions."""

    def put_session(self, session: Session) -> None:
        """Inserts or replaces a session."""
        ...

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        """Deletes up to ``limit`` sessions, oldest first, that were last updated before an instant or are not among the
        ``keep`` newest of their agent. Returns how many."""
        ...

    def put_handover(self, handover: Handover) -> None:
        """Inserts or replaces the handover of an ended session."""
        ...

    def prune_handovers(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` handovers that do not wait and whose ``not_before`` is before an instant. Returns how
        many."""
        ...
