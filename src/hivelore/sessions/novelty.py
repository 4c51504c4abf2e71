"""Novelty filter: finds the points of a summary that existing memories already state. Those memories are reinforced
instead of storing the point again."""

from collections.abc import Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.indexes.ports import KeywordIndex
from hivelore.memories.model import Lifetimes
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.summary import sentences
from hivelore.search.model import Filter, Visibility
from hivelore.search.tokenizer import query_terms
from hivelore.sessions.lessons.claims import is_informative, is_stated, parse_claims
from hivelore.storage.ports import MemoryStore, Transaction, View

_MAX_CANDIDATES = 5
"""Memories compared with a point: those that share most of its words."""
_CODE_FENCE = "```"
_MAX_CHARACTERS = 50_000
"""Longest text that is compared; ``sentences`` reads no more."""


class NoveltyFilter:
    def __init__(self, store: MemoryStore, keywords: KeywordIndex, lifetimes: Lifetimes, clock: Clock) -> None:
        self._store = store
        self._keywords = keywords
        self._lifetimes = lifetimes
        self._clock = clock

    def split_points(
        self, points: Sequence[str], agent: AgentId, project: Clean | None, exclude: Clean
    ) -> tuple[list[str], list[Stored]]:
        """Returns the points that no visible memory states, and the memories that state the others. ``exclude``:
        external id of a memory to ignore."""
        new: list[str] = []
        saying: dict[DocumentKey, Stored] = {}
        where = self._filter(agent, project)
        with self._store.read(sees=where.visibility) as view:
            for point in points:
                known = self._find_statement(view, point, where, exclude)
                if known is None:
                    new.append(point)
                else:
                    saying[known.key] = known
        return new, list(saying.values())

    def memories_stating(self, text: str, agent: AgentId, project: Clean | None, exclude: Clean) -> list[Stored]:
        """Returns the memories that together state everything in a text. Empty if any statement is new, or if the text
        holds code or no statement."""
        if _CODE_FENCE in text or len(text) > _MAX_CHARACTERS:
            return []
        saying: dict[DocumentKey, Stored] = {}
        where = self._filter(agent, project)
        with self._store.read(sees=where.visibility) as view:
            for statement in filter(is_informative, sentences(text)):
                known = self._find_statement(view, statement, where, exclude)
                if known is None:
                    return []
                saying[known.key] = known
        return list(saying.values())

    def reinforce(self, memories: Sequence[Stored]) -> None:
        """Counts an access to each memory and renews its lifetime (B08)."""
        if not memories:
            return
        now = self._clock.now()

        def renew_all(tx: Transaction) -> None:
            tx.count_reads({stored.key: (1, now) for stored in memories})
            for stored in memories:
                tx.set_expiry(stored.key, self._renewed_expiry(stored, now))

        self._store.write(renew_all)

    def renew(self, stored: Stored) -> None:
        """Renews the lifetime of a memory as if it had been written now."""
        later = self._renewed_expiry(stored, self._clock.now())
        self._store.write(lambda tx: tx.set_expiry(stored.key, later))

    def _filter(self, agent: AgentId, project: Clean | None) -> Filter:
        seen = Visibility(own=agent, swarm=True)
        return Filter(visibility=seen, project=project, superseded=False, live_at=self._clock.now())

    def _find_statement(self, view: View, point: str, where: Filter, exclude: Clean) -> Stored | None:
        found = self._keywords.search(view, query_terms(point), where, _MAX_CANDIDATES)
        memories = view.memories_of([candidate.document for candidate in found], where)
        for key, memory in memories.items():
            if memory.external_id != exclude and is_stated(point, parse_claims(memory.content)):
                return Stored(key, memory)
        return None

    def _renewed_expiry(self, stored: Stored, now: datetime) -> datetime | None:
        """Returns the later of the current and the renewed expiry."""
        before, renewed = stored.memory.expires_at, self._lifetimes.expiry(stored.memory.source, now)
        return None if before is None or renewed is None else max(before, renewed)
