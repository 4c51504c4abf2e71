"""The services over one store, wired as the application does it, with a clock that tests set by hand."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache, cached_property
from itertools import count
from typing import Any

from hivelore.changes.model import BatchId
from hivelore.core.agents import Agent, AgentId, Interface, KeyId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import JobId
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.embeddings.active_model import ActiveModel, EmbeddingModel
from hivelore.events.model import LoggedId
from hivelore.identity.service import IdSource
from hivelore.indexes.ports import KeywordIndex, VectorIndex
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.maintenance.jobs import MaintenanceJobs
from hivelore.memories.drafts import Draft, QuotedDraft
from hivelore.memories.model import Memory, MemoryId
from hivelore.models.onnx.pairs import OnnxPairReader
from hivelore.models.ports import EmbeddingProvider, PairReader, RelevanceReader
from hivelore.observations.model import MatchingMode
from hivelore.observations.outcomes import ObservationInput, ObservationResult
from hivelore.repos.model import RepoId
from hivelore.review.model import ProposalId
from hivelore.runtime.services import Ids, Services
from hivelore.runtime.settings import Embedder, Settings, load
from hivelore.search.model import Query, RecallId, RecallResult
from hivelore.search.ranking import RankingConstants, SearchConstants
from hivelore.search.service import SearchService
from hivelore.sessions.model import SessionEnd
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.fences import NONCE
from support.hashing_embedder import HashingEmbedder

ADA, BOB, LEA = AgentId("ada"), AgentId("bob"), AgentId("lea")
AS_ADA = Viewer(role=Role.WORKER, agent=ADA, interface=Interface.PYTHON)
AS_BOB = Viewer(role=Role.WORKER, agent=BOB, interface=Interface.PYTHON)
AS_LEA = Viewer(role=Role.LEAD, agent=LEA, interface=Interface.PYTHON)
AS_OPERATOR = Viewer(role=Role.OPERATOR, agent=None, interface=Interface.CLI)
READER = OnnxPairReader()
"""The shipped pair model, loaded once."""


@cache
def _settings(
    lead_sees: LeadSees, matching: MatchingMode, share: float, logged_for: timedelta, aliases: tuple[str, ...]
) -> Settings:
    return load(
        lead_sees=lead_sees,
        reinforce=matching,
        purge_share=share,
        recall_log_days=logged_for / timedelta(days=1),
        embedder=Embedder.NONE,
        aliases=aliases,
    )


class World(Services):
    """``embedder`` None: keywords only; ``vectors`` None: each is read for every query, which is slow. ``constants``:
    all constants of the ranking; ``ranking``: some of them. ``reader`` None: only equal words and quantities count."""

    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        clock: SteppingClock,
        *,
        embedder: EmbeddingProvider | None = None,
        vectors: VectorIndex | None = None,
        ranking: RankingConstants | None = None,
        constants: SearchConstants | None = None,
        lead_sees: LeadSees = LeadSees.ALL,
        keywords_complete: Callable[[], bool] = lambda: True,
        logged_for: timedelta = timedelta(days=30),
        first_id: int = 1,
        matching: MatchingMode = MatchingMode.MEANING,
        share: float = 0.05,
        aliases: tuple[str, ...] = (),
        reader: PairReader | None = READER,
        relevance_reader: RelevanceReader | None = None,
    ) -> None:
        model = None if embedder is None else EmbeddingModel(embedder, vectors or _exact(embedder))
        numbers = count(first_id)
        super().__init__(
            _settings(lead_sees, matching, share, logged_for, aliases),
            store=store,
            keywords=keywords,
            former_keywords=(),
            active_model=ActiveModel(model),
            redactor=Redactor(b"a key for tests only"),
            clock=clock,
            ids=Ids(
                memory=lambda _: MemoryId(f"m{next(numbers):04}"),
                proposal=lambda _: ProposalId(f"p{next(numbers):04}"),
                batch=lambda _: BatchId(f"b{next(numbers):04}"),
                event=lambda _: LoggedId(f"e{next(numbers):04}"),
                recall=lambda _: RecallId(f"r{next(numbers):04}"),
                job=lambda _: JobId(f"job{next(numbers)}"),
                repo=lambda _: RepoId(f"00000000-0000-7000-8000-{next(numbers):012d}"),
                nonce=lambda: NONCE,
                identity=IdSource(_numbered("agent", AgentId), lambda: KeyId(f"{next(numbers):010x}"), _secret),
            ),
        )
        self.clock: SteppingClock = clock
        self.handed_over: list[SessionEnd] = []
        self.delays: list[timedelta] = []
        """By session end: the delay of its summary."""
        self._constants = constants or SearchConstants(ranking=ranking or RankingConstants())
        self._keywords_complete, self._reader = keywords_complete, reader
        self._relevance_reader = relevance_reader
        self._processes = count(1)
        for agent, role in ((ADA, Role.WORKER), (BOB, Role.WORKER), (LEA, Role.LEAD)):
            known = Agent(id=agent, name=agent, role=role, created_at=clock.now())
            store.write(lambda tx, known=known: tx.put_agent(known))

    def make_pair_reader(self) -> PairReader | None:
        return self._reader

    def make_relevance_reader(self) -> RelevanceReader | None:
        return self._relevance_reader

    def hand_over(self, ended: SessionEnd, viewer: Viewer, delay: timedelta = timedelta(0)) -> None:
        self.handed_over.append(ended)
        self.delays.append(delay)

    def are_keywords_complete(self) -> bool:
        return self._keywords_complete()

    @cached_property
    def search_service(self) -> SearchService:
        return self.search_service_with(self._constants, self.recall_log)

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
            redactor=self.redactor,
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
        """Stores an observation with its vector, a second after the last one."""
        self.clock.advance(timedelta(seconds=1))
        seen = ObservationInput(observation=text, category=category, service=service, **more)
        done = self.observation_service.observe(seen, viewer)
        while self.embedding.step():
            pass
        return done

    def remember(self, content: str, viewer: Viewer = AS_ADA, **more: Any) -> Memory:
        """Stores a memory with its vectors, a second after the last one. An operator stores operational memories for
        ``viewer``."""
        self.clock.advance(timedelta(seconds=1))
        by = viewer if more.get("operational") is None else replace(viewer, role=Role.OPERATOR)
        kind = QuotedDraft if "trust" in more else Draft
        done = self.memory_service.remember(kind(content=content, **more), by)
        self.embed()
        return done.memory

    def embed(self) -> None:
        while self.embedding.step():
            pass

    def recall(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> RecallResult:
        return self.search_service.recall(replace(Query(text=Clean(text)), **more), viewer)

    def found(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> list[str]:
        """Returns the contents of the hits, best first."""
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
