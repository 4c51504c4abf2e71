"""What happens in an agent program, told the same way whichever program it is."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hivelore.domain.text import Clean
from hivelore.domain.transcript import EventId, SubAgent, Task


class Kind(StrEnum):
    STARTED = "started"
    """A session has begun, or goes on."""
    ASKED = "asked"
    """Somebody asked the agent for something."""
    ANSWERED = "answered"
    """The agent is done with what it was asked for."""
    ADVANCED = "advanced"
    """It is done with a part of that."""
    COMPACTING = "compacting"
    """The program is about to shorten the conversation."""
    COMPACTED = "compacted"
    """It has done so."""
    SUBAGENT_STARTED = "sub-agent started"
    SUBAGENT_ENDED = "sub-agent ended"
    ENDED = "ended"
    """The session is over."""


class Origin(StrEnum):
    """How a session came to start."""

    NEW = "new"
    CLEARED = "cleared"
    """New, in the place of another one."""
    RESUMED = "resumed"
    """The conversation of before is there again."""
    COMPACTED = "compacted"
    """What is left of the conversation is a summary of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """One event, told once or again. ``text`` is what was asked for, what was answered last, or the summary of what was
    compacted."""

    id: EventId
    kind: Kind
    program: str
    session: Clean
    """As the program calls it."""
    at: datetime
    project: Clean | None = None
    task: Task | None = None
    """What the agent was started for (A45)."""
    origin: Origin = Origin.NEW
    """Of a session that started."""
    text: Clean | None = None
    model: str | None = None
    """That the agent thinks with, as the program calls it; None: it does not say so at this event."""
    subagent: SubAgent | None = None
    transcript: str | None = None
    """Where the program keeps the conversation, of the sub-agent where it is about one; a path on its machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the program is to be told."""

    context: str | None = None
    """For the eyes of the model."""


NOTHING = Reply()
