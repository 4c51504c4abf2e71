"""The services over one store, wired as the application does it, with a clock that tests set by hand."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

from hivelore.adapters.hashing import HashingEmbedder
from hivelore.adapters.vectors.exact import ExactVectors
from hivelore.domain.agent import Agent, AgentId, Door, KeyId, LeadSees, Role, Viewer
from hivelore.domain.audit import AuditEntry
from hivelore.domain.draft import Draft
from hivelore.domain.job import JobId
from hivelore.domain.memory import Memory, MemoryId
from hivelore.domain.search import Answer, Query, RecallId
from hivelore.domain.text import Clean
from hivelore.policies.fusion import Weighting
from hivelore.policies.priors import Priors
from hivelore.policies.ranking import Ranking
from hivelore.policies.redaction import Redactor
from hivelore.policies.ttl import Lifetimes
from hivelore.policies.updates import Updating
from hivelore.ports import EmbeddingProvider, KeywordIndex, MemoryStore
from hivelore.services.agents import Agents, Random
from hivelore.services.drafting import Drafting
from hivelore.services.embedding import Embedding
from hivelore.services.recall import Recalling
from hivelore.services.recall_log import RecallLog
from hivelore.services.reembed import Reembedding
from hivelore.services.remember import Remembering
from hivelore.services.serving import Model, Serving
from hivelore.services.shelving import Shelf
from hivelore.services.tally import Tally
from support.clocks import SteppingClock

ADA, BOB, LEA = AgentId("ada"), AgentId("bob"), AgentId("lea")
AS_ADA = Viewer(role=Role.WORKER, agent=ADA, door=Door.PYTHON)
AS_BOB = Viewer(role=Role.WORKER, agent=BOB, door=Door.PYTHON)
AS_LEA = Viewer(role=Role.LEAD, agent=LEA, door=Door.PYTHON)
AS_OPERATOR = Viewer(role=Role.OPERATOR, agent=None, door=Door.CLI)


class World:
    """``embedder`` None: keywords only."""

    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        clock: SteppingClock,
        *,
        embedder: EmbeddingProvider | None = None,
        ranking: Ranking | None = None,
        lead_sees: LeadSees = LeadSees.ALL,
        keywords_complete: Callable[[], bool] = lambda: True,
        logged_for: timedelta = timedelta(days=30),
        first_id: int = 1,
    ) -> None:
        self.store, self.keywords, self.clock = store, keywords, clock
        model = None if embedder is None else Model(embedder, ExactVectors(embedder.fingerprint, embedder.dimension))
        self.serving = Serving(model)
        self.tally = Tally(store)
        ids = count(first_id)
        self.remembering = Remembering(
            store=store,
            shelf=Shelf(keywords),
            drafting=Drafting(
                Redactor(b"a key for tests only"), Lifetimes(), clock, lambda _: MemoryId(f"m{next(ids):04}")
            ),
            lifetimes=Lifetimes(),
            lead_sees=lead_sees,
            clock=clock,
            written=lambda: None,
        )
        self.recall_log = RecallLog(
            store=store,
            tally=self.tally,
            clock=clock,
            lead_sees=lead_sees,
            lifetime=logged_for,
            recall_id=lambda _: RecallId(f"r{next(ids):04}"),
        )
        self.recalling = Recalling(
            store=store,
            keywords=keywords,
            serving=self.serving,
            ranking=ranking or Ranking(),
            weighting=Weighting(),
            priors=Priors(),
            updating=Updating(),
            lead_sees=lead_sees,
            tally=self.tally,
            clock=clock,
            keywords_complete=keywords_complete,
            log=self.recall_log,
        )
        self.embedding = Embedding(store, self.serving, clock)
        self.reembedding = Reembedding(store, self.serving, self.embedding, clock, lambda _: JobId(f"job{next(ids)}"))
        self.agents = Agents(
            store, 1, clock, Random(_numbered("agent", AgentId), lambda: KeyId(f"{next(ids):010x}"), _secret)
        )
        for agent, role in ((ADA, Role.WORKER), (BOB, Role.WORKER), (LEA, Role.LEAD)):
            known = Agent(id=agent, name=agent, role=role, created_at=clock.now())
            store.write(lambda tx, known=known: tx.put_agent(known))

    def remember(self, content: str, viewer: Viewer = AS_ADA, **more: Any) -> Memory:
        """Keep something and give it its vectors; a second later than the last time."""
        self.clock.advance(timedelta(seconds=1))
        done = self.remembering.remember(Draft(content=content, **more), viewer)
        self.embed()
        return done.memory

    def embed(self) -> None:
        while self.embedding.step():
            pass

    def recall(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> Answer:
        return self.recalling.recall(replace(Query(text=Clean(text)), **more), viewer)

    def found(self, text: str, viewer: Viewer = AS_ADA, **more: Any) -> list[str]:
        """The contents of the hits, best first."""
        return [hit.memory.content for hit in self.recall(text, viewer, **more).hits]

    def audit(self) -> list[AuditEntry]:
        self.tally.flush()
        with self.store.read() as view:
            return list(view.audit(1_000))


def _numbered(word: str, kind: type[AgentId] | Callable[[str], AgentId]) -> Callable[[Any], AgentId]:
    numbers = count(1)
    return lambda _: kind(f"{word}{next(numbers)}")


def _secret() -> str:
    return "ab" * 32


def hashing() -> HashingEmbedder:
    return HashingEmbedder(64)
