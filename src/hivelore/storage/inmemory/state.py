"""What an in-memory store knows at one instant. Nothing in here changes, so a snapshot is a reference."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from hivelore.changes.model import Batch, BatchId, Preimage
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event, LoggedId
from hivelore.feedback.recalls import Evidence, Recall
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import Change, ChunkKey, DocumentKey, ModelKey, PassageKey, StoredChunk, TokenCodes, Vector
from hivelore.memories.model import Action, Memory, Statement, Topic, Version
from hivelore.observations.model import Observation
from hivelore.review.model import Proposal, ProposalId
from hivelore.search.model import RecallId
from hivelore.sessions.model import EventId, Handover, Session

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

DRAWERS: Final = 128


class Shelf(Mapping[K, V]):
    """A map that never changes: ``put`` and ``drop`` answer a new one, which shares all but one of
    128 drawers with the old. So a write into 10,000 entries copies about 200 references."""

    __slots__ = ("_drawers", "_size")

    def __init__(self) -> None:
        self._drawers: tuple[dict[K, V], ...] = ({},) * DRAWERS
        self._size = 0

    def __getitem__(self, key: K) -> V:
        return self._drawers[hash(key) % DRAWERS][key]

    def __iter__(self) -> Iterator[K]:
        for drawer in self._drawers:
            yield from drawer

    def __len__(self) -> int:
        return self._size

    def put(self, key: K, value: V) -> "Shelf[K, V]":
        number = hash(key) % DRAWERS
        return self._replaced(number, {**self._drawers[number], key: value})

    def drop(self, key: K) -> "Shelf[K, V]":
        number = hash(key) % DRAWERS
        if key not in self._drawers[number]:
            return self
        drawer = dict(self._drawers[number])
        del drawer[key]
        return self._replaced(number, drawer)

    def _replaced(self, number: int, drawer: dict[K, V]) -> "Shelf[K, V]":
        index_writer = Shelf[K, V]()
        index_writer._drawers = (*self._drawers[:number], drawer, *self._drawers[number + 1 :])
        index_writer._size = self._size + len(drawer) - len(self._drawers[number])
        return index_writer


Place = tuple[Hashable, ...]
"""Something documents are looked up by: its kind, then the values, as made by ``places``."""


@dataclass(frozen=True, slots=True)
class Document:
    memory: Memory
    history: tuple[Version, ...]
    chunks: tuple[StoredChunk, ...]
    observations: tuple[Observation, ...] = ()
    """In the order in which they were noted."""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    key: ModelKey
    dimension: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The last failure of a passage, and how many there were since it last succeeded."""

    error: Clean
    not_before: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class Lease:
    holder: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Counted:
    """An indexed chunk: how often each term occurs, weighted by column, and how many terms there are."""

    document: DocumentKey
    frequencies: Mapping[str, float]
    length: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A recall, and by which key the memory of each hit was there when it was logged."""

    recall: Recall
    documents: tuple[DocumentKey | None, ...]


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event, and by which key the memory was there that it tells of."""

    event: Event
    document: DocumentKey | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A batch, and what is kept of it in the order in which it came."""

    batch: Batch
    preimages: tuple[Preimage, ...]


@dataclass(frozen=True, slots=True)
class State:
    documents: Shelf[DocumentKey, Document] = field(default_factory=Shelf[DocumentKey, Document])
    places: Shelf[Place, frozenset[DocumentKey]] = field(default_factory=Shelf[Place, frozenset[DocumentKey]])
    passages: Shelf[PassageKey, DocumentKey] = field(default_factory=Shelf[PassageKey, DocumentKey])
    models: Shelf[str, Model] = field(default_factory=Shelf[str, Model])
    vectors: Shelf[tuple[ModelKey, PassageKey], Vector] = field(
        default_factory=Shelf[tuple[ModelKey, PassageKey], Vector]
    )
    tokens: Shelf[tuple[ModelKey, PassageKey], TokenCodes] = field(
        default_factory=Shelf[tuple[ModelKey, PassageKey], TokenCodes]
    )
    failures: Shelf[tuple[ModelKey, PassageKey], Failure] = field(
        default_factory=Shelf[tuple[ModelKey, PassageKey], Failure]
    )
    queued: Shelf[tuple[ModelKey, PassageKey], bool] = field(default_factory=Shelf[tuple[ModelKey, PassageKey], bool])
    """Passages that have a vector and wait for a new one; all others without a vector wait anyway."""
    leased: Shelf[PassageKey, datetime] = field(default_factory=Shelf[PassageKey, datetime])
    """Until when."""
    leases: Shelf[str, Lease] = field(default_factory=Shelf[str, Lease])
    changes: Shelf[int, Change] = field(default_factory=Shelf[int, Change])
    """By seq, from 1 on and without gaps."""
    agents: Shelf[AgentId, Agent] = field(default_factory=Shelf[AgentId, Agent])
    api_keys: Shelf[KeyId, ApiKey] = field(default_factory=Shelf[KeyId, ApiKey])
    audit: Shelf[int, AuditEntry] = field(default_factory=Shelf[int, AuditEntry])
    """In the order of recording."""
    recalls: Shelf[RecallId, Logged] = field(default_factory=Shelf[RecallId, Logged])
    events: Shelf[LoggedId, LoggedEvent] = field(default_factory=Shelf[LoggedId, LoggedEvent])
    cooldowns: Shelf[tuple[Clean, Clean], Cooldown] = field(default_factory=Shelf[tuple[Clean, Clean], Cooldown])
    """By service and action."""
    sessions: Shelf[tuple[AgentId, str], Session] = field(default_factory=Shelf[tuple[AgentId, str], Session])
    files: Shelf[tuple[str, str], KnownFile] = field(default_factory=Shelf[tuple[str, str], KnownFile])
    jobs: Shelf[JobId, Job] = field(default_factory=Shelf[JobId, Job])
    handovers: Shelf[EventId, Handover] = field(default_factory=Shelf[EventId, Handover])
    proposals: Shelf[ProposalId, Proposal] = field(default_factory=Shelf[ProposalId, Proposal])
    batches: Shelf[BatchId, Kept] = field(default_factory=Shelf[BatchId, Kept])
    settings: Shelf[str, str] = field(default_factory=Shelf[str, str])
    terms: Shelf[ChunkKey, Counted] = field(default_factory=Shelf[ChunkKey, Counted])
    """The keyword index."""
    indexed_length: int = 0
    """The length of all of ``terms``."""
    last_key: int = 0
    """The newest key of a document, a chunk or a passage; never goes back."""


EMPTY: Final = State()
NO_DOCUMENTS: Final = frozenset[DocumentKey]()


def id_place(memory: str) -> Place:
    return ("id", memory)


def path_place(home: AgentId | None, path: str) -> Place:
    return ("path", home, path)


def external_place(home: AgentId | None, external_id: str) -> Place:
    return ("external id", home, external_id)


def statement_place(statement: Statement) -> Place:
    return ("statement", statement)


def thread_place(memory: Memory) -> Place:
    """Where the memories lie that may be context of each other."""
    return ("thread", memory.session, memory.owner, memory.scope)


def topic_place(topic: Topic) -> Place:
    return ("topic", topic)


def superseded_place(memory: str) -> Place:
    """Where those lie that took the place of a memory."""
    return ("superseded", memory)


def unique_places(memory: Memory) -> list[Place]:
    """The places only one document may take."""
    return [id_place(memory.id), *(in_project(place, memory) for place in record_places(memory))]


def record_places(memory: Memory) -> list[Place]:
    """Where the memories of one path, or of one external id, lie: on a shelf one of each project."""
    found: list[Place] = []
    if memory.source_path is not None:
        found.append(path_place(memory.home, memory.source_path))
    if memory.external_id is not None:
        found.append(external_place(memory.home, memory.external_id))
    return found


def in_project(place: Place, memory: Memory) -> Place:
    return ("project", memory.project, *place)


def places(memory: Memory) -> list[Place]:
    found = [*unique_places(memory), *record_places(memory), statement_place(memory.statement)]
    if memory.session is not None:
        found.append(thread_place(memory))
    if memory.topic is not None:
        found.append(topic_place(memory.topic))
    if memory.supersedes is not None:
        found.append(superseded_place(memory.supersedes))
    return found


def version_of(memory: Memory, action: Action) -> Version:
    """Its present state as the history keeps it."""
    return Version(
        number=memory.version,
        at=memory.updated_at,
        action=action,
        actor=memory.provenance.actor,
        interface=memory.provenance.interface,
        reason=memory.provenance.reason,
        scope=memory.scope,
        name=memory.name,
        content=memory.content,
        summary=memory.summary,
        category=memory.category,
        tags=memory.tags,
        project=memory.project,
        expires_at=memory.expires_at,
        subject=memory.subject,
        valid_from=memory.valid_from,
    )
