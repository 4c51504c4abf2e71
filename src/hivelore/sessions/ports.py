"""Ports: transcript files, summarizers and the spool of hook events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.text import Clean
from hivelore.memories.model import Json
from hivelore.sessions.model import EventId, Handover, HandoverState, Session, SessionEnd, Summary, Task, Transcript


class Transcripts(Protocol):
    """Transcript files of agent programs on this machine."""

    def read_end(self, path: str, most: int) -> tuple[Sequence[str], bool]:
        """Returns the last complete lines within ``most`` bytes, and True if earlier lines are missing. Invalid UTF-8
        is replaced. Raises NotFound if the file is no transcript or cannot be read."""
        ...


class Summarizer(Protocol):
    """Selects the points of a conversation that are worth storing."""

    @property
    def name(self) -> str:
        """Name for display."""
        ...

    def summarize(self, conversation: Transcript, task: Task | None) -> Summary:
        """Summarizes a redacted conversation. Raises Unavailable if a retry may help, Invalid if it cannot."""
        ...


class HandOver(Protocol):
    """Queues the end of a session for its summary."""

    def __call__(self, ended: SessionEnd, viewer: Viewer, delay: timedelta = ..., /) -> None:
        """``delay``: time before which the end is not handled. The same event again has no effect."""
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


class SessionReads(Protocol):
    """Sessions, and handovers of ended sessions."""

    def session(self, agent: AgentId, session: Clean) -> Session | None: ...

    def sessions_since(self, since: datetime, limit: int) -> Sequence[Session]:
        """Returns the sessions updated at ``since`` or later, newest first, then by agent and id."""
        ...

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
