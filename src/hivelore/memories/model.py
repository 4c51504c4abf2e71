"""The values of a memory: the memory, its chunks and passages, and its versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names, written
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.observations.model import Operational

MemoryId = NewType("MemoryId", str)
"""A UUID (version 7) in its lower-case text form."""

NAME_LENGTH = 500
CATEGORY_LENGTH = 100
SUBJECT_LENGTH = 200
DEFAULT_CATEGORY = Clean("note")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Scope(StrEnum):
    AGENT = "agent"
    """Private to its owner."""
    SWARM = "swarm"
    """Shared with every agent of the swarm."""


class Source(StrEnum):
    """Origin of a memory. It decides the lifetime."""

    MANUAL = "manual"
    FILE_INDEX = "file_index"
    SESSION_SUMMARY = "session_summary"
    TASK_COMPLETION = "task_completion"
    LESSON = "lesson"


class TaskStatus(StrEnum):
    """How a task ended."""

    COMPLETED = "completed"
    FAILED = "failed"


class Trust(StrEnum):
    """Reliability of the origin of a text, highest first."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL_OUTPUT = "tool_output"
    WEB = "web"


class Provenance(Value, frozen=True, kw_only=True):
    """Author, interface and trust of the current version."""

    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    trust: Trust = Trust.AGENT
    reason: Clean | None = None


class Topic(NamedTuple):
    """Identifies a fact. Memories with the same topic supersede each other in time."""

    home: AgentId | None
    """``Memory.home``"""
    project: Clean | None
    subject: Clean


class Statement(NamedTuple):
    """Identifies a statement. Storing an equal statement updates the existing memory."""

    owner: AgentId | None
    scope: Scope
    project: Clean | None
    session: Clean | None
    name: Clean
    content: Clean


class Memory(Value, frozen=True, kw_only=True, omit_defaults=True, rename=json_names(owner="agentId")):
    """A document with an id that stays the same across edits. Texts are ``Clean``; instants are in UTC."""

    id: MemoryId
    owner: AgentId | None
    """None: owned by the swarm. Only possible with scope swarm."""
    scope: Scope
    name: Clean
    content: Clean
    summary: Clean
    source: Source
    created_at: datetime
    updated_at: datetime
    provenance: Provenance
    category: Clean = written(DEFAULT_CATEGORY)
    tags: tuple[Clean, ...] = written(())
    project: Clean | None = written(None)
    session: Clean | None = written(None)
    author: Clean | None = written(None)
    source_task_id: Clean | None = written(None)
    source_path: Clean | None = written(None)
    external_id: Clean | None = written(None)
    metadata: Mapping[str, Any] = written({})
    expires_at: datetime | None = written(None)
    accessed_at: datetime | None = written(None)
    access_count: int = written(0)
    version: int = written(1)
    subject: Clean | None = written(None)
    """Fact key such as ``db.port``. One memory per ``topic`` is valid at a time."""
    valid_from: datetime | None = written(None)
    """Start of validity. None: the time of creation."""
    valid_until: datetime | None = written(None)
    """Start of validity of the memory that superseded this one. None: not superseded."""
    supersedes: MemoryId | None = written(None)
    """Id of the superseded memory. An imported memory may contain an external id here while the memory it refers to
    does not exist."""
    operational: Operational | None = None
    """Not part of the versions. Observations record its changes. JSON omits it if None."""

    def __post_init__(self) -> None:
        if not self.content.strip():
            raise ValueError("a memory needs content")
        if not 1 <= len(self.name) <= NAME_LENGTH:
            raise ValueError(f"a name has 1 to {NAME_LENGTH} characters")
        if self.owner is None and self.scope is not Scope.SWARM:
            raise ValueError("a private memory needs an owner")
        if self.subject is not None and not 1 <= len(self.subject) <= SUBJECT_LENGTH:
            raise ValueError(f"a subject has 1 to {SUBJECT_LENGTH} characters")
        kept = (self.created_at, self.updated_at, self.expires_at, self.accessed_at, self.valid_from, self.valid_until)
        for instant in kept:
            if instant is not None and instant.tzinfo is not UTC:
                raise ValueError("instants are in UTC")

    @property
    def home(self) -> AgentId | None:
        """The owner if private; None if shared. A path or external id is unique per home and project."""
        return self.owner if self.scope is Scope.AGENT else None

    @property
    def holds_since(self) -> datetime:
        return self.created_at if self.valid_from is None else self.valid_from

    @property
    def topic(self) -> Topic | None:
        return None if self.subject is None else Topic(self.home, self.project, self.subject)

    @property
    def statement(self) -> Statement:
        return Statement(self.owner, self.scope, self.project, self.session, self.name, self.content)

    def held_at(self, at: datetime) -> bool:
        """Returns True if the memory was valid at this instant, according to current knowledge."""
        return self.holds_since <= at and (self.valid_until is None or self.valid_until > at)

    def is_live(self, now: datetime) -> bool:
        return self.expires_at is None or self.expires_at > now


ENDING_LENGTH = 20
"""Number of characters at the end of a text that ``is_question`` needs."""


class RankFeatures(NamedTuple):
    """The attributes of a memory that ranking reads. Excludes its texts."""

    id: MemoryId
    created_at: datetime
    accessed_at: datetime | None
    access_count: int
    session: str | None
    project: str | None
    author: str | None
    length: int
    """Characters of the content, at least 1."""
    is_question: bool
    """True if the content ends with a question mark."""
    use: UsageCounts = NO_USAGE
    operational: Operational | None = None


def rank_features(memory: Memory) -> RankFeatures:
    return RankFeatures(
        id=memory.id,
        created_at=memory.created_at,
        accessed_at=memory.accessed_at,
        access_count=memory.access_count,
        session=memory.session,
        project=memory.project,
        author=memory.author,
        length=len(memory.content),
        is_question=is_question(memory.content[-ENDING_LENGTH:]),
        operational=memory.operational,
    )


def is_question(end: str) -> bool:
    """Returns True if the end of a text (20 characters are enough) is that of a question."""
    return end.rstrip().endswith(("?", "？", "؟"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A span of about 1,000 characters of the content: the unit that has a vector."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A span of at most 2,000 characters of the content (A14): the unit of the keyword index."""

    index: int
    """0-based position in its document."""
    start: int
    stop: int
    headings: tuple[str, ...]
    """Markdown headings above the chunk with their marks, outermost first: ``('# A', '## B')``."""
    passages: tuple[Passage, ...]

    def identity(self, content: str) -> object:
        """Returns a value that is equal for chunks with the same text, headings and passages, at any position."""
        cuts = tuple((passage.start - self.start, passage.stop - self.start) for passage in self.passages)
        return content[self.start : self.stop], self.headings, cuts


class Action(StrEnum):
    """An action on a memory, recorded in versions and in the audit trail."""

    CREATED = "created"
    EDITED = "edited"
    PROMOTED = "promoted"
    DEMOTED = "demoted"
    FORGOTTEN = "forgotten"
    READ = "read"
    """Another agent's private memory was read."""
    PROPOSED = "proposed"
    """A change was proposed for review."""
    DECIDED = "decided"
    """A proposal was decided."""
    UNDONE = "undone"
    """A change, or the recorded usage, was reverted."""


class Version(Value, frozen=True, kw_only=True, rename=json_names(number="version")):
    """One state of a memory and who created it. The oldest is number 1."""

    number: int
    at: datetime
    action: Action
    actor: AgentId | None
    interface: Interface
    reason: Clean | None
    scope: Scope
    name: Clean
    content: Clean
    summary: Clean
    category: Clean
    tags: tuple[Clean, ...]
    project: Clean | None
    expires_at: datetime | None
    subject: Clean | None
    valid_from: datetime | None


LIFETIMES: Mapping[Source, timedelta | None] = {
    Source.TASK_COMPLETION: timedelta(days=7),
    Source.SESSION_SUMMARY: timedelta(days=3),
    Source.FILE_INDEX: timedelta(days=30),
    Source.LESSON: timedelta(days=30),
    Source.MANUAL: None,
}


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetime by source. None: no expiry."""

    by_source: Mapping[Source, timedelta | None] = field(default_factory=lambda: dict(LIFETIMES))

    def expiry(self, source: Source, born: datetime) -> datetime | None:
        """Returns when a memory written at ``born`` expires, to the second; None means never."""
        lifetime = self.by_source[source]
        if lifetime is None:
            return None
        return (born + lifetime).replace(microsecond=0)
