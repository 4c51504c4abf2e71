"""Novelty filter: finds memories that already make a statement. Those are reinforced instead of storing it again.

Points of summaries count as stated if a memory has the same words. For lessons, the contradiction judge decides too.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

from hivelore.core.agents import AgentId
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.indexes.ports import KeywordIndex
from hivelore.links.comparer import Comparer
from hivelore.links.judge import Verdict, are_equal
from hivelore.memories.model import Lifetimes, Memory, Source
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.summary import sentences
from hivelore.search.model import Filter, Visibility
from hivelore.search.ranking import are_duplicates
from hivelore.search.tokenizer import query_terms
from hivelore.sessions.lessons.information import is_informative
from hivelore.storage.ports import MemoryStore, Transaction, View

_MAX_CANDIDATES = 5
"""Memories compared with a point: those that share most of its words."""
_MAX_SENTENCES = 30
"""Sentences of a memory that are compared."""
_CODE_FENCE = "```"
_MAX_LENGTH = 1_000
"""Characters of a statement that is compared with another by the judge."""
_MAX_READ = 500
_LEAST_SHARE = 0.6
"""Characters of texts that the pair model reads, and how long the shorter one is against the other. It takes about
0.2 s for two texts of this length."""
_MAX_CHARACTERS = 50_000
"""Longest text that is compared; ``sentences`` reads no more."""


class NoveltyFilter:
    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        lifetimes: Lifetimes,
        clock: Clock,
        comparer: Comparer,
    ) -> None:
        """``comparer`` compares lessons."""
        self._comparer = comparer
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
                known = self._find_statement(view, point, where, _all_but(exclude))
                if known is None:
                    new.append(point)
                else:
                    saying[known.key] = known
        return new, list(saying.values())

    def memory_stating(
        self, text: str, agent: AgentId, project: Clean | None, source: Source, is_ignored: Callable[[Memory], bool]
    ) -> Stored | None:
        """Returns a memory that makes the same statement and, once reinforced, lives at least as long as a new one from
        ``source``. ``is_ignored``: memories that do not count."""
        now = self._clock.now()
        needed, where = self._lifetimes.expiry(source, now), self._filter(agent, project)

        def counts(stored: Stored) -> bool:
            return not is_ignored(stored.memory) and self._lives_until(needed, stored, now)

        with self._store.read(sees=where.visibility) as view:
            return self._find_statement(view, text, where, counts, self._comparer)

    def memories_stating(self, text: str, agent: AgentId, project: Clean | None, exclude: Clean) -> list[Stored]:
        """Returns the memories that together state everything in a text. Empty if any statement is new, or if the text
        holds code or no statement."""
        if _CODE_FENCE in text or len(text) > _MAX_CHARACTERS:
            return []
        saying: dict[DocumentKey, Stored] = {}
        where = self._filter(agent, project)
        with self._store.read(sees=where.visibility) as view:
            for statement in filter(is_informative, sentences(text)):
                known = self._find_statement(view, statement, where, _all_but(exclude))
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

    def _find_statement(
        self,
        view: View,
        point: str,
        where: Filter,
        counts: Callable[[Stored], bool],
        comparer: Comparer | None = None,
    ) -> Stored | None:
        found = self._keywords.search(view, query_terms(point), where, _MAX_CANDIDATES)
        memories = view.memories_of([candidate.document for candidate in found], where)
        for stored in (Stored(key, memory) for key, memory in memories.items()):
            if counts(stored) and _states(stored.memory.content, point, comparer):
                return stored
        return None

    def _lives_until(self, needed: datetime | None, stored: Stored, now: datetime) -> bool:
        """Returns True if the renewed memory does not expire before a time; None: never."""
        if stored.memory.expires_at is None:
            return True
        renewed = self._renewed_expiry(stored, now)
        return needed is not None and (renewed is None or renewed >= needed)

    def _renewed_expiry(self, stored: Stored, now: datetime) -> datetime | None:
        """Returns the later of the current and the renewed expiry."""
        before, renewed = stored.memory.expires_at, self._lifetimes.expiry(stored.memory.source, now)
        return None if before is None or renewed is None else max(before, renewed)


def _states(content: str, point: str, comparer: Comparer | None) -> bool:
    """Returns True if a memory states every sentence of a point, or the same in other words. Of several sentences each
    counts: texts that share a long one are nearly the same to rules that compare them as a whole."""
    stated, wanted = tuple(islice(sentences(content), _MAX_SENTENCES)), tuple(sentences(point))
    if wanted and all(any(_is_same(one, other) for one in stated) for other in wanted):
        return True
    return (len(wanted) == 1 and _is_same(content, point)) or _is_rewording(content, point, comparer)


def _is_same(one: str, other: str) -> bool:
    return are_equal(one, other) if max(len(one), len(other)) > _MAX_LENGTH else are_duplicates(one, other)


def _is_rewording(one: str, other: str, comparer: Comparer | None) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if comparer is None or longer > _MAX_READ or shorter < _LEAST_SHARE * longer:
        return False
    return comparer.compare(Clean(one), Clean(other)).verdict is Verdict.SAME


def _all_but(external_id: Clean) -> Callable[[Stored], bool]:
    return lambda stored: stored.memory.external_id != external_id
