"""Knowing: what of a summary an agent has among its memories already. That is not kept a second time; the memories that
say it are reinforced instead."""

from collections.abc import Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import DocumentKey, Stored
from hivelore.memories.summary import sentences
from hivelore.memories.ttl import Lifetimes
from hivelore.search.model import Filter, Visibility
from hivelore.search.query_analysis import query_terms
from hivelore.sessions.lessons.claims import is_informative, is_stated, parse_claims
from hivelore.storage.ports import MemoryStore, Transaction, View

_MAX_CANDIDATES = 5
"""Memories that may say the same: those with the most of its words."""
_CODE_FENCE = "```"
_MAX_CHARACTERS = 50_000
"""Characters of a text that may be known; ``sentences`` looks at no more."""


class NoveltyFilter:
    def __init__(self, store: MemoryStore, keywords: KeywordIndex, lifetimes: Lifetimes, clock: Clock) -> None:
        self._store = store
        self._keywords = keywords
        self._lifetimes = lifetimes
        self._clock = clock

    def split_points(
        self, points: Sequence[str], agent: AgentId, project: Clean | None, besides: Clean
    ) -> tuple[list[str], list[Stored]]:
        """The points that no memory says which the agent can see, and the memories that say the others. ``besides``:
        the external id of one that does not count."""
        new: list[str] = []
        saying: dict[DocumentKey, Stored] = {}
        where = self._filter(agent, project)
        with self._store.read(sees=where.visibility) as view:
            for point in points:
                known = self._find_statement(view, point, where, besides)
                if known is None:
                    new.append(point)
                else:
                    saying[known.key] = known
        return new, list(saying.values())

    def memories_stating(self, text: str, agent: AgentId, project: Clean | None, besides: Clean) -> list[Stored]:
        """The memories that say all that a text says. None at all where something in it is news, or nothing in it could
        be known: code, or a text without statements."""
        if _CODE_FENCE in text or len(text) > _MAX_CHARACTERS:
            return []
        saying: dict[DocumentKey, Stored] = {}
        where = self._filter(agent, project)
        with self._store.read(sees=where.visibility) as view:
            for statement in filter(is_informative, sentences(text)):
                known = self._find_statement(view, statement, where, besides)
                if known is None:
                    return []
                saying[known.key] = known
        return list(saying.values())

    def reinforce(self, memories: Sequence[Stored]) -> None:
        """They were right again: they count as read, and live as if they were written anew (B08)."""
        if not memories:
            return
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            tx.count_reads({stored.key: (1, now) for stored in memories})
            for stored in memories:
                tx.set_expiry(stored.key, self._renewed_expiry(stored, now))

        self._store.write(work)

    def renew(self, stored: Stored) -> None:
        """It lives as if it was written anew."""
        later = self._renewed_expiry(stored, self._clock.now())
        self._store.write(lambda tx: tx.set_expiry(stored.key, later))

    def _filter(self, agent: AgentId, project: Clean | None) -> Filter:
        seen = Visibility(own=agent, swarm=True)
        return Filter(visibility=seen, project=project, superseded=False, live_at=self._clock.now())

    def _find_statement(self, view: View, point: str, where: Filter, besides: Clean) -> Stored | None:
        found = self._keywords.search(view, query_terms(point), where, _MAX_CANDIDATES)
        memories = view.memories_of([candidate.document for candidate in found], where)
        for key, memory in memories.items():
            if memory.external_id != besides and is_stated(point, parse_claims(memory.content)):
                return Stored(key, memory)
        return None

    def _renewed_expiry(self, stored: Stored, now: datetime) -> datetime | None:
        """The later of both: who was given more time keeps it."""
        before, renewed = stored.memory.expires_at, self._lifetimes.expiry(stored.memory.source, now)
        return None if before is None or renewed is None else max(before, renewed)
