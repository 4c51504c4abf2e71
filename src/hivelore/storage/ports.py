"""Ports of the stores: views, transactions and the memory store.

Instants are UTC. A port raises errors of ``hivelore.errors`` only.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
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
from hivelore.storage.notifier import Notification

T = TypeVar("T")
Deferred = Callable[[], T]
"""What was asked for, as it was then; it is waited for when this is called, once, while its snapshot is open. A server
answers meanwhile, and is waited for once where it was asked for several things."""


class MemoryView(Protocol):
    """One consistent state of the memories, for reading."""

    def get(self, memory: MemoryId) -> Stored | None: ...

    def admitted(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        """Those of ``keys`` that exist in this state and pass the filter."""
        ...

    def standings(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        """``admitted``, but only what ranking asks of each."""
        ...

    def matching(self, where: Filter) -> Sequence[DocumentKey]:
        """All that pass, in no order; for filters an index cannot apply by itself."""
        ...

    def documents_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        """The ``limit`` newest documents with a smaller key, newest first."""
        ...

    def at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        """The documents of a source path on one shelf (``Memory.home``), at most one of each project and one of none,
        in the order in which they came."""
        ...

    def with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        """As ``at_path``, of an external id."""
        ...

    def same_statement(self, statement: Statement) -> Stored | None:
        """The newest memory (by ``created_at``, then id) with this very statement."""
        ...

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        """Of what has this topic and holds since ``at`` or before, whichever holds since last, of the same instant
        which came last; None: of all that has it."""
        ...

    def facts_beside(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        """Of what has the same topic, the one that holds since just before this one, and since just after it; those of
        the same instant in the order in which they came."""
        ...

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        """Of what has this topic, the last one that holds since ``at`` or before, and the first one that holds since
        later; those of the same instant in the order in which they came."""
        ...

    def superseding(self, memory: str) -> Sequence[Stored]:
        """Those that say they took the place of what is called so, in the order in which they came."""
        ...

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        """Newest first, id as tie; strictly behind ``after``."""
        ...

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        """In order."""
        ...

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        """The same of many; without those that have none."""
        ...

    def before(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """The documents written just before it with the same session, owner and scope, nearest first;
        none where it has no session."""
        ...

    def after(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        """Likewise those written just after it."""
        ...

    def history(self, document: DocumentKey) -> Sequence[Version]:
        """Every version, oldest first; the last one is the present."""
        ...

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        """The same of many; without those that are unknown."""
        ...

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        """By when they were made, those of the same instant in the order in which they were noted."""
        ...

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        """The same of many; without those that have none."""
        ...

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        """What counts of the use of a memory (``feedback.recalls.together``), in that order."""
        ...

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        """The same of many; without those that have none."""
        ...

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        """``where`` should carry no ``live_at``: expired ones are counted apart and in the total. Every source
        and scope is there, with 0 where there is none; ``model`` None: nothing is pending and nothing failed."""
        ...

    def moment(self) -> ChangeCursor:
        """How much of the change log this view shows."""
        ...

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        """The changes that this view shows and ``since`` did not, in batches, each with the moment that it leads to:
        with the last one, which may be empty, that of the view. Those of one unit of work are in its order."""
        ...

    def model(self, fingerprint: str) -> ModelKey | None: ...

    def models(self) -> Mapping[str, ModelKey]:
        """Every model that was ever registered, by its fingerprint."""
        ...

    def dimension(self, model: ModelKey) -> int:
        """As it was registered. Raises NotFound for an unknown model."""
        ...

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        """The passages of these documents that have a vector of the model, in no order."""
        ...

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        """Every passage that has a vector of the model, in batches and in no order."""
        ...

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]: ...

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]: ...

    def tokens(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        """Of those that have any."""
        ...

    def waiting(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """Passages without a vector of the model, oldest first unless told otherwise, without those that
        failed and whose time has not come."""
        ...

    def pending(self, model: ModelKey) -> int:
        """How many passages wait for a vector of the model and have not failed."""
        ...

    def failing(self, model: ModelKey) -> int:
        """How many passages wait for a vector of the model after they failed; they are tried again at their time."""
        ...

    def attempts(self, model: ModelKey, passage: PassageKey) -> int:
        """How often embedding this passage has failed since it last succeeded."""
        ...

    def lost_vectors(self) -> int:
        """How many passages are noted as embedded by a model while their vector is missing, so that they do not wait
        for one either. 0 in a sound store."""
        ...


class SwarmView(Protocol):
    """One consistent state of agents, keys, jobs, handovers and audit, for reading."""

    def agent(self, agent: AgentId) -> Agent | None: ...

    def agent_named(self, name: str) -> Agent | None: ...

    def agents(self) -> Sequence[Agent]:
        """By name."""
        ...

    def api_key(self, key: KeyId) -> ApiKey | None: ...

    def api_keys(self) -> Sequence[ApiKey]:
        """Oldest first."""
        ...

    def audit(self, limit: int, memory: MemoryId | None = None) -> Sequence[AuditEntry]:
        """Newest first."""
        ...

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        """Oldest first, each with its number in this store, from 1 on and never used twice; strictly behind ``number``.
        One may come to be shown behind which a greater number was shown before."""
        ...

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        """Newest first, id as tie; strictly behind ``after``. Scores are as exact as 32 bits."""
        ...

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        """Newest first, id as tie; strictly behind ``after``. Of those that tell of a memory only what ``where.seen``
        admits."""
        ...

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        """Those that tell of this memory, newest first, id as tie."""
        ...

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        """What this one's session has told with the same level, service and text less than ``within`` before or after
        it; of several the earliest, id as tie. Never one that tells of a memory, and None where it has no session."""
        ...

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        """Those that are not over then, by service, then action."""
        ...

    def cooldown(self, service: Clean, action: Clean) -> Cooldown | None:
        """As it was put, over or not."""
        ...

    def session(self, agent: AgentId, session: Clean) -> Session | None: ...

    def files_behind(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        """By place, then path; strictly behind these."""
        ...

    def job(self, job: JobId) -> Job | None: ...

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        """Newest first."""
        ...

    def handover(self, event: EventId) -> Handover | None: ...

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        """Those that wait and whose time has come, what ended first first (id as tie)."""
        ...

    def handovers_behind(self, event: EventId, limit: int) -> Sequence[Handover]:
        """In any state, by id; strictly behind ``event``."""
        ...

    def handover_counts(self) -> Mapping[HandoverState, int]:
        """How many there are in each state, 0 included."""
        ...

    def proposal(self, proposal: ProposalId) -> Proposal | None: ...

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        """Newest first, id as tie; strictly behind ``after``."""
        ...

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        """Decided or not, newest first, id as tie."""
        ...

    def open_proposals(self, actor: AgentId | None) -> int:
        """How many of this one wait for a decision; None: those of nobody in particular."""
        ...

    def waiting_proposals(self, actor: AgentId | None) -> Sequence[Proposal]:
        """The same themselves, newest first, id as tie."""
        ...

    def batch(self, batch: BatchId) -> Batch | None: ...

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        """Newest first, id as tie; strictly behind ``after``."""
        ...

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None: ...

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        """What is kept of it, by key."""
        ...

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        """Of what is kept of a memory, by the newest batch (id as tie) before which it was there."""
        ...

    def setting(self, name: str) -> str | None:
        """A small named fact of this store (``incarnation``, ``model.active_model``, ...)."""
        ...


class View(MemoryView, SwarmView, Protocol):
    """One snapshot: both sides see the same state."""

    def counts(self) -> Counts:
        """How much there is of everything."""
        ...


class MemoryTransaction(Protocol):
    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        """Raises Conflict when its id, or its path or external id on its shelf, is taken."""
        ...

    def move_in(self, memories: Sequence[WholeMemory]) -> None:
        """Put memories here as another store has them, under the keys that they have there; keys that are given from
        now on are greater. Vectors are put afterwards. Raises Conflict as ``add``, and where a key is taken; then none
        of them is put."""
        ...

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        """Replace a memory by its next version (``memory.version`` is one more). The state before it
        stays in the history. ``chunks`` None: the content is as it was; else a chunk with the same text,
        headings and passages as before keeps its key and vectors. Access counts stay as they are in the store.
        Raises Conflict as ``add``, NotFound for an unknown key, Stale for a version that is not the next one."""
        ...

    def renew(self, key: DocumentKey, expires_at: datetime | None) -> None:
        """Move the expiry of a memory, as no new version; an unknown key is passed over."""
        ...

    def link(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        """Note when another memory took the place of one, and whose place it took itself, as no new version; an unknown
        key is passed over."""
        ...

    def observe(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        """Note an observation and how sure the memory is after it, as no new version. A key that is unknown, or of a
        memory that is not operational, is passed over."""
        ...

    def put_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        """Replace all that was observed of a memory, as no new version. Those of the same instant are noted in the
        order given. An unknown key, or that of a memory that is not operational, is passed over."""
        ...

    def claim(self, what: bytes) -> None:
        """See that nobody else decides about the same meanwhile: for what is decided by something not being there."""
        ...

    def unquote(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        """Blank each of these texts where it is kept as what contradicted a memory. Answers which memories. Looks
        through everything that was observed."""
        ...

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        """Keep what was seen of the use of memories, as no new version: what counts of it together with what is there
        (``feedback.recalls.together``). Unknown keys are passed over."""
        ...

    def drop_evidence(self, key: DocumentKey) -> None:
        """Nothing is known of its use any more. Dropping twice is fine."""
        ...

    def forget(self, key: DocumentKey) -> None:
        """Remove the row, its history, observations, evidence, chunks, passages and vectors, the events that tell of it
        and the proposals about it. Forgetting twice is fine."""
        ...

    def journal(self) -> AbstractContextManager[Mapping[DocumentKey, PreviousState | None]]:
        """Inside, every memory is noted as it is before it is first changed, with its whole history; None: it was not
        there. Access counts are no change. Not inside another one."""
        ...

    @property
    def is_keeping(self) -> bool:
        """Whether this is inside ``journal``."""
        ...

    def touch(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        """Add to the access counts; the last access is the latest instant that was ever given. Unknown keys are
        passed over."""
        ...

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        """The key of a model, made on first use; ``dimension`` counts only then."""
        ...

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        """Store vectors, and the ``tokens`` of the same passages where there are any; those of before go. Passages
        that are gone by now are passed over. Answers how many were kept. Raises
        NotFound for an unknown model, Invalid for a vector of another dimension than the model was registered
        with, of zeros, or with a number that is not finite."""
        ...

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        """Note a failure; the passage is tried again from ``not_before`` on."""
        ...

    def lease_waiting(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        """``waiting``, without what others have leased. They are given none of these until the lease is over, or they
        have a vector, failed or were released. A store that is shared goes by a clock of its own for that."""
        ...

    def release(self, passages: Sequence[PassageKey]) -> None:
        """Let others lease these again; what is gone by now, or was not leased, is passed over."""
        ...

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        """Forget up to ``limit`` failures of the model, so that they are tried again. Answers how many."""
        ...

    def take_up(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Look at the first ``limit`` passages behind ``after`` that have a vector of a model which is used again after
        another one: an engine may note what lets it find sooner what waits. Answers which, ascending; fewer than
        ``limit``: there are no more."""
        ...

    def queue_again(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        """Let the first ``limit`` passages behind ``after`` that have a vector of the model wait for a new one;
        the old ones serve until then. A passage waits again for one model at a time, the last one asked for.
        Answers which, ascending; fewer than ``limit``: there are no more."""
        ...

    def leave_queue(self, model: ModelKey, limit: int) -> int:
        """Undo ``queue_again`` for up to ``limit`` passages that still have a vector of the model. Answers how
        many."""
        ...

    def queue_lost(self, limit: int) -> int:
        """Let up to ``limit`` passages whose vector is missing (``lost_vectors``) wait for a new one. Answers how
        many."""
        ...

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        """Remove up to ``limit`` vectors of a model that serves no more, with their tokens. Answers how many."""
        ...


class SwarmTransaction(Protocol):
    def put_agent(self, agent: Agent) -> None:
        """Raises Conflict when another agent has the name."""
        ...

    def put_api_key(self, key: ApiKey) -> None: ...

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        """False where there is no such key or it was revoked before."""
        ...

    def record(self, entry: AuditEntry) -> None: ...

    def move_in_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        """Put entries of another store here, by the number that they have there; numbers that are given from now on are
        greater. Raises Conflict where one is taken."""
        ...

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        """Keep them for ``recalls``. What was given is shown as long as that very memory is there: not once it is
        forgotten, as it may be by now, and no other one that has its id later. What an entry says was withheld counts
        as gone, at the ranks that its hits leave out."""
        ...

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        """Remove up to ``limit`` recalls, oldest first, that are from before an instant or not among the ``keep``
        newest. Answers how many; fewer than ``limit``: there are no more."""
        ...

    def log_events(self, events: Sequence[Event]) -> None:
        """Keep them for ``events``, but for one whose id is there already, and one that tells of a memory that is not
        there: what was forgotten is not told any more."""
        ...

    def drop_event(self, event: LoggedId) -> bool:
        """False where there is no such event."""
        ...

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        """Remove up to ``limit`` events, oldest first, that are from before an instant or not among the ``keep``
        newest. Answers how many; fewer than ``limit``: there are no more."""
        ...

    def put_cooldown(self, cooldown: Cooldown) -> None:
        """Insert, or replace what was put for the same action of the same service."""
        ...

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        """Dropping twice is fine."""
        ...

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        """Remove up to ``limit`` that were over at an instant. Answers how many; fewer than ``limit``: there are no
        more."""
        ...

    def put_session(self, session: Session) -> None:
        """Insert or replace."""
        ...

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        """Remove up to ``limit`` sessions, oldest first, that were not updated since an instant or are not among the
        ``keep`` newest of their agent. Answers how many; fewer than ``limit``: there are no more."""
        ...

    def put_files(self, files: Sequence[KnownFile]) -> None:
        """Insert, or replace what was put for the same path of the same place."""
        ...

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        """Dropping twice is fine."""
        ...

    def put_job(self, job: Job) -> None:
        """Insert or replace."""
        ...

    def put_handover(self, handover: Handover) -> None:
        """Insert, or replace what was put for the same end."""
        ...

    def prune_handovers(self, before: datetime, limit: int) -> int:
        """Remove up to ``limit`` that do not wait and whose ``not_before`` is from before an instant. Answers how
        many; fewer than ``limit``: there are no more."""
        ...

    def put_proposal(self, proposal: Proposal) -> None:
        """Insert, or replace the one with this id. Without those of its memories that are gone; with none left it is
        gone too."""
        ...

    def drop_proposal(self, proposal: ProposalId) -> None:
        """Dropping twice is fine."""
        ...

    def prune_proposals(self, before: datetime, limit: int) -> int:
        """Remove up to ``limit`` that were proposed and decided before an instant, oldest first. Answers how many;
        fewer than ``limit``: there are no more."""
        ...

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        """Insert, or replace the one with this id; its ``preimages`` are added to those that are there, in the place of
        those of the same memories."""
        ...

    def drop_batch(self, batch: BatchId) -> None:
        """With its preimages. Dropping twice is fine."""
        ...

    def drop_preimages(self, document: DocumentKey) -> None:
        """Keep nothing of what this memory was, nor of what those were that a decision was about with it, and so on:
        the batches stay, without their reasons. Dropping twice is fine."""
        ...

    def prune_batches(self, before: datetime, limit: int) -> int:
        """Remove up to ``limit`` batches from before an instant, oldest first, with their preimages. Answers how many;
        fewer than ``limit``: there are no more."""
        ...

    def lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        """Whether ``holder`` alone does what is called so, until the lease is over: nobody else has it. Who has it
        renews it, or gives it back with a lease of no time. A store that is shared goes by a clock of its own."""
        ...

    def set_setting(self, name: str, value: str) -> None: ...


class Transaction(View, MemoryTransaction, SwarmTransaction, Protocol):
    """Reads see what the transaction has written."""


class Snapshots(Protocol):
    """A store as who only reads it needs it."""

    @property
    def name(self) -> str:
        """The engine, for people: ``sqlite 3.54.1``."""
        ...

    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> AbstractContextManager[View]:
        """A snapshot. ``deadline`` is on the clock of ``Clock.monotonic``; past it, Expired is raised. ``sees``: the
        most that whoever asks may see; an engine that can refuses the rest by itself, whatever the filters say."""
        ...

    def close(self) -> None:
        """Wait for what was acknowledged and let go. Closing twice is fine."""
        ...


class MemoryStore(Snapshots, Protocol):
    """Keeps memories and everything about the swarm. It does not expire, rank, fuse or forgive."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes may work on it at the same time, so that what is to be done once is leased."""
        ...

    @property
    def row_level_security(self) -> bool | None:
        """Whether the engine itself refuses what ``read`` is told nobody may see; None: its kind never does."""
        ...

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        """Run ``work`` as one unit, all or nothing, and answer after it is durable. ``work`` has no
        effect but through its transaction and may run twice. What it raises undoes it and is raised."""
        ...

    def verify(self) -> None:
        """Ask the database whether it answers, and see that it is still the one that was opened; to be called about
        once a second. Raises Unavailable where it is not: from then on ``write`` does, too."""
        ...

    def check(self) -> Sequence[str]:
        """What is wrong with the data, one sentence each; empty when it is sound."""
        ...

    def tidy(self) -> bool:
        """Wipe what is neither in the present state nor in that of a reader from the files of the store, such as its
        log. False where that has to wait for somebody: ask again later."""
        ...

    def learn(self) -> None:
        """Look at what there is now, after a great load, so that what is asked from now on is answered as quickly as it
        can be. Changes nothing that is seen; an engine that needs no look, or may not take one, does without."""
        ...

    def vacuum(self) -> None:
        """Give back the room that nothing takes any more; may take a while, and writes wait for it. Raises
        Unavailable."""
        ...


class StoreWatch(Protocol):
    """Is told by a store how reads and writes went."""

    def read_done(self) -> None: ...

    def write_done(self) -> None: ...

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        """``error`` has a ``cause`` where the database failed, and none where the caller's own work did."""
        ...


class Notifier(Protocol):
    """Tells the other processes on a store what is new, and hears it of them. Any may be lost or come without a reason:
    they are for what whoever hears them would see by itself a little later."""

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        """Call ``listener``, in the thread of ``run``, when another process tells this. Before ``run``."""
        ...

    def run(self) -> None:
        """Hear and tell until closed. May be called again after it raised."""
        ...

    def tell(self, notice: Notification) -> None:
        """Soon, waiting for nothing and raising nothing. After the unit of work that made it so."""
        ...

    def close(self) -> None:
        """Wait for ``run`` to end. Closing twice is fine."""
        ...
