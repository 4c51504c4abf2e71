"""The services over one store, wired as the application does it, with a clock that tests set by hand."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from itertools import count
from typing import Any

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchId
from hivelore.changes.undo import UndoService
from hivelore.core.agents import Agent, AgentId, Interface, KeyId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import JobId
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel, EmbeddingModel
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.embeddings.reembed import Reembedder
from hivelore.events.cooldowns import Cooldowns
from hivelore.events.log import EventLog
from hivelore.events.model import LoggedId
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.feedback.model import UsefulnessBounds
from hivelore.feedback.recall_log import RecallLog
from hivelore.feedback.usefulness import UsefulnessService
from hivelore.identity.service import Agents, IdSource
from hivelore.indexes.ports import KeywordIndex, VectorIndex
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.duplicates import Duplicates
from hivelore.maintenance.jobs import MaintenanceJobs
from hivelore.maintenance.service import Maintenance
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.reader import MemoryReader
from hivelore.memories.service import MemoryService
from hivelore.memories.ttl import Lifetimes
from hivelore.models.hashing import HashingEmbedder
from hivelore.models.ports import EmbeddingProvider, PairReader
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.curation import CurationService
from hivelore.observations.outcomes import MatchingMode, ObservationInput, ObservationResult
from hivelore.observations.service import ObservationService
from hivelore.observations.token_budget import TokenBudget
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import ProposalId
from hivelore.review.proposals import ProposalQueue
from hivelore.search.fusion import FusionWeights
from hivelore.search.model import Query, RecallId, RecallResult
from hivelore.search.ranking import Boosts, RankingConstants, RecencyConflicts
from hivelore.search.service import SearchService
from hivelore.sessions.capture import CaptureService
from hivelore.sessions.injection import Budgets, InjectionService
from hivelore.sessions.model import SessionEnd
from hivelore.sessions.novelty import NoveltyFilter
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.fences import NONCE

ADA, BOB, LEA = AgentId("ada"), AgentId("bob"), AgentId("lea")
AS_ADA = Viewer(role=Role.WORKER, agent=ADA, interface=Interface.PYTHON)
AS_BOB = Viewer(role=Role.WORKER, agent=BOB, interface=Interface.PYTHON)
AS_LEA = Viewer(role=Role.LEAD, agent=LEA, interface=Interface.PYTHON)
AS_OPERATOR = Viewer(role=Role.OPERATOR, agent=None, interface=Interface.CLI)


class World:
    """``embedder`` None: keywords only; ``vectors`` None: each is read at every question, which is slow among many."""

    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        clock: SteppingClock,
        *,
        embedder: EmbeddingProvider | None = None,
        vectors: VectorIndex | None = None,
        ranking: RankingConstants | None = None,
        lead_sees: LeadSees = LeadSees.ALL,
        keywords_complete: Callable[[], bool] = lambda: True,
        logged_for: timedelta = timedelta(days=30),
        first_id: int = 1,
        matching: MatchingMode = MatchingMode.MEANING,
        share: float = 0.05,
        reader: PairReader | None = None,
    ) -> None:
        self.store, self.keywords, self.clock = store, keywords, clock
        model = None if embedder is None else EmbeddingModel(embedder, vectors or _exact(embedder))
        self.active_model = ActiveModel(model)
        self.write_buffer = WriteBehindBuffer(store)
        ids = count(first_id)
        index_writer, redactor = IndexWriter(keywords), Redactor(b"a key for tests only")
        normalizer = Normalizer(redactor, Lifetimes(), clock, lambda _: MemoryId(f"m{next(ids):04}"))
        self.events = EventLog(store, redactor, clock, lead_sees, lambda _: LoggedId(f"e{next(ids):04}"))
        self.cooldowns = Cooldowns(store, redactor, clock)
        self.proposal_queue = ProposalQueue(clock, lambda _: ProposalId(f"p{next(ids):04}"))
        self.journal = ChangeJournal(store, clock, lambda _: BatchId(f"b{next(ids):04}"), timedelta(days=7))
        self.memory_service = MemoryService(
            store=store,
            index_writer=index_writer,
            normalizer=normalizer,
            proposal_queue=self.proposal_queue,
            journal=self.journal,
            lifetimes=Lifetimes(),
            lead_sees=lead_sees,
            clock=clock,
            written=lambda: None,
        )
        self.observation_service = ObservationService(
            store=store,
            index_writer=index_writer,
            normalizer=normalizer,
            active_model=self.active_model,
            proposal_queue=self.proposal_queue,
            events=self.events,
            lifecycle=Lifecycle(),
            matching=matching,
            lead_sees=lead_sees,
            clock=clock,
            reader=reader,
            written=lambda: None,
        )
        self.curation = CurationService(
            store=store,
            index_writer=index_writer,
            normalizer=normalizer,
            memory_service=self.memory_service,
            proposal_queue=self.proposal_queue,
            events=self.events,
            journal=self.journal,
            lifecycle=Lifecycle(),
            lead_sees=lead_sees,
            write_buffer=self.write_buffer,
            clock=clock,
            written=lambda: None,
        )
        self.review_inbox = ReviewInbox(
            store=store,
            index_writer=index_writer,
            journal=self.journal,
            memory_service=self.memory_service,
            curation=self.curation,
            normalizer=normalizer,
            write_buffer=self.write_buffer,
            lifecycle=Lifecycle(),
            lead_sees=lead_sees,
            clock=clock,
            written=lambda: None,
        )
        self.undo_service = UndoService(
            store=store,
            index_writer=index_writer,
            journal=self.journal,
            normalizer=normalizer,
            lead_sees=lead_sees,
            clock=clock,
            written=lambda: None,
        )
        self._index_writer, self._share = index_writer, share
        self._processes = count(1)
        self.recall_log = RecallLog(
            store=store,
            write_buffer=self.write_buffer,
            clock=clock,
            lead_sees=lead_sees,
            lifetime=logged_for,
            recall_id=lambda _: RecallId(f"r{next(ids):04}"),
        )
        self.search_service = SearchService(
            store=store,
            keywords=keywords,
            active_model=self.active_model,
            ranking=ranking or RankingConstants(),
            fusion_weights=FusionWeights(),
            boosts=Boosts(),
            recency_conflicts=RecencyConflicts(),
            lifecycle=Lifecycle(),
            lead_sees=lead_sees,
            write_buffer=self.write_buffer,
            clock=clock,
            keywords_complete=keywords_complete,
            log=self.recall_log,
        )
        self.reading = MemoryReader(
            store=store,
            active_model=self.active_model,
            lead_sees=lead_sees,
            write_buffer=self.write_buffer,
            clock=clock,
        )
        redactor = Redactor(b"a key for tests only")
        self.rating = UsefulnessService(
            store=store, worth=UsefulnessBounds(), lead_sees=lead_sees, redactor=redactor, clock=clock
        )
        briefing = InjectionService(
            self.search_service,
            self.reading,
            self.curation,
            self.cooldowns,
            Budgets(start=1_500, prompt=1_000, operational=TokenBudget(2_000)),
            lambda: NONCE,
        )
        self.handed_over: list[SessionEnd] = []
        self.novelty_filter = NoveltyFilter(store, keywords, Lifetimes(), clock)
        self.capture = CaptureService(
            store,
            briefing,
            self.memory_service,
            self.novelty_filter,
            lambda ended, viewer: self.handed_over.append(ended),
            clock,
        )
        self.embedding = EmbeddingQueue(store, self.active_model, clock)
        self.reembedder = Reembedder(
            store, self.active_model, self.embedding, clock, lambda _: JobId(f"job{next(ids)}")
        )
        self.agents = Agents(
            store, 1, clock, IdSource(_numbered("agent", AgentId), lambda: KeyId(f"{next(ids):010x}"), _secret)
        )
        for agent, role in ((ADA, Role.WORKER), (BOB, Role.WORKER), (LEA, Role.LEAD)):
            known = Agent(id=agent, name=agent, role=role, created_at=clock.now())
            store.write(lambda tx, known=known: tx.put_agent(known))

    @cached_property
    def index_rebuild(self) -> IndexRebuild:
        return IndexRebuild(self.store, self.keywords, (), self._index_writer, self.clock)

    @cached_property
    def maintenance(self) -> Maintenance:
        return Maintenance(
            store=self.store,
            index_writer=self._index_writer,
            journal=self.journal,
            proposal_queue=self.proposal_queue,
            duplicates=Duplicates(self.store, self.active_model),
            index_rebuild=self.index_rebuild,
            share=self._share,
            clock=self.clock,
        )

    @cached_property
    def maintenance_jobs(self) -> MaintenanceJobs:
        return self.another_process()

    def another_process(self) -> MaintenanceJobs:
        """The jobs of one more process on the same store."""
        numbers = count(1)
        process = next(self._processes)
        return MaintenanceJobs(
            store=self.store,
            maintenance=self.maintenance,
            redactor=Redactor(b"a key for tests only"),
            clock=self.clock,
            new_id=lambda _: JobId(f"job{process}.{next(numbers)}"),
            within=lambda work: work(),
        )

    def observe(
        self,
        text: str,
        service: str | None = "jellyfin",
        category: str = "timing",
        viewer: Viewer = AS_ADA,
        **more: Any,
    ) -> ObservationResult:
        """Take in what was seen of running things and give it its vector; a second later than the last time."""
        self.clock.advance(timedelta(seconds=1))
        seen = ObservationInput(text=text, category=category, service=service, **more)
        done = self.observation_service.observe(seen, viewer)
        while self.embedding.step():
            pass
        return done

    def remember(self, content: str, viewer: Viewer = AS_ADA, **more: Any) -> Memory:
        """Keep something and give it its vectors; a second later than the last time. What is about running things an
        operator keeps, in the name of ``viewer``."""
        self.clock.advance(timedelta(seconds=1))
        by = viewer if more.get("operational") is None else replace(viewer, role=Role.OPERATOR)
        done = self.memory_service.remember(Draft(content=content, **more), by)
        self.embed()
        return done.memory

    def embed(self) -> None:
        while self.embedding.step():
            pass

    def recall(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> RecallResult:
        return self.search_service.recall(replace(Query(text=Clean(text)), **more), viewer)

    def found(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> list[str]:
        """The contents of the hits, best first."""
        return [hit.memory.content for hit in self.recall(text, viewer, **more).hits]

    def audit(self) -> list[AuditEntry]:
        self.write_buffer.flush()
        with self.store.read() as view:
            return list(view.audit(1_000))


def _numbered(word: str, kind: type[AgentId] | Callable[[str], AgentId]) -> Callable[[Any], AgentId]:
    numbers = count(1)
    return lambda _: kind(f"{word}{next(numbers)}")


def _secret() -> str:
    return "ab" * 32


def hashing() -> HashingEmbedder:
    return HashingEmbedder(64)


def _exact(embedder: EmbeddingProvider) -> ExactVectors:
    return ExactVectors(embedder.fingerprint, embedder.dimension)
