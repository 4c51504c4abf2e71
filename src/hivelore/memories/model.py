"""What is remembered: the memory, its chunks and passages, its versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
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
    """Where a memory came from; decides how long it lives."""

    MANUAL = "manual"
    FILE_INDEX = "file_index"
    SESSION_SUMMARY = "session_summary"
    TASK_COMPLETION = "task_completion"


class Trust(StrEnum):
    """How far the origin of a text can be relied on, highest first."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL_OUTPUT = "tool_output"
    WEB = "web"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who wrote the present version, through which door, and how far it is to be trusted."""

    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    trust: Trust = Trust.AGENT
    reason: Clean | None = None


class Topic(NamedTuple):
    """What memories are facts about: those with the same one take each other's place in time."""

    home: AgentId | None
    """The shelf (``Memory.home``)."""
    project: Clean | None
    subject: Clean


class Statement(NamedTuple):
    """What is told once more when nothing of this differs."""

    owner: AgentId | None
    scope: Scope
    project: Clean | None
    session: Clean | None
    name: Clean
    content: Clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing known: a document with an identity that outlives its edits.

    Texts are ``Clean``; instants have a zone and are UTC.
    """

    id: MemoryId
    owner: AgentId | None
    """None: the swarm's own, only with scope swarm."""
    scope: Scope
    name: Clean
    content: Clean
    summary: Clean
    source: Source
    created_at: datetime
    updated_at: datetime
    provenance: Provenance
    category: Clean = DEFAULT_CATEGORY
    tags: tuple[Clean, ...] = ()
    project: Clean | None = None
    session: Clean | None = None
    author: Clean | None = None
    source_task_id: Clean | None = None
    source_path: Clean | None = None
    external_id: Clean | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    expires_at: datetime | None = None
    accessed_at: datetime | None = None
    access_count: int = 0
    version: int = 1
    subject: Clean | None = None
    """What it is a fact about, like ``db.port``: of one ``topic`` one memory holds at a time."""
    valid_from: datetime | None = None
    """Since when it holds; None: since it was created."""
    valid_until: datetime | None = None
    """When another one took its place; None: none did."""
    supersedes: MemoryId | None = None
    """Whose place it took. One that came with others from elsewhere may name by its external id what is not there."""
    operational: Operational | None = None
    """Has no versions: what becomes of it is told by observations."""

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
        """Whose shelf it lies on: the owner's while private, the swarm's (None) once shared.

        A path or an external id names one document per shelf and project."""
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
        """Whether it held at an instant, as far as is known now."""
        return self.holds_since <= at and (self.valid_until is None or self.valid_until > at)

    def is_live(self, now: datetime) -> bool:
        return self.expires_at is None or self.expires_at > now


ENDING_LENGTH = 20
"""How many characters at the end of a text tell whether it asks."""


class RankFeatures(NamedTuple):
    """What ranking asks of a memory, without its texts."""

    id: MemoryId
    created_at: datetime
    accessed_at: datetime | None
    access_count: int
    session: str | None
    author: str | None
    length: int
    """Characters of its content, at least 1."""
    is_question: bool
    """Whether it ends as a question."""
    use: UsageCounts = NO_USAGE
    operational: Operational | None = None


def rank_features(memory: Memory) -> RankFeatures:
    return RankFeatures(
        id=memory.id,
        created_at=memory.created_at,
        accessed_at=memory.accessed_at,
        access_count=memory.access_count,
        session=memory.session,
        author=memory.author,
        length=len(memory.content),
        is_question=is_question(memory.content[-ENDING_LENGTH:]),
        operational=memory.operational,
    )


def is_question(end: str) -> bool:
    """Whether the last 20 characters of a text are those of a question."""
    return end.rstrip().endswith(("?", "？", "؟"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """About 1,000 characters of own text: the unit that gets a vector. A span of the memory's content."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """At most 2,000 characters (A14): the unit that keywords are indexed by. A span of the content."""

    index: int
    """0-based position in its document."""
    start: int
    stop: int
    headings: tuple[str, ...]
    """The markdown headings above it, outermost first, with their marks: ``('# A', '## B')``."""
    passages: tuple[Passage, ...]

    def identity(self, content: str) -> object:
        """Equal for chunks that are the same wherever they stand: the text, the headings, and how it is cut."""
        cuts = tuple((passage.start - self.start, passage.stop - self.start) for passage in self.passages)
        return content[self.start : self.stop], self.headings, cuts


class Action(StrEnum):
    """What was done to a memory; one of these stands in every version and audit row."""

    CREATED = "created"
    EDITED = "edited"
    PROMOTED = "promoted"
    DEMOTED = "demoted"
    FORGOTTEN = "forgotten"
    READ = "read"
    """Somebody with a wider view read a private memory of another."""
    PROPOSED = "proposed"
    """Somebody asked others to decide about it."""
    DECIDED = "decided"
    """Somebody did."""
    UNDONE = "undone"
    """What was done to it, or what was known of its use, was taken back: it is as it was before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One state of a memory and who brought it about, oldest is number 1."""

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
