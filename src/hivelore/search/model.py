"""What is asked for, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, Self

from msgspec.structs import asdict

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.memories.model import Memory, MemoryId, Scope, Source, Version
from hivelore.observations.model import GENERAL

RecallId = NewType("RecallId", str)
"""A UUID (version 7) in its lower-case text form."""

LIMIT_RANGE = (1, 50)
DEFAULT_LIMIT = 10
ANY_PROJECT = "*"
"""Ask for this project to search all of them; nothing is kept under it."""
BUDGET_RANGE = (50, 100_000)
QUERY_LENGTH = 100_000


def project_filter(project: Clean | None) -> Clean | None:
    """The project a search is narrowed to; None, for no filter, where none is known or all are asked for."""
    return None if project == ANY_PROJECT else project


class ScopeChoice(StrEnum):
    """Which shelves a search looks at (A13)."""

    ALL = "all"
    AGENT = "agent"
    SWARM = "swarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """What a viewer may see, ready for a store to apply without opinion.

    A memory passes when it is shared and ``swarm`` holds, or private and of ``own``, or private and
    ``others`` holds.
    """

    own: AgentId | None
    swarm: bool
    others: bool = False

    def admits(self, owner: AgentId | None, scope: Scope) -> bool:
        if scope is Scope.SWARM:
            return self.swarm
        return self.others or (self.own is not None and owner == self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories count. Every part left at None admits all; parts are joined by AND."""

    visibility: Visibility
    owner: AgentId | None = None
    source: Source | None = None
    project: Clean | None = None
    """A memory without a project is nobody's in particular and passes too."""
    session: Clean | None = None
    tag: Clean | None = None
    category: Clean | None = None
    operational: bool | None = None
    """Only what is about running things, or only what is not."""
    service: Clean | None = None
    """Only what is about running this one; GENERAL: what is, and names no service."""
    subject: Clean | None = None
    superseded: bool | None = None
    """Only what another one took the place of, or only what none did."""
    held_at: datetime | None = None
    """Only what held at this instant, as far as is known now."""
    live_at: datetime | None = None
    """Only what has not expired at this instant."""
    expired_at: datetime | None = None
    """Only what has expired at this instant."""
    created_before: datetime | None = None
    created_after: datetime | None = None

    def admits(self, memory: Memory) -> bool:
        """The meaning of a filter; every store must agree with it."""
        return (
            self.visibility.admits(memory.owner, memory.scope)
            and (self.owner is None or memory.owner == self.owner)
            and (self.source is None or memory.source is self.source)
            and (self.project is None or memory.project is None or memory.project == self.project)
            and (self.session is None or memory.session == self.session)
            and (self.tag is None or self.tag in memory.tags)
            and (self.category is None or memory.category == self.category)
            and (self.operational is None or (memory.operational is not None) is self.operational)
            and (self.service is None or _is_about(self.service, memory))
            and (self.subject is None or memory.subject == self.subject)
            and (self.superseded is None or (memory.valid_until is not None) is self.superseded)
            and (self.held_at is None or memory.held_at(self.held_at))
            and (self.live_at is None or memory.is_live(self.live_at))
            and (self.expired_at is None or not memory.is_live(self.expired_at))
            and (self.created_before is None or memory.created_at < self.created_before)
            and (self.created_after is None or memory.created_at >= self.created_after)
        )

    @property
    def needs_store(self) -> bool:
        """Whether it asks for more than an index knows of a document (``Attributes``): what passes, the store tells."""
        told = (self.tag, self.operational, self.service, self.subject, self.held_at)
        return any(part is not None for part in told)


def _is_about(service: Clean, memory: Memory) -> bool:
    return memory.operational is not None and (memory.operational.service or GENERAL) == service


EVERYTHING = Filter(visibility=Visibility(own=None, swarm=True, others=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What somebody wants to know. ``project`` None: no filter by project."""

    text: Clean
    limit: int = DEFAULT_LIMIT
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    owner: AgentId | None = None
    session: Clean | None = None
    project: Clean | None = None
    now: datetime | None = None
    """Ask as if it were then (ranking, expiry and dates in the text); None: the present."""
    as_of: datetime | None = None
    """Only what held then, in the words of then; None: what holds now."""
    superseded: bool = False
    """Also what another memory took the place of."""
    only_fitting: bool = False
    """Only hits that fit; none where nothing does (N06)."""
    known: frozenset[tuple[MemoryId, int]] = frozenset()
    """Memories that whoever asks has seen, by id and version: left out, and nothing else takes their place."""
    diversity: float = 0.0
    """0: by score alone; towards 1, hits that are unlike each other rather than good."""
    budget: int | None = None
    """Tokens that names and passages take together, estimated; None: no bound."""


class RetrievalMode(StrEnum):
    """How an answer was found; an answer from a fallback says so (A24)."""

    HYBRID = "hybrid"
    KEYWORDS = "keywords"
    RECENT = "recent"


class Score(Value, frozen=True, kw_only=True):
    """A score with its parts (B21). ``similarity`` is the fused relevance, 0 to 1. ``total`` is in the same range, but
    usefulness can raise it; with ``HIVELORE_RANKING=documented`` an access boost can raise it to 1.5."""

    keyword: float = 0.0
    vector: float = 0.0
    similarity: float
    prior: float = 0.0
    """Added to the similarity by ``search.ranking``."""
    recency: float = 0.0
    access: float = 0.0
    update: float = 0.0
    """Added to the total by ``search.ranking``."""
    confidence: float = 1.0
    usefulness: float = 1.0
    total: float

    @property
    def parts(self) -> Mapping[str, float]:
        return asdict(self)

    def rounded(self) -> Self:
        """Returns the score as answers contain it, with six decimals."""
        return type(self)(**{name: round(part, 6) for name, part in self.parts.items()})


class Snippet(Value, frozen=True, kw_only=True):
    """The best passage of a hit, as shown (A20)."""

    content: str
    chunk_index: int
    total_chunks: int
    headings: tuple[str, ...]


class Hit(Value, frozen=True, kw_only=True):
    memory: Memory
    passage: Snippet
    score: Score
    fit: float = 0.0
    """How far it has to do with the question at all (``search.selection``), 0..3; ``score`` only compares
    hits."""
    fits: bool = False
    """Whether it is worth giving to somebody who did not ask."""
    alike: int = 0
    """How many others that say the same were left out."""


class RecallResult(Value, frozen=True, kw_only=True, rename=json_names(hits="results", id="recallId")):
    """Hits, best first, and how they were found."""

    message: str
    id: RecallId | None = None
    """Id in the recall log; None: not logged."""
    path: RetrievalMode
    fits: bool
    """True if any hit fits."""
    hits: tuple[Hit, ...]


class MemoryPage(Value, frozen=True, kw_only=True):
    """Memories, newest first with the id as tie; ``next`` continues behind the last one."""

    memories: tuple[Memory, ...]
    next: str | None


class UndoneChange(Value, frozen=True, kw_only=True, rename=json_names(interface="door")):
    """That a change of a memory, or what was known of its use, was taken back."""

    at: datetime
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    change: str
    """What it was, and its batch."""


class History(Value, frozen=True, kw_only=True):
    """How a memory became what it is."""

    versions: tuple[Version, ...]
    """Oldest first; the last one is the present."""
    supersedes: MemoryId | None
    superseded_by: tuple[MemoryId, ...]
    """As far as whoever asks may see them."""
    taken_back: tuple[UndoneChange, ...] = ()
    """Changes that are no version any more, newest first."""


class Difference(Value, frozen=True, kw_only=True, rename=json_names(older="from", newer="to")):
    """What is different between two versions of a memory."""

    older: int
    newer: int
    fields: Mapping[str, str]
    """Those that differ, by their names in JSON, each as a unified diff."""


class Stats(Value, frozen=True, kw_only=True):
    total: int
    by_source: Mapping[Source, int]
    by_scope: Mapping[Scope, int]
    pending_embeddings: int
    failed: int
    expired: int
