"""Putting together the services that share most of what they need: those of memories, review, maintenance, upkeep and
the log of recalls."""

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
from hivelore.maintenance.housekeeping import Housekeeping
from hivelore.maintenance.service import Maintenance
from hivelore.memories.model import MemoryId
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.models.ports import PairReader
from hivelore.observations.curation import CurationService
from hivelore.observations.service import ObservationService
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import ProposalId
from hivelore.review.proposals import Proposals
from hivelore.runtime.settings import Settings
from hivelore.search.model import RecallId
from hivelore.storage.ports import MemoryStore


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is already."""

    store: MemoryStore
    shelf: IndexWriter
    drafting: Normalizer
    proposing: Proposals
    keeping: ChangeJournal
    remembering: MemoryService
    serving: ActiveModel
    events: EventLog
    clock: Clock
    written: Callable[[], None]
    """Is called after every write that may have left passages without vectors."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What makes new ids."""

    memory: Callable[[datetime], MemoryId]
    proposal: Callable[[datetime], ProposalId]
    batch: Callable[[datetime], BatchId]


def parts(
    settings: Settings,
    ids: Ids,
    *,
    store: MemoryStore,
    shelf: IndexWriter,
    redactor: Redactor,
    serving: ActiveModel,
    events: EventLog,
    clock: Clock,
    written: Callable[[], None],
) -> Parts:
    drafting = Normalizer(redactor, settings.lifetimes, clock, ids.memory)
    proposing = Proposals(clock, ids.proposal)
    keeping = ChangeJournal(store, clock, ids.batch, settings.undo_lifetime)
    remembering = MemoryService(
        store=store,
        shelf=shelf,
        drafting=drafting,
        proposing=proposing,
        keeping=keeping,
        lifetimes=settings.lifetimes,
        lead_sees=settings.lead_sees,
        clock=clock,
        written=written,
    )
    return Parts(
        store=store,
        shelf=shelf,
        drafting=drafting,
        proposing=proposing,
        keeping=keeping,
        remembering=remembering,
        serving=serving,
        events=events,
        clock=clock,
        written=written,
    )


def observing(settings: Settings, parts: Parts, reader: PairReader | None) -> ObservationService:
    return ObservationService(
        store=parts.store,
        shelf=parts.shelf,
        drafting=parts.drafting,
        serving=parts.serving,
        proposing=parts.proposing,
        events=parts.events,
        lifecycle=settings.lifecycle,
        matching=settings.reinforce,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        reader=reader,
        written=parts.written,
    )


def operations(settings: Settings, parts: Parts, tally: WriteBehindBuffer) -> CurationService:
    return CurationService(
        store=parts.store,
        shelf=parts.shelf,
        drafting=parts.drafting,
        remembering=parts.remembering,
        proposing=parts.proposing,
        events=parts.events,
        keeping=parts.keeping,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        tally=tally,
        clock=parts.clock,
        written=parts.written,
    )


def reviewing(settings: Settings, parts: Parts, operations: CurationService, tally: WriteBehindBuffer) -> ReviewInbox:
    return ReviewInbox(
        store=parts.store,
        shelf=parts.shelf,
        keeping=parts.keeping,
        remembering=parts.remembering,
        operations=operations,
        drafting=parts.drafting,
        tally=tally,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def undoing(settings: Settings, parts: Parts) -> UndoService:
    return UndoService(
        store=parts.store,
        shelf=parts.shelf,
        keeping=parts.keeping,
        drafting=parts.drafting,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def maintenance(settings: Settings, parts: Parts, reindexing: IndexRebuild) -> Maintenance:
    return Maintenance(
        store=parts.store,
        shelf=parts.shelf,
        keeping=parts.keeping,
        proposing=parts.proposing,
        duplicates=Duplicates(parts.store, parts.serving),
        reindexing=reindexing,
        share=settings.purge_share,
        clock=parts.clock,
    )


def recall_log(
    settings: Settings,
    store: MemoryStore,
    tally: WriteBehindBuffer,
    clock: Clock,
    recall_id: Callable[[datetime], RecallId],
) -> RecallLog:
    return RecallLog(
        store=store,
        tally=tally,
        clock=clock,
        lead_sees=settings.lead_sees,
        lifetime=settings.recall_log_lifetime,
        recall_id=recall_id,
    )


def upkeep(settings: Settings, store: MemoryStore, keywords: KeywordIndex, clock: Clock) -> Housekeeping:
    return Housekeeping(
        store,
        keywords,
        clock,
        recalls=settings.recall_log_lifetime,
        events=settings.event_lifetime,
        undo=settings.undo_lifetime,
        decided=settings.decided_lifetime,
    )
