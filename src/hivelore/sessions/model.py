"""What was said and done in a session of an agent program, and what is handed over when a session ends."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.text import Clean
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId

EventId = NewType("EventId", str)
"""Made by who hands over; the same one twice is the same event."""


class Speaker(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "tool call"
    RESULT = "tool result"


class ToolEffect(StrEnum):
    """What a tool is for, whatever a program calls it."""

    RUN = "run"
    """Commands of a shell."""
    WRITE = "write"
    """Changes files."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    effect: ToolEffect
    target: str
    """The input of interest: the command, the path of the file, the address, the question; may be empty."""
    written: str = field(default="", compare=False)
    """What was put into files, as far as that was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    speaker: Speaker
    text: str
    """What was said; of a result what the tool answered; empty for a call."""
    tool: Tool | None = None
    """Of calls and results."""
    failed: bool = False
    """Of a result: whether the tool said that it failed."""
    at: datetime | None = None

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.text) + (0 if self.tool is None else len(self.tool.target))


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns in their order."""

    turns: tuple[Turn, ...]
    cut: bool = False
    """Whether there was more before the first one."""

    @property
    def size(self) -> int:
        """Characters."""
        return sum(turn.size for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class SubAgent:
    """A helper that a session started; ``id`` is unique within it."""

    id: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """A session, a sub-agent or a long turn came to its end."""

    id: EventId
    program: str
    """``claude-code``, ``codex``, ..."""
    session: str
    at: datetime
    """UTC."""
    transcript: str | None = None
    """The path of the program's own file."""
    text: str | None = None
    """What was said, where there is no such file."""
    last_message: str | None = None
    """What the assistant said last, all of it: a file may lag behind it, or be gone."""
    project: str | None = None
    task: Task | None = None
    subagent: SubAgent | None = None
    is_partial: bool = False
    """Only a turn ended: what is made of it is replaced before long."""

    @property
    def thread(self) -> str:
        """What is distilled into one memory: the session, or one of its sub-agents."""
        whole = f"session:{self.program}:{self.session}"
        return whole if self.subagent is None else f"{whole}:{self.subagent.id}"


class HandoverState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    """For good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """An end as a store keeps it until it is distilled; after that without what was said."""

    ended: SessionEnd
    """Its texts are clean."""
    by: Viewer
    state: HandoverState = HandoverState.WAITING
    attempts: int = 0
    not_before: datetime
    """When it is to be looked at."""


MAX_INJECTED = 500
"""Of what was told in a session, so much is known at most: the newest."""
GOAL_LENGTH = 1_000
MAX_SHOWN = 500
"""Likewise of what was ever shown in it."""


def session_key(program: str, session: str, subagent: str | None) -> Clean:
    """What a session of a program is kept under, or that of a sub-agent in it."""
    name = f"{program}:{session}"
    return Clean(name if subagent is None else f"{name}:{subagent}")


class InjectedMemory(NamedTuple):
    """A memory as the model has seen it."""

    memory: MemoryId
    version: int
    event: EventId
    """With the reply to which it was told."""


class ShownMemory(NamedTuple):
    """A memory that was told, whether the model still knows it or not."""

    memory: MemoryId
    recall: RecallId | None
    """None: nobody asked for it, it was just new."""
    event: EventId
    at: datetime
    """UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    agent: AgentId
    id: Clean
    """Program and session, and of a sub-agent what it is called in there: one for each that remembers by itself what it
    was told."""
    updated_at: datetime
    """UTC."""
    begun_at: datetime | None = None
    """UTC, by the clock of the service, when it first heard of it; None: nobody has noted that."""
    goal: Clean | None = None
    """What was asked for first."""
    last_prompt: Clean | None = None
    """What was asked for last."""
    context_event: EventId | None = None
    """With the reply to which what is known of the project was told."""
    injected: tuple[InjectedMemory, ...] = ()
    """Oldest first."""
    shown: tuple[ShownMemory, ...] = ()
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Summary:
    points: tuple[str, ...]
    """One sentence or two each, the most useful first; none: nothing was learned."""
    quotes_tools: bool = False
    """Whether some of it are the words of tools: they may come from anywhere."""
    by: str = ""
    """Who made it, for people: ``extractive``, ``anthropic claude-haiku-5-5``."""

    @property
    def text(self) -> str:
        return "\n".join(f"- {point}" for point in self.points)


EMPTY_SUMMARY = Summary(())


class EventKind(StrEnum):
    STARTED = "started"
    """A session has begun, or goes on."""
    PROMPTED = "asked"
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
    kind: EventKind
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


NO_REPLY = Reply()
