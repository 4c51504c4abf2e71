"""Queries, filters and results of a search."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, Self

from msgspec.structs import asdict

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.links.model import Link
from hivelore.memories.model import Memory, MemoryId, Scope, Source, Version
from hivelore.observations.model import GENERAL

RecallId = NewType("RecallId", str)
"""A UUID (version 7) in its lower-case text form."""

LIMIT_RANGE = (1, 50)
DEFAULT_LIMIT = 10
ANY_PROJECT = "*"
"""As the project of a query: all projects. No memory has this project."""
BUDGET_RANGE = (50, 100_000)
QUERY_LENGTH = 100_000
RERANKED = 8
"""Best hits that the relevance model reads: as many as it manages in about 60 ms."""


def project_filter(project: Clean | None) -> Clean | None:
    """Returns the project that a search filters by; None for no filter."""
    return None if project == ANY_PROJECT else project


class ScopeChoice(StrEnum):
    """The memories that a search includes: private ones, shared ones or both (A13)."""

    ALL = "all"
    AGENT = "agent"
    SWARM = "swarm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """The memories that a viewer may see, as a store applies it.

    A memory passes if it is shared and ``swarm`` is True, or private to ``own``, or private and ``others`` is True.
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
    """Conditions on memories, joined by AND. None admits all."""

    visibility: Visibility
    owner: AgentId | None = None
    source: Source | None = None
    project: Clean | None = None
    """Memories without a project pass too."""
    session: Clean | None = None
    tag: Clean | None = None
    categories: frozenset[Clean] | None = None
    """The spellings of a category, at least one."""
    operational: bool | None = None
    """True: only operational memories; False: no operational memories."""
    services: frozenset[Clean] | None = None
    """Only operational memories about the service with these spellings, at least one; GENERAL: about no service in
    particular."""
    subject: Clean | None = None
    superseded: bool | None = None
    """True: only superseded memories; False: only others."""
    held_at: datetime | None = None
    """Only memories whose valid time contains this time, as known now."""
    live_at: datetime | None = None
    """Only memories that have not expired at this time."""
    expired_at: datetime | None = None
    """Only memories that have expired at this time."""
    created_before: datetime | None = None
    """Only memories created before this time."""
    created_after: datetime | None = None
    """Only memories created at this time or later."""

    def admits(self, memory: Memory) -> bool:
        """Returns True if the memory passes. Every store must agree with this."""
        return (
            self.visibility.admits(memory.owner, memory.scope)
            and (self.owner is None or memory.owner == self.owner)
            and (self.source is None or memory.source is self.source)
            and (self.project is None or memory.project is None or memory.project == self.project)
            and (self.session is None or memory.session == self.session)
            and (self.tag is None or self.tag in memory.tags)
            and (self.categories is None or memory.category in self.categories)
            and (self.operational is None or (memory.operational is not None) is self.operational)
            and (self.services is None or _is_about(self.services, memory))
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
        """True if it has conditions that only the store can check, because indexes know only ``Attributes``."""
        parts = (self.tag, self.operational, self.services, self.subject, self.held_at)
        return any(part is not None for part in parts)


def _is_about(services: frozenset[Clean], memory: Memory) -> bool:
    return memory.operational is not None and (memory.operational.service or GENERAL) in services


EVERYTHING = Filter(visibility=Visibility(own=None, swarm=True, others=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search. ``project`` None: no filter by project."""

    text: Clean
    limit: int = DEFAULT_LIMIT
    scope: ScopeChoice = ScopeChoice.ALL
    source: Source | None = None
    owner: AgentId | None = None
    session: Clean | None = None
    tag: Clean | None = None
    category: Clean | None = None
    project: Clean | None = None
    prefers: Clean | None = None
    """Memories of this project rank before others of similar relevance."""
    now: datetime | None = None
    """The time for ranking, expiry and dates in the text; None: the current time."""
    as_of: datetime | None = None
    """Only facts valid at this time, with their content of that time; None: facts valid now."""
    superseded: bool = False
    """Include superseded memories."""
    only_fitting: bool = False
    """Only hits above the relevance floor; possibly none (N06)."""
    floor: float | None = None
    """Least relevance of a hit that fits; None: that of searches."""
    least_relevance: float = 0.0
    """Only hits with at least this relevance; possibly none. 0: all."""
    most_fitting: int | None = None
    """Most hits that reach the relevance floor; None: as many as the limit. The rest of it is for weaker ones."""
    reads: int = 0
    """Number of best hits that the relevance model reads; they are then ordered by relevance."""
    known: frozenset[tuple[MemoryId, int]] = frozenset()
    """Memories that the caller knows, by id and version. They and their duplicates are left out and not replaced by
    less relevant ones."""
    awaits_latest: bool = False
    """Waits a moment for the vectors of the memories that the viewer just wrote."""
    diversity: float = 0.0
    """0: by score alone; greater values up to 1 prefer hits that differ from each other."""
    budget: int | None = None
    """Estimated tokens of all names and snippets together; None: no limit."""
    created_after: datetime | None = None
    """As in ``Filter``; likewise ``created_before``."""
    created_before: datetime | None = None


class RetrievalMode(StrEnum):
    """The way that a result was found. A fallback is named in the message (A24)."""

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
    """Factor of an operational memory, 1 for the usual confidence and for all others."""
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


class Evidence(Value, frozen=True, kw_only=True):
    """What speaks for the relevance of one hit."""

    cosine: float | None = None
    """Cosine of its nearest passage; None without a vector."""
    covered: float = 0.0
    """Share of the query that its words cover, 0..1; rare words count more."""
    identifier: float = 0.0
    """Rarity of the rarest identifier of the query that it contains, 0..1."""
    read: float | None = None
    """Log odds by the model that read query and memory together; None: not read."""

    def rounded(self) -> Self:
        """Returns the evidence as answers contain it, with four decimals."""
        return type(self)(
            cosine=None if self.cosine is None else round(self.cosine, 4),
            covered=round(self.covered, 4),
            identifier=round(self.identifier, 4),
            read=None if self.read is None else round(self.read, 4),
        )


class Updated(Value, frozen=True, kw_only=True):
    """The later statement that updates a memory (X23)."""

    by: MemoryId
    at: datetime
    """When the later statement was made."""


class Hit(Value, frozen=True, kw_only=True):
    memory: Memory
    passage: Snippet
    score: Score
    relevance: float = 0.0
    """Probability that it helps with the query (``search.relevance``); ``score`` only compares hits."""
    fits: bool = False
    """Whether it is relevant enough to be worth reading."""
    evidence: Evidence = Evidence()
    alike: int = 0
    """How many others that say the same were left out."""
    updated: Updated | None = None
    """The latest statement that updates it, if that is among the hits or known to the caller."""


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


class UndoneChange(Value, frozen=True, kw_only=True):
    """The undo of a change of a memory or of its usefulness."""

    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    change: str
    """The kind of the change, and its batch."""


class History(Value, frozen=True, kw_only=True):
    """The versions of a memory and its neighbors in a chain of facts."""

    versions: tuple[Version, ...]
    """Oldest first; the last one is the current version."""
    supersedes: MemoryId | None
    superseded_by: tuple[MemoryId, ...]
    """Those that the caller may see."""
    taken_back: tuple[UndoneChange, ...] = ()
    """Undone changes, newest first."""
    links: tuple[Link, ...] = ()
    """Links to memories that the caller may see, the latest judged first."""


class Difference(Value, frozen=True, kw_only=True, rename=json_names(older="from", newer="to")):
    """Differences between two versions of a memory."""

    older: int
    newer: int
    fields: Mapping[str, str]
    """A unified diff of each changed field, by its JSON name."""


class Stats(Value, frozen=True, kw_only=True):
    total: int
    by_source: Mapping[Source, int]
    by_scope: Mapping[Scope, int]
    pending_embeddings: int
    failed: int
    expired: int
