"""Builds services that share most of their dependencies."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchId
from hivelore.changes.undo import UndoService
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.embeddings.active_model import ActiveModel
from hivelore.events.log import EventLog
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.feedback.recall_log import RecallLog
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.duplicates import Duplicates
from hivelore.maintenance.housekeeping import Housekeeper
from hivelore.maintenance.service import Maintenance
from hivelore.memories.model import MemoryId
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.models.ports import PairReader
from hivelore.observations.curation import CurationService
from hivelore.observations.service import ObservationService
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import ProposalId
from hivelore.review.proposals import ProposalQueue
from hivelore.runtime.settings import Settings
from hivelore.search.model import RecallId
from hivelore.storage.ports import MemoryStore


@dataclass(frozen=True, slots=True)
class Parts:
    """Dependencies that services share."""

    store: MemoryStore
    index_writer: IndexWriter
    normalizer: Normalizer
    proposal_queue: ProposalQueue
    journal: ChangeJournal
    memory_service: MemoryService
    active_model: ActiveModel
    events: EventLog
    clock: Clock
    written: Callable[[], None]
    """Called after each write that may leave passages without vectors."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Sources of new ids."""

    memory: Callable[[datetime], MemoryId]
    proposal: Callable[[datetime], ProposalId]
    batch: Callable[[datetime], BatchId]


def parts(
    settings: Settings,
    ids: Ids,
    *,
    store: MemoryStore,
    index_writer: IndexWriter,
    redactor: Redactor,
    active_model: ActiveModel,
    events: EventLog,
    clock: Clock,
    written: Callable[[], None],
) -> Parts:
    normalizer = Normalizer(redactor, settings.lifetimes, clock, ids.memory)
    proposal_queue = ProposalQueue(clock, ids.proposal)
    journal = ChangeJournal(store, clock, ids.batch, settings.undo_lifetime)
    memory_service = MemoryService(
        store=store,
        index_writer=index_writer,
        normalizer=normalizer,
        proposal_queue=proposal_queue,
        journal=journal,
        lifetimes=settings.lifetimes,
        lead_sees=settings.lead_sees,
        clock=clock,
        written=written,
    )
    return Parts(
        store=store,
        index_writer=index_writer,
        normalizer=normalizer,
        proposal_queue=proposal_queue,
        journal=journal,
        memory_service=memory_service,
        active_model=active_model,
        events=events,
        clock=clock,
        written=written,
    )


def observation_service(settings: Settings, parts: Parts, reader: PairReader | None) -> ObservationService:
    return ObservationService(
        store=parts.store,
        index_writer=parts.index_writer,
        normalizer=parts.normalizer,
        active_model=parts.active_model,
        proposal_queue=parts.proposal_queue,
        events=parts.events,
        lifecycle=settings.lifecycle,
        matching=settings.reinforce,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        reader=reader,
        written=parts.written,
    )


def curation(settings: Settings, parts: Parts, write_buffer: WriteBehindBuffer) -> CurationService:
    return CurationService(
        store=parts.store,
        index_writer=parts.index_writer,
        normalizer=parts.normalizer,
        memory_service=parts.memory_service,
        proposal_queue=parts.proposal_queue,
        events=parts.events,
        journal=parts.journal,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        write_buffer=write_buffer,
        clock=parts.clock,
        written=parts.written,
    )


def review_inbox(
    settings: Settings, parts: Parts, curation: CurationService, write_buffer: WriteBehindBuffer
) -> ReviewInbox:
    return ReviewInbox(
        store=parts.store,
        index_writer=parts.index_writer,
        journal=parts.journal,
        memory_service=parts.memory_service,
        curation=curation,
        normalizer=parts.normalizer,
        write_buffer=write_buffer,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def undo_service(settings: Settings, parts: Parts) -> UndoService:
    return UndoService(
        store=parts.store,
        index_writer=parts.index_writer,
        journal=parts.journal,
        normalizer=parts.normalizer,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def maintenance(settings: Settings, parts: Parts, index_rebuild: IndexRebuild) -> Maintenance:
    return Maintenance(
        store=parts.store,
        index_writer=parts.index_writer,
        journal=parts.journal,
        proposal_queue=parts.proposal_queue,
        duplicates=Duplicates(parts.store, parts.active_model),
        index_rebuild=index_rebuild,
        share=settings.purge_share,
        clock=parts.clock,
    )


def recall_log(
    settings: Settings,
    store: MemoryStore,
    write_buffer: WriteBehindBuffer,
    clock: Clock,
    recall_id: Callable[[datetime], RecallId],
) -> RecallLog:
    return RecallLog(
        store=store,
        write_buffer=write_buffer,
        clock=clock,
        lead_sees=settings.lead_sees,
        lifetime=settings.recall_log_lifetime,
        recall_id=recall_id,
    )


def housekeeping(settings: Settings, store: MemoryStore, keywords: KeywordIndex, clock: Clock) -> Housekeeper:
    return Housekeeper(
        store,
        keywords,
        clock,
        recalls=settings.recall_log_lifetime,
        events=settings.event_lifetime,
        undo=settings.undo_lifetime,
        decided=settings.decided_lifetime,
    )
