"""What was said and done in a session of an agent program, and what is handed over when a session ends."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

from hivelore.domain.agent import Viewer

EventId = NewType("EventId", str)
"""Made by who hands over; the same one twice is the same event."""


class Who(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "tool call"
    RESULT = "tool result"


class Does(StrEnum):
    """What a tool is for, whatever a program calls it."""

    RUN = "run"
    """Commands of a shell."""
    WRITE = "write"
    """Changes files."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    does: Does
    on: str
    """The input of interest: the command, the path of the file, the address, the question; may be empty."""
    wrote: str = field(default="", compare=False)
    """What was put into files, as far as that was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    who: Who
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
        return len(self.text) + (0 if self.tool is None else len(self.tool.on))


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
class Ended:
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
    goes_on: bool = False
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

    ended: Ended
    """Its texts are clean."""
    by: Viewer
    state: HandoverState = HandoverState.WAITING
    attempts: int = 0
    not_before: datetime
    """When it is to be looked at."""
