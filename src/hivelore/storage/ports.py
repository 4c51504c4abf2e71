"""Ports of the stores: views, transactions, stores, and what watches and connects them.

Instants are UTC. A port raises errors of ``hivelore.errors`` only. Lists are read in pages: ``after`` is the position
of the last item of the previous page, None for the first page.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeVar

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage, PreviousState
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.errors import HiveloreError
from hivelore.events.model import Cooldown, Event, EventFilter, LoggedId
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import (
    Attributes,
    Change,
    ChangeCursor,
    DocumentKey,
    ModelKey,
    PassageKey,
    PassageVectors,
    QueuedPassage,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
)
from hivelore.memories.model import Action, Chunk, Memory, MemoryId, RankFeatures, Statement, Topic, Version
from hivelore.memories.whole import Counts, WholeMemory
from hivelore.observations.model import Held, Observation
from hivelore.review.model import Proposal, ProposalFilter, ProposalId
from hivelore.search.model import Filter, RecallId, Stats, Visibility
from hivelore.sessions.model import EventId, Handover, HandoverState, Session

T = TypeVar("T")
Deferred = Callable[[], T]
"""A deferred result. Call it once, before the snapshot closes. PostgreSQL sends several deferred queries in one round
trip."""


# Reads, by capability.


class MemoryReads(Protocol):
    """Memories, their chunks, versions and the facts they state."""

    def get(self, memory: MemoryId) -> Stored | None: ...

    def memories_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        """Returns the memories among ``keys`` that exist and pass the filter."""
        ...

    def rank_features_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        """Like ``memories_of``, but returns only what ranking needs of each memory."""
        ...

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        """Returns the keys of all memories that pass the filter, in no order; for filters an index cannot apply."""
        ...

    def keys_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        """Returns the ``limit`` greatest keys below ``key``, greatest first."""
        ...

    def memories_at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        """Returns the memories with a source path in one home (``Memory.home``), by key. There is at most one for each
        project and one without a project."""
        ...

    def memories_with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        """Like ``memories_at_path``, for an external id."""
        ...

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        """Returns the newest memory (by ``created_at``, then id) with exactly this statement."""
        ...

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        """Returns the fact about a topic that became valid last, at ``at`` or before. Facts that became valid at the
        same instant are ordered by key. ``at`` None: considers all facts about the topic."""
        ...

    def adjacent_facts(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        """Returns the facts about the same topic that became valid just before and just after this one, ordered by
        instant, then key."""
        ...

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        """Returns the last fact about a topic that became valid at ``at`` or before, and the first one after it."""
        ...

    def successors_of(self, memory: str) -> Sequence[Stored]:
        """Returns the memories that name this one as superseded, by key."""
        ...

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        """Returns a page of memories, newest first, then by id."""
        ...

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        """Returns the chunks of a document, in order."""
        ...

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        """Returns chunks by document; documents without chunks are omitted."""
        ...

    def earlier_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """Returns the documents written before this one with the same session, owner and scope, nearest first. Empty
        if it has no session."""
        ...

    def later_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """Like ``earlier_in_session``, for the documents written after this one."""
        ...

    def history(self, document: DocumentKey) -> Sequence[Version]:
        """Returns every version, oldest first; the last one is the current version."""
        ...

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        """Returns versions by document; unknown documents are omitted."""
        ...

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        """Counts the memories that pass the filter. Leave ``live_at`` unset: expired memories are part of the total and
        counted separately. Every source and scope has a count, 0 included. ``model`` None: counts no pending and no
        failed embeddings."""
        ...


class ChangeLogReads(Protocol):
    """The change log, which indexes follow."""

    def change_cursor(self) -> ChangeCursor:
        """Returns the position in the change log up to which this view sees changes."""
        ...

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        """Yields the changes that this view sees and ``since`` does not, in batches. Each batch comes with the cursor
        behind it; the last cursor, whose batch may be empty, is that of the view. Changes of one transaction keep
        their order."""
        ...


class EmbeddingReads(Protocol):
    """Embedding models, vectors and the embedding queue."""

    def model_key(self, fingerprint: str) -> ModelKey | None: ...

    def model_keys(self) -> Mapping[str, ModelKey]:
        """Returns every model ever registered, by fingerprint."""
        ...

    def dimension(self, model: ModelKey) -> int:
        """Returns the dimension a model was registered with. Raises NotFound for an unknown model."""
        ...

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        """Returns the passages of these documents that have a vector of the model, in no order."""
        ...

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        """Yields every passage that has a vector of the model, in batches and in no order."""
        ...

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]: ...

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]: ...

    def token_codes(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        """Returns the token codes of the passages that have any."""
        ...

    def queued_passages(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """Returns passages that wait for a vector of the model. Failed ones are included once their retry is due."""
        ...

    def count_pending(self, model: ModelKey) -> int:
        """Counts the passages that wait for a vector of the model and have not failed."""
        ...

    def count_failing(self, model: ModelKey) -> int:
        """Counts the passages that failed and wait for their next attempt."""
        ...

    def embedding_attempts(self, model: ModelKey, passage: PassageKey) -> int:
        """Counts the failed attempts to embed a passage since its last success."""
        ...

    def count_lost_vectors(self) -> int:
        """Counts the passages that are marked as embedded but have no vector. It is 0 in an undamaged store."""
        ...


class ObservationReads(Protocol):
    """Observations of operational memories."""

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        """Returns the observations of a memory by time; those of the same instant in the order they were added."""
        ...

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        """Returns observations by document; documents without any are omitted."""
        ...


class FeedbackReads(Protocol):
    """Evidence of use, and the recall log."""

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        """Returns the effective evidence about a memory, in the order of ``feedback.recalls.together``."""
        ...

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        """Returns evidence by document; documents without any are omitted."""
        ...

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        """Returns a page of the recall log, newest first, then by id. Scores have 32-bit precision."""
        ...


class EventReads(Protocol):
    """The event log, and cooldowns."""

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        """Returns a page of events, newest first, then by id. Events about a memory that ``where.seen`` does not admit
        are left out."""
        ...

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        """Returns the events about a memory, newest first, then by id."""
        ...

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        """Returns the earliest event of the same session, level, service and text that is less than ``within`` away.
        Events about a memory never match. None if ``event`` has no session."""
        ...

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        """Returns the cooldowns that are active at an instant, by service, then action."""
        ...

    def cooldown(self, service: Clean, action: Clean) -> Cooldown | None:
        """Returns a cooldown as it was set, whether it is over or not."""
        ...


class ReviewReads(Protocol):
    """Proposals in the review inbox."""

    def proposal(self, proposal: ProposalId) -> Proposal | None: ...

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        """Returns a page of proposals, newest first, then by id."""
        ...

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        """Returns the open and decided proposals about a memory, newest first, then by id."""
        ...

    def count_open_proposals(self, actor: AgentId | None) -> int:
        """Counts the undecided proposals of an agent; None: those without an agent."""
        ...

    def open_proposals(self, actor: AgentId | None) -> Sequence[Proposal]:
        """Returns the undecided proposals of an agent, newest first, then by id; None: those without an agent."""
        ...


class ChangeJournalReads(Protocol):
    """Batches of changes, and the pre-images that undo them."""

    def batch(self, batch: BatchId) -> Batch | None: ...

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        """Returns a page of batches, newest first, then by id."""
        ...

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None: ...

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        """Returns the pre-images of a batch, by key."""
        ...

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        """Returns the pre-image of a memory in the newest batch before which it existed."""
        ...


class SessionReads(Protocol):
    """Sessions, handovers of ended sessions, and the files of memory folders."""

    def session(self, agent: AgentId, session: Clean) -> Session | None: ...

    def handover(self, event: EventId) -> Handover | None: ...

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        """Returns the waiting handovers that are due, by the end of their session, then id."""
        ...

    def handovers_after(self, event: EventId, limit: int) -> Sequence[Handover]:
        """Returns handovers in any state with a greater id, by id."""
        ...

    def handover_counts(self) -> Mapping[HandoverState, int]:
        """Counts the handovers in each state, 0 included."""
        ...

    def files_after(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        """Returns the files behind this place and path, by place, then path."""
        ...


class AgentReads(Protocol):
    """Agents, their keys, and the audit trail."""

    def agent(self, agent: AgentId) -> Agent | None: ...

    def agent_named(self, name: str) -> Agent | None: ...

    def agents(self) -> Sequence[Agent]:
        """Returns all agents by name."""
        ...

    def api_key(self, key: KeyId) -> ApiKey | None: ...

    def api_keys(self) -> Sequence[ApiKey]:
        """Returns all keys, oldest first."""
        ...

    def audit(self, limit: int, memory: MemoryId | None = None) -> Sequence[AuditEntry]:
        """Returns the newest audit entries, newest first."""
        ...

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        """Returns audit entries with a greater number, oldest first. Numbers start at 1 and are never reused. An entry
        may become visible after entries with greater numbers did."""
        ...


class SettingReads(Protocol):
    """Named settings of this store."""

    def setting(self, name: str) -> str | None:
        """Returns a small named fact of this store (``incarnation``, ``model.active_model``, ...)."""
        ...


class JobReads(Protocol):
    """Jobs that run in the background."""

    def job(self, job: JobId) -> Job | None: ...

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        """Returns jobs, newest first."""
        ...


class View(
    MemoryReads,
    ChangeLogReads,
    EmbeddingReads,
    ObservationReads,
    FeedbackReads,
    EventReads,
    ReviewReads,
    ChangeJournalReads,
    SessionReads,
    AgentReads,
    SettingReads,
    JobReads,
    Protocol,
):
    """One consistent snapshot of the store, for reading."""

    def counts(self) -> Counts:
        """Counts the rows of every kind."""
        ...


# Writes, by capability.


class MemoryWrites(Protocol):
    """Memories and their chunks."""

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        """Raises Conflict if the id, or the path or external id in its home, is taken."""
        ...

    def import_memories(self, memories: Sequence[WholeMemory]) -> None:
        """Adds memories with the keys they have in another store; keys assigned later are greater. Vectors are added
        afterwards. Raises Conflict as ``add`` and if a key is taken; then none is added."""
        ...

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        """Replaces a memory by its next version; the previous state stays in the history.

        ``chunks`` None: the content is unchanged. Otherwise a chunk with the same text, headings and passages as before
        keeps its key and vectors. The store keeps its own access counts. Raises Conflict as ``add``, NotFound for an
        unknown key, Stale unless ``memory.version`` is the next version."""
        ...

    def set_expiry(self, key: DocumentKey, expires_at: datetime | None) -> None:
        """Sets when a memory expires, without a new version. Ignores an unknown key."""
        ...

    def set_validity(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        """Sets when another memory superseded this one, and which memory this one supersedes, without a new version.
        Ignores an unknown key."""
        ...

    def forget(self, key: DocumentKey) -> None:
        """Deletes a memory with its history, observations, evidence, chunks, passages and vectors, and the events and
        proposals about it. Forgetting twice is allowed."""
        ...

    def count_reads(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        """Adds to the access counts. The last access is the latest instant ever given. Ignores unknown keys."""
        ...

    def claim(self, what: bytes) -> None:
        """Prevents concurrent transactions from deciding about the same thing, where a decision depends on the absence
        of a row."""
        ...

    def journal(self) -> AbstractContextManager[Mapping[DocumentKey, PreviousState | None]]:
        """Records the state of every memory before its first change inside the context, with its history; None: it did
        not exist. Access counts are not a change. Contexts do not nest."""
        ...

    @property
    def is_journaling(self) -> bool: ...


class EmbeddingWrites(Protocol):
    """Embedding models, vectors and the embedding queue. ``limit`` bounds the passages of one call; a result below it
    means that none are left."""

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        """Returns the key of a model, creating it on first use; ``dimension`` counts only then."""
        ...

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        """Stores vectors and token codes in place of earlier ones; returns how many were stored. Ignores passages that
        no longer exist. Raises NotFound for an unknown model, and Invalid for a vector of the wrong dimension, of
        zeros, or with a number that is not finite."""
        ...

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        """Records a failure; the passage is tried again from ``not_before`` on."""
        ...

    def lease_passages(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """Leases queued passages that nobody else has leased. A lease ends with its time, a vector, a failure or
        ``release_passages``. A shared store uses its own clock."""
        ...

    def release_passages(self, passages: Sequence[PassageKey]) -> None:
        """Ends the leases of these passages. Ignores those that do not exist or are not leased."""
        ...

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        """Deletes failures of the model, so that they are tried again at once; returns how many."""
        ...

    def adopt_vectors(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Visits passages behind ``after`` that have a vector of a model that is active again; an engine may mark them,
        to find queued ones sooner. Returns them, ascending."""
        ...

    def requeue(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Queues passages behind ``after`` that have a vector of the model for a new one; the old vectors serve until
        then. A passage is requeued for one model at a time, the last one. Returns them, ascending."""
        ...

    def cancel_requeue(self, model: ModelKey, limit: int) -> int:
        """Reverts ``requeue`` for passages that still have a vector of the model; returns how many."""
        ...

    def requeue_lost(self, limit: int) -> int:
        """Queues passages whose vector is missing (``count_lost_vectors``); returns how many."""
        ...

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        """Deletes vectors and token codes of a model that is no longer active; returns how many."""
        ...


class ObservationWrites(Protocol):
    """Observations of operational memories. No call makes a new version. Keys that are unknown, or of a memory that is
    not operational, are ignored."""

    def add_observation(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        """Adds an observation and sets the confidence after it."""
        ...

    def replace_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        """Replaces all observations of a memory. Those of the same instant keep the given order."""
        ...

    def erase_quotes(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        """Deletes these texts wherever a contradiction quotes them; returns the affected memories. Reads all
        observations."""
        ...


class FeedbackWrites(Protocol):
    """Evidence of use, and the recall log."""

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        """Merges evidence into what is stored (``feedback.recalls.together``), without a new version. Ignores unknown
        keys."""
        ...

    def drop_evidence(self, key: DocumentKey) -> None:
        """Deletes the evidence about a memory. Dropping twice is allowed."""
        ...

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        """Appends to the recall log. A hit is shown while its memory exists, never for a later memory with the same id.
        Withheld hits of an entry count as forgotten, at the ranks that its hits leave out."""
        ...

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        """Deletes up to ``limit`` recalls, oldest first, that are older than ``before`` or not among the ``keep``
        newest. Returns how many; fewer than ``limit``: none are left."""
        ...


class EventWrites(Protocol):
    """The event log, and cooldowns."""

    def log_events(self, events: Sequence[Event]) -> None:
        """Appends to the event log. Ignores events with a known id, and events about a memory that does not exist."""
        ...

    def drop_event(self, event: LoggedId) -> bool:
        """Returns False if the event does not exist."""
        ...

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        """Like ``FeedbackWrites.prune_recalls``, for events."""
        ...

    def put_cooldown(self, cooldown: Cooldown) -> None:
        """Inserts or replaces the cooldown of its service and action."""
        ...

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        """Dropping twice is allowed."""
        ...

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` cooldowns that ended by ``before``. Returns how many."""
        ...


class ReviewWrites(Protocol):
    """Proposals in the review inbox."""

    def put_proposal(self, proposal: Proposal) -> None:
        """Inserts or replaces a proposal, without the memories that no longer exist. It is deleted if none is left."""
        ...

    def drop_proposal(self, proposal: ProposalId) -> None:
        """Dropping twice is allowed."""
        ...

    def prune_proposals(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` proposals made and decided before an instant, oldest first. Returns how many."""
        ...


class ChangeJournalWrites(Protocol):
    """Batches of changes, and the pre-images that undo them."""

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        """Inserts or replaces a batch. Adds ``preimages`` to it, in place of earlier ones of the same memories."""
        ...

    def drop_batch(self, batch: BatchId) -> None:
        """Deletes a batch with its pre-images. Dropping twice is allowed."""
        ...

    def drop_preimages(self, document: DocumentKey) -> None:
        """Deletes the pre-images of a memory, and of every memory that was decided together with it, transitively. The
        batches stay, without their reasons. Dropping twice is allowed."""
        ...

    def prune_batches(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` batches older than ``before`` with their pre-images, oldest first. Returns how
        many."""
        ...


class SessionWrites(Protocol):
    """Sessions, handovers of ended sessions, and the files of memory folders."""

    def put_session(self, session: Session) -> None:
        """Inserts or replaces a session."""
        ...

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        """Deletes up to ``limit`` sessions, oldest first, that were last updated before an instant or are not among the
        ``keep`` newest of their agent. Returns how many."""
        ...

    def put_handover(self, handover: Handover) -> None:
        """Inserts or replaces the handover of an ended session."""
        ...

    def prune_handovers(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` handovers that do not wait and whose ``not_before`` is before an instant. Returns how
        many."""
        ...

    def put_files(self, files: Sequence[KnownFile]) -> None:
        """Inserts or replaces files by place and path."""
        ...

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        """Dropping twice is allowed."""
        ...


class AgentWrites(Protocol):
    """Agents, their keys, and the audit trail."""

    def put_agent(self, agent: Agent) -> None:
        """Raises Conflict if another agent has the name."""
        ...

    def put_api_key(self, key: ApiKey) -> None: ...

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        """Returns False if the key does not exist or was revoked before."""
        ...

    def record_audit(self, entry: AuditEntry) -> None: ...

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        """Adds entries of another store with their numbers; numbers assigned later are greater. Raises Conflict if one
        is taken."""
        ...


class SettingWrites(Protocol):
    """Named settings, jobs and leases of this store."""

    def set_setting(self, name: str, value: str) -> None: ...

    def put_job(self, job: Job) -> None:
        """Inserts or replaces a job."""
        ...

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        """Acquires or renews a named lease; returns False if another holder has it. A lease of no time releases it. A
        shared store uses its own clock."""
        ...


class Transaction(
    View,
    MemoryWrites,
    EmbeddingWrites,
    ObservationWrites,
    FeedbackWrites,
    EventWrites,
    ReviewWrites,
    ChangeJournalWrites,
    SessionWrites,
    AgentWrites,
    SettingWrites,
    Protocol,
):
    """One atomic unit of reads and writes. Its reads see what it has written."""


# Stores.


class Snapshots(Protocol):
    """A store that is only read."""

    @property
    def name(self) -> str:
        """The engine for people: ``sqlite 3.54.1``."""
        ...

    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> AbstractContextManager[View]:
        """Opens a snapshot. ``deadline`` is on the clock of ``Clock.monotonic``; past it, Expired is raised. ``sees``
        is the widest visibility of the caller: row-level security enforces it in addition to the filters."""
        ...

    def close(self) -> None:
        """Waits until acknowledged writes are stored, then releases the store. Closing twice is allowed."""
        ...


class MemoryStore(Snapshots, Protocol):
    """Stores memories and everything else of a swarm. It applies filters, but makes no decisions."""

    @property
    def is_shared(self) -> bool:
        """True if several processes may use it at the same time, so that exclusive work needs a lease."""
        ...

    @property
    def row_level_security(self) -> bool | None:
        """True if the engine enforces ``sees`` of ``read``; None: this kind of engine cannot."""
        ...

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        """Runs ``work`` as one transaction and returns its result once it is durable. ``work`` has no other effects and
        may run twice. An error it raises rolls the transaction back and is raised here."""
        ...

    def verify(self) -> None:
        """Checks that the database answers and is still the one that was opened; meant for about one call a second.
        Raises Unavailable if not; from then on ``write`` raises it too."""
        ...

    def check(self) -> Sequence[str]:
        """Checks the integrity of the data; returns one sentence per problem."""
        ...

    def purge_log(self) -> bool:
        """Erases deleted data from the files of the store, such as its write-ahead log. Returns False if a reader still
        needs them: try again later."""
        ...

    def analyze(self) -> None:
        """Refreshes the statistics of the query planner, after a bulk load. An engine that needs none, or lacks the
        right, does nothing."""
        ...

    def vacuum(self) -> None:
        """Reclaims unused disk space; may take a while and blocks writes. Raises Unavailable."""
        ...


class StoreWatch(Protocol):
    """Receives the outcome of every read and write of a store."""

    def read_done(self) -> None: ...

    def write_done(self) -> None: ...

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        """``error.cause`` is set if the database failed, and None if the work of the caller failed."""
        ...


class Notification(StrEnum):
    """A message between the processes that share a store."""

    AGENTS = "agents"
    """Keys or agents have changed."""
    WAITING = "waiting"
    """More passages wait for vectors than the sender can embed at once."""


class Notifier(Protocol):
    """Wakes the other processes that share a store. Notifications may be lost or come without a reason: receivers would
    notice the change a little later anyway."""

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        """Calls ``listener`` on the thread of ``run`` when another process publishes ``notice``. Subscribe before
        ``run``."""
        ...

    def run(self) -> None:
        """Sends and receives until closed. May be called again after it raised."""
        ...

    def publish(self, notice: Notification) -> None:
        """Sends a notification soon, without waiting or raising. Call it after the transaction."""
        ...

    def close(self) -> None:
        """Waits for ``run`` to end. Closing twice is allowed."""
        ...
