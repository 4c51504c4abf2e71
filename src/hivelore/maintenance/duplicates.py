"""Finds duplicates to propose for review; similarity alone never merges memories (N07)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from hivelore.core.progress import Progress
from hivelore.core.text import Clean
from hivelore.core.vectors import cosine
from hivelore.embeddings.active_model import ActiveModel
from hivelore.links.comparer import Comparer
from hivelore.links.judge import Verdict
from hivelore.maintenance.merge import may_merge
from hivelore.memories.model import Memory
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.whole_reader import in_batches
from hivelore.observations.naming import Naming
from hivelore.review.model import Decision, Proposal, ProposalKind
from hivelore.search.model import EVERYTHING, Filter, Visibility
from hivelore.search.ranking import are_duplicates
from hivelore.storage.ports import MemoryStore, View

COMPARED_BY_VECTOR = 2_000
"""Newest memories whose nearest neighbours are compared; equal texts are found among all memories."""
NEAREST = 5
MIN_COSINE = 0.85
"""Pairs below this cosine are not compared: comparisons are slow, and duplicates are always nearer."""
_WORDS_BATCH = 500

_VECTOR_BATCH = 50
"""Memories whose neighbours are searched in one snapshot, to keep snapshots short."""

Pair = tuple[Stored, Stored, str]
"""The older memory, the newer one, and the reason."""
_Candidate = tuple[Stored, Stored, float]
"""Two similar memories and their cosine."""


class Duplicates:
    def __init__(self, store: MemoryStore, active_model: ActiveModel, comparer: Comparer, naming: Naming) -> None:
        self._store = store
        self._active_model = active_model
        self._comparer = comparer
        self._naming = naming

    def find(self, now: datetime, limit: int, progress: Progress) -> list[Pair]:
        """Returns up to ``limit`` pairs, each memory in one pair at most, without pairs proposed before. Progress
        counts each memory once for its text and once for its neighbours."""
        where = Filter(visibility=EVERYTHING.visibility, superseded=False, live_at=now)
        found: list[Pair] = []
        taken: set[DocumentKey] = set()
        with self._store.read() as view:
            keys = sorted(view.matching_keys(where), reverse=True)
            newest = keys[:COMPARED_BY_VECTOR]
            progress.expect(len(keys) + len(newest))
            for group in self._groups_of_equal_text(view, keys, progress):
                progress.check()
                self._add_pair(view, group, "the same words", now, taken, found)
                if len(found) >= limit:
                    return found
        for one, other in self._similar_pairs(newest, where, taken, progress):
            with self._store.read() as view:
                self._add_pair(view, [one, other], "they say the same in other words", now, taken, found)
            if len(found) >= limit:
                break
        return found

    def _similar_pairs(
        self, keys: Sequence[DocumentKey], where: Filter, taken: Collection[DocumentKey], progress: Progress
    ) -> Iterator[tuple[Stored, Stored]]:
        """Yields pairs, because two duplicates of a third memory may contradict each other. Comparisons take most of
        the time: each pair is compared once, outside of snapshots, and memories already in a pair are skipped."""
        compared: set[frozenset[DocumentKey]] = set()
        for some in in_batches(keys, _VECTOR_BATCH):
            with self._store.read() as view:
                candidates = list(self._candidates(view, some, where))
            for one, other, likeness in candidates:
                both = frozenset((one.key, other.key))
                if one.key in taken or other.key in taken or both in compared:
                    continue
                compared.add(both)
                progress.check()
                if self._is_duplicate(one.memory, other.memory, likeness):
                    yield one, other
            progress.advance(len(some))

    def _is_duplicate(self, one: Memory, other: Memory, likeness: float) -> bool:
        if are_duplicates(one.content, other.content):
            return True
        older, newer = sorted((one, other), key=lambda each: (each.holds_since, each.id))
        return likeness >= MIN_COSINE and self._comparer.compare(older.content, newer.content).verdict is Verdict.SAME

    def _candidates(self, view: View, keys: Sequence[DocumentKey], where: Filter) -> Iterator[_Candidate]:
        model = self._active_model.current
        key_of_model = None if model is None else view.model_key(model.provider.fingerprint)
        if model is None or key_of_model is None or not model.index.ready:
            return
        model.index.follow(view)
        memories, categories = view.memories_of(keys, where), view.categories()
        first = {key: ours[0].passages[0] for key, ours in view.chunks_of(keys)().items() if ours and ours[0].passages}
        vectors = view.vectors(key_of_model, list(first.values()))
        for key in keys:
            if key not in memories or first.get(key) not in vectors:
                continue
            vector = vectors[first[key]]
            alike = self._mergeable_with(memories[key], where, categories)
            near = model.index.nearest(view, vector, alike, NEAREST).nearest
            others = view.memories_of([one.document for one in near if one.document != key], where)
            passages = {one.document: one.passage for one in near}
            known = view.vectors(key_of_model, [passages[other] for other in others])
            for other, memory in others.items():
                if passages[other] in known:
                    yield (
                        Stored(key, memories[key]),
                        Stored(other, memory),
                        cosine(vector, known[passages[other]]),
                    )

    def _add_pair(
        self, view: View, group: Sequence[Stored], why: str, now: datetime, taken: set[DocumentKey], found: list[Pair]
    ) -> None:
        """Adds the pair of a group to propose. The members of the group are not considered again."""
        members = {one.key for one in group}
        if members & taken:
            return
        taken |= members
        pair = self._first_mergeable_pair(view, group, now)
        if pair is not None:
            found.append((*pair, why))

    def _first_mergeable_pair(self, view: View, group: Sequence[Stored], now: datetime) -> tuple[Stored, Stored] | None:
        """Returns the first mergeable pair, oldest first, so that memories it superseded stay superseded."""
        members = sorted(group, key=lambda one: (one.memory.holds_since, one.key))
        for older, newer in pairwise(members):
            known = _existing_proposals(view.proposals_about(newer.key), older.memory, newer.memory)
            if any(one.decided is None for one in known):
                return None
            if not known and may_merge(older.memory, newer.memory, now, self._naming):
                return older, newer
        return None

    def _mergeable_with(self, memory: Memory, where: Filter, known: Collection[Clean]) -> Filter:
        """Returns a filter for memories that may be merged with this one. An index cannot check every condition.
        ``known``: the spellings of all categories."""
        seen = Visibility(own=memory.home, swarm=memory.home is None)
        categories = self._naming.categories_like(memory.category, known)
        return Filter(visibility=seen, superseded=where.superseded, live_at=where.live_at, categories=categories)

    def _groups_of_equal_text(
        self, view: View, keys: Iterable[DocumentKey], progress: Progress
    ) -> Iterator[Sequence[Stored]]:
        known: defaultdict[object, list[DocumentKey]] = defaultdict(list)
        for some in in_batches(keys, _WORDS_BATCH):
            for key, memory in view.memories_of(some, EVERYTHING).items():
                words = hash(" ".join(memory.content.split()).casefold())
                category = self._naming.category_key(memory.category)
                known[memory.owner, memory.scope, memory.project, category, words].append(key)
            progress.advance(len(some))
        for alike in known.values():
            if len(alike) > 1:
                yield [Stored(*one) for one in view.memories_of(alike[:_WORDS_BATCH], EVERYTHING).items()]


def _existing_proposals(known: Iterable[Proposal], older: Memory, newer: Memory) -> list[Proposal]:
    """Returns proposals about these two versions that are open or were rejected."""
    now = {(one.id, one.version) for one in (older, newer)}
    return [
        one
        for one in known
        if one.kind is ProposalKind.DUPLICATE
        and {(each.memory, each.version) for each in one.memories} == now
        and (one.decided is None or one.decided.how is Decision.REJECTED)
    ]
