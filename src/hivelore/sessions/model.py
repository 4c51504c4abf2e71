"""Values of sessions: transcripts, hook events, session ends and summaries."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.text import Clean
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId

EventId = NewType("EventId", str)
"""Chosen by the sender; the same id twice is the same event."""


class Speaker(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "tool call"
    RESULT = "tool result"


class ToolEffect(StrEnum):
    """Effect of a tool, independent of its name in a program."""

    RUN = "run"
    """Runs shell commands."""
    WRITE = "write"
    """Changes files."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    effect: ToolEffect
    target: str
    """Main input: command, path, address or query; may be empty."""
    written: str = field(default="", compare=False)
    """Text written to files, where known."""
    removed: str = field(default="", compare=False)
    """Text that ``written`` replaces, where known."""
    call: object = field(default_factory=object, compare=False, repr=False)
    """Identity of the call. The turns of a call and of its result have the same one, and so do their copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    speaker: Speaker
    text: str
    """Spoken text, or the output of a tool; empty for a call."""
    tool: Tool | None = None
    """Set for calls and results."""
    failed: bool = False
    """True if the tool reported a failure."""
    at: datetime | None = None

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.text) + (0 if self.tool is None else len(self.tool.target))


@dataclass(frozen=True, slots=True)
class Transcript:
    """Turns in order."""

    turns: tuple[Turn, ...]
    cut: bool = False
    """True if earlier turns are missing."""

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
    """A helper started by a session; ``id`` is unique within the session."""

    id: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """The end of a session, a sub-agent or a turn."""

    id: EventId
    program: str
    """``claude-code``, ``codex``, ..."""
    session: str
    at: datetime
    """UTC."""
    transcript: str | None = None
    """Path of the program's own file."""
    text: str | None = None
    """Conversation text, if there is no file."""
    last_message: str | None = None
    """Last message of the assistant, complete; the file may lag behind or be deleted."""
    project: str | None = None
    task: Task | None = None
    subagent: SubAgent | None = None
    is_partial: bool = False
    """True if only a turn ended; a later end replaces its summary."""

    @property
    def thread(self) -> str:
        """Key of the summary: the session, or one of its sub-agents."""
        whole = f"session:{self.program}:{self.session}"
        return whole if self.subagent is None else f"{whole}:{self.subagent.id}"


class HandoverState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    """Given up; not retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A stored session end. Its conversation text is dropped once it is summarized."""

    ended: SessionEnd
    """Redacted."""
    by: Viewer
    state: HandoverState = HandoverState.WAITING
    attempts: int = 0
    not_before: datetime
    """Earliest time of the next attempt."""


MAX_INJECTED = 500
"""Newest injected memories that are remembered per session."""
GOAL_LENGTH = 1_000
MAX_OWED = 2
"""Newest prompts without an answer that are answered with the next one."""
MAX_DELEGATED = 20
"""Newest tasks of sub-agents that have not started that are remembered per session."""
MAX_MISSED = 20
"""Newest events whose answer was missed that are remembered per session."""
MAX_SHOWN = 500
"""Newest entries of ``Session.shown`` that are kept."""


def session_key(program: str, session: str, subagent: str | None) -> Clean:
    """Returns the key under which a session, or one of its sub-agents, is stored."""
    name = f"{program}:{session}"
    return Clean(name if subagent is None else f"{name}:{subagent}")


class Delegation(NamedTuple):
    """A task that the agent gives to a sub-agent which has not started yet."""

    type: str
    prompt: Clean
    at: datetime
    """UTC."""


class KnownLesson(NamedTuple):
    """A lesson drawn from a session."""

    external_id: Clean
    """Of its memory. Empty if another memory stated it already, or if it is no longer stored."""
    statements: tuple[str, ...]
    """Digests of the sentences it was drawn from."""
    content: str = ""
    """Digest of its stored content."""


MAX_LESSONS = 200
"""Newest lessons of a session that are remembered."""


@dataclass(frozen=True, slots=True)
class LessonProgress:
    """What was drawn from a session so far."""

    settled: str = ""
    """Digest of the last turn whose lessons are final; empty if none are."""
    lessons: tuple[KnownLesson, ...] = ()
    """Oldest first."""
    has_taught: bool = False
    """True once the session had enough evidence of teaching something."""


NO_LESSONS = LessonProgress()


class InjectedMemory(NamedTuple):
    """A version of a memory that the model has in its context."""

    memory: MemoryId
    version: int
    event: EventId
    """The event in reply to which it was injected."""
    is_pointer: bool = False
    """True if only its name was injected."""


class ShownMemory(NamedTuple):
    """A memory that was injected, whether or not the model still has it."""

    memory: MemoryId
    recall: RecallId | None
    """Recall that returned it; None for a recent memory."""
    event: EventId
    at: datetime
    """UTC."""


class AnsweredPrompt(NamedTuple):
    """A prompt whose memories did not reach the model at first and came with the answer to a later event, which may
    turn out to be late as well."""

    prompt: Clean
    event: EventId
    """The later event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    agent: AgentId
    id: Clean
    """Program and session, plus the sub-agent if any; each has its own context."""
    updated_at: datetime
    """UTC."""
    begun_at: datetime | None = None
    """When the service first saw it, UTC; None if not recorded."""
    goal: Clean | None = None
    """First prompt."""
    last_prompt: Clean | None = None
    """Last prompt."""
    context_event: EventId | None = None
    """Event in reply to which the session-start context was injected."""
    injected: tuple[InjectedMemory, ...] = ()
    """Oldest first."""
    shown: tuple[ShownMemory, ...] = ()
    """Oldest first."""
    work: Clean | None = None
    """Branch and names of changed files at the last start, as words."""
    delegated: tuple[Delegation, ...] = ()
    """Oldest first."""
    owed: tuple[Clean, ...] = ()
    """Prompts whose memories did not reach the model, oldest first."""
    answered: tuple[AnsweredPrompt, ...] = ()
    """Those that are no longer owed, oldest first; at most ``MAX_OWED``."""
    missed: tuple[EventId, ...] = ()
    """Events whose answer did not reach the model, oldest first."""
    progress: LessonProgress = NO_LESSONS
    nudge_event: EventId | None = None
    """Event in reply to which the agent was asked for lessons."""


class LessonKind(StrEnum):
    FIX = "fix"
    """Symptom, cause and remedy."""
    DECISION = "decision"
    CORRECTION = "correction"
    """A user corrects the agent, or tells it what to do instead."""
    CONVENTION = "convention"
    CONFIGURATION = "configuration"
    FAILED_APPROACH = "failed-approach"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One thing that a session taught."""

    kind: LessonKind
    text: str
    """Understandable alone."""
    name: str
    is_explicit: bool = False
    """True for the explicit word of a user, which never expires."""
    statements: tuple[str, ...] = ()
    """Digests of the sentences it was drawn from."""
    first_turn: int = 0
    last_turn: int = 0
    """Indexes in the conversation it was drawn from."""
    at: datetime | None = None
    files: tuple[str, ...] = ()
    command: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    points: tuple[str, ...]
    """One or two sentences each, most useful first; empty if nothing was learned."""
    quotes_tools: bool = False
    """True if some points quote tool output, which is untrusted."""
    lessons: tuple[Lesson, ...] = ()
    """Lessons that a model found. Those of the classifier do not depend on a summary."""
    shows_work: bool = True
    """True if it is worth storing although the session taught nothing."""
    by: str = ""
    """Name of the summarizer for display: ``extractive``, ``anthropic claude-haiku-5-5``."""

    @property
    def text(self) -> str:
        return "\n".join(f"- {point}" for point in self.points)


EMPTY_SUMMARY = Summary(())


class EventKind(StrEnum):
    STARTED = "started"
    """A session began or was resumed."""
    PROMPTED = "asked"
    """The user sent a prompt."""
    ANSWERED = "answered"
    """The agent finished its answer."""
    ADVANCED = "advanced"
    """The agent finished a part of its task."""
    COMPACTING = "compacting"
    """The program is about to compact the conversation."""
    COMPACTED = "compacted"
    """The conversation was compacted."""
    DELEGATED = "delegated"
    """The agent is about to start a sub-agent."""
    SUBAGENT_STARTED = "sub-agent started"
    SUBAGENT_ENDED = "sub-agent ended"
    ENDED = "ended"
    """The session ended."""


class Origin(StrEnum):
    """Kind of a session start."""

    NEW = "new"
    CLEARED = "cleared"
    """New, replacing another session."""
    RESUMED = "resumed"
    """The earlier conversation is restored."""
    COMPACTED = "compacted"
    """The conversation was replaced by its summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """One hook event; it may be delivered more than once. ``text`` is the prompt, the last answer, or the summary of a
    compaction."""

    id: EventId
    kind: EventKind
    program: str
    session: Clean
    """Session id of the program."""
    at: datetime
    project: Clean | None = None
    branch: Clean | None = None
    """Branch that is checked out, at the start of a session."""
    changed_files: tuple[Clean, ...] = ()
    """Paths of files that changed lately, at the start of a session."""
    task: Task | None = None
    """Task that the agent was started for (A45)."""
    completed: Task | None = None
    """Task of the program's own list that the agent completed; its id is unique within the session."""
    origin: Origin = Origin.NEW
    """Set for a session that started."""
    text: Clean | None = None
    model: str | None = None
    """Model name given by the program; None if the event has none."""
    subagent: SubAgent | None = None
    delegated: Delegation | None = None
    transcript: str | None = None
    """Path of the transcript on the program's machine, of the sub-agent for sub-agent events."""
    accepts_nudge: bool = False
    """True if the agent may be asked for lessons: HIVELORE_NUDGE is on, and the run is not headless."""
    is_continuation: bool = False
    """True if the agent already continues because a hook asked it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to a hook event."""

    context: str | None = None
    """Text for the model."""
    nudge: str | None = None
    """Request with which the agent continues instead of ending its turn."""


NO_REPLY = Reply()
