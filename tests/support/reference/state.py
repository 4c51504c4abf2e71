"""The immutable state of a reference store; a snapshot is a reference to one."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from hivelore.changes.model import Batch, BatchId, Preimage
from hivelore.configuration.model import ConfigChange, ConfigEntry, ConfigId, ConfigVersion, EnvLine
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event, LoggedId
from hivelore.feedback.recalls import Evidence, Recall
from hivelore.folders.model import KnownFile
from hivelore.identity.profile import ProfileChange, ProfileHead, ProfileVersion
from hivelore.indexing.model import (
    Change,
    ModelKey,
    TokenCodes,
    Vector,
)
from hivelore.links.judge import PairScores
from hivelore.links.model import LinkKind, StoredLink
from hivelore.memories.model import Action, Memory, Statement, Topic, Version
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey, StoredChunk
from hivelore.observations.model import Observation, Pair
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.review.model import Proposal, ProposalId
from hivelore.search.model import RecallId
from hivelore.sessions.model import EventId, Handover, Session
from hivelore.setup_scripts.model import ScriptVersion

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BUCKETS: Final = 128


class SharedMap(Mapping[K, V]):
    """An immutable map. ``put`` and ``drop`` return a new map that shares all but one of 128 buckets with the old
    one, so a write into 10,000 entries copies about 200 references."""

    __slots__ = ("_buckets", "_size")

    def __init__(self) -> None:
        self._buckets: tuple[dict[K, V], ...] = ({},) * BUCKETS
        self._size = 0

    def __getitem__(self, key: K) -> V:
        return self._buckets[hash(key) % BUCKETS][key]

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def __len__(self) -> int:
        return self._size

    def put(self, key: K, value: V) -> "SharedMap[K, V]":
        number = hash(key) % BUCKETS
        return self._replaced(number, {**self._buckets[number], key: value})

    def drop(self, key: K) -> "SharedMap[K, V]":
        number = hash(key) % BUCKETS
        if key not in self._buckets[number]:
            return self
        bucket = dict(self._buckets[number])
        del bucket[key]
        return self._replaced(number, bucket)

    def _replaced(self, number: int, bucket: dict[K, V]) -> "SharedMap[K, V]":
        replaced = SharedMap[K, V]()
        replaced._buckets = (*self._buckets[:number], bucket, *self._buckets[number + 1 :])
        replaced._size = self._size + len(bucket) - len(self._buckets[number])
        return replaced


LookupKey = tuple[Hashable, ...]
"""A key that documents are looked up by: its kind, then the values."""

LinkKey = tuple[DocumentKey, DocumentKey, LinkKind]
"""Source, target and kind."""
Compared = tuple[int, Clean]
"""The version of a memory that was compared, and the model."""
Judged = tuple[Clean | None, bool]
"""The mark of what an operational memory was judged by, and whether it is kept as it is."""
UNJUDGED: Judged = (None, False)


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
    """A recall, with the key of the memory of each hit at that time."""

    recall: Recall
    documents: tuple[DocumentKey | None, ...]


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event, and the key of the memory it is about."""

    event: Event
    document: DocumentKey | None


@dataclass(frozen=True, slots=True)
class KeptBatch:
    """A batch with its pre-images, in the order of arrival."""

    batch: Batch
    preimages: tuple[Preimage, ...]
    config_changes: tuple[ConfigChange, ...] = ()
    repo_changes: tuple[RepoChange, ...] = ()
    profile_changes: tuple[ProfileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    documents: SharedMap[DocumentKey, Document] = field(default_factory=SharedMap[DocumentKey, Document])
    places: SharedMap[LookupKey, frozenset[DocumentKey]] = field(
        default_factory=SharedMap[LookupKey, frozenset[DocumentKey]]
    )
    passages: SharedMap[PassageKey, DocumentKey] = field(default_factory=SharedMap[PassageKey, DocumentKey])
    models: SharedMap[str, Model] = field(default_factory=SharedMap[str, Model])
    vectors: SharedMap[tuple[ModelKey, PassageKey], Vector] = field(
        default_factory=SharedMap[tuple[ModelKey, PassageKey], Vector]
    )
    tokens: SharedMap[tuple[ModelKey, PassageKey], TokenCodes] = field(
        default_factory=SharedMap[tuple[ModelKey, PassageKey], TokenCodes]
    )
    failures: SharedMap[tuple[ModelKey, PassageKey], Failure] = field(
        default_factory=SharedMap[tuple[ModelKey, PassageKey], Failure]
    )
    queued: SharedMap[tuple[ModelKey, PassageKey], bool] = field(
        default_factory=SharedMap[tuple[ModelKey, PassageKey], bool]
    )
    """Passages that have a vector and wait for a new one; all others without a vector wait anyway."""
    leased: SharedMap[PassageKey, datetime] = field(default_factory=SharedMap[PassageKey, datetime])
    """Until when."""
    leases: SharedMap[str, Lease] = field(default_factory=SharedMap[str, Lease])
    changes: SharedMap[int, Change] = field(default_factory=SharedMap[int, Change])
    """By seq, from 1 on and without gaps."""
    agents: SharedMap[AgentId, Agent] = field(default_factory=SharedMap[AgentId, Agent])
    api_keys: SharedMap[KeyId, ApiKey] = field(default_factory=SharedMap[KeyId, ApiKey])
    audit: SharedMap[int, AuditEntry] = field(default_factory=SharedMap[int, AuditEntry])
    """In the order of recording."""
    recalls: SharedMap[RecallId, Logged] = field(default_factory=SharedMap[RecallId, Logged])
    events: SharedMap[LoggedId, LoggedEvent] = field(default_factory=SharedMap[LoggedId, LoggedEvent])
    cooldowns: SharedMap[tuple[Clean, Clean], Cooldown] = field(
        default_factory=SharedMap[tuple[Clean, Clean], Cooldown]
    )
    """By service and action."""
    sessions: SharedMap[tuple[AgentId, str], Session] = field(default_factory=SharedMap[tuple[AgentId, str], Session])
    files: SharedMap[tuple[str, str], KnownFile] = field(default_factory=SharedMap[tuple[str, str], KnownFile])
    jobs: SharedMap[JobId, Job] = field(default_factory=SharedMap[JobId, Job])
    handovers: SharedMap[EventId, Handover] = field(default_factory=SharedMap[EventId, Handover])
    proposals: SharedMap[ProposalId, Proposal] = field(default_factory=SharedMap[ProposalId, Proposal])
    config_entries: SharedMap[ConfigId, ConfigEntry] = field(default_factory=SharedMap[ConfigId, ConfigEntry])
    config_versions: SharedMap[tuple[ConfigId, int], ConfigVersion] = field(
        default_factory=SharedMap[tuple[ConfigId, int], ConfigVersion]
    )
    env_lines: SharedMap[tuple[str, str, str], EnvLine] = field(
        default_factory=SharedMap[tuple[str, str, str], EnvLine]
    )
    repos: SharedMap[RepoId, Repo] = field(default_factory=SharedMap[RepoId, Repo])
    repo_reports: SharedMap[tuple[RepoId, AgentId | None], RepoReport] = field(
        default_factory=SharedMap[tuple[RepoId, AgentId | None], RepoReport]
    )
    setup_scripts: SharedMap[tuple[str, int], ScriptVersion] = field(
        default_factory=SharedMap[tuple[str, int], ScriptVersion]
    )
    script_drafts: SharedMap[ProposalId, Clean] = field(default_factory=SharedMap[ProposalId, Clean])
    profiles: SharedMap[AgentId, ProfileHead] = field(default_factory=SharedMap[AgentId, ProfileHead])
    profile_versions: SharedMap[tuple[AgentId, int], ProfileVersion] = field(
        default_factory=SharedMap[tuple[AgentId, int], ProfileVersion]
    )
    links: SharedMap[LinkKey, StoredLink] = field(default_factory=SharedMap[LinkKey, StoredLink])
    compared: SharedMap[DocumentKey, tuple[int, Clean]] = field(
        default_factory=SharedMap[DocumentKey, tuple[int, Clean]]
    )
    """Version and model."""
    verdicts: SharedMap[tuple[Clean, Pair], PairScores] = field(
        default_factory=SharedMap[tuple[Clean, Pair], PairScores]
    )
    """By model and pair."""
    judged: SharedMap[DocumentKey, Judged] = field(default_factory=SharedMap[DocumentKey, Judged])
    batches: SharedMap[BatchId, KeptBatch] = field(default_factory=SharedMap[BatchId, KeptBatch])
    settings: SharedMap[str, str] = field(default_factory=SharedMap[str, str])
    terms: SharedMap[ChunkKey, Counted] = field(default_factory=SharedMap[ChunkKey, Counted])
    """The keyword index."""
    indexed_length: int = 0
    """The length of all of ``terms``."""
    last_key: int = 0
    """The newest key of a document, a chunk or a passage; never goes back."""


EMPTY: Final = State()
NO_DOCUMENTS: Final = frozenset[DocumentKey]()


def id_place(memory: str) -> LookupKey:
    return ("id", memory)


def path_place(home: AgentId | None, path: str) -> LookupKey:
    return ("path", home, path)


def external_place(home: AgentId | None, external_id: str) -> LookupKey:
    return ("external id", home, external_id)


def statement_place(statement: Statement) -> LookupKey:
    return ("statement", statement)


def thread_place(memory: Memory) -> LookupKey:
    """Returns the lookup key of memories that may be context of each other."""
    return ("thread", memory.session, memory.owner, memory.scope)


def topic_place(topic: Topic) -> LookupKey:
    return ("topic", topic)


def superseded_place(memory: str) -> LookupKey:
    """Returns the lookup key of the successors of a memory."""
    return ("superseded", memory)


def unique_places(memory: Memory) -> list[LookupKey]:
    """Returns the lookup keys that only one document may have."""
    return [id_place(memory.id), *(in_project(place, memory) for place in record_places(memory))]


def record_places(memory: Memory) -> list[LookupKey]:
    """Returns the lookup keys of a path and an external id: one memory of each project in a home."""
    found: list[LookupKey] = []
    if memory.source_path is not None:
        found.append(path_place(memory.home, memory.source_path))
    if memory.external_id is not None:
        found.append(external_place(memory.home, memory.external_id))
    return found


def in_project(place: LookupKey, memory: Memory) -> LookupKey:
    return ("project", memory.project, *place)


def places(memory: Memory) -> list[LookupKey]:
    found = [*unique_places(memory), *record_places(memory), statement_place(memory.statement)]
    if memory.session is not None:
        found.append(thread_place(memory))
    if memory.topic is not None:
        found.append(topic_place(memory.topic))
    if memory.supersedes is not None:
        found.append(superseded_place(memory.supersedes))
    return found


def version_of(memory: Memory, action: Action) -> Version:
    """Returns its current state as the history stores it."""
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
