"""Finding memories that say the same, to be put to review: similarity alone merges nothing (N07)."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from hivelore.domain.index import DocumentKey, Stored
from hivelore.domain.memory import Memory
from hivelore.domain.proposal import Decision, Proposal, ProposalKind
from hivelore.domain.search import EVERYTHING, Filter, Visibility
from hivelore.policies.merging import may_merge
from hivelore.policies.truth.judging import Verdict, judge
from hivelore.policies.variety import says_the_same
from hivelore.policies.vectors import cosine
from hivelore.ports import View
from hivelore.services.loads import in_batches
from hivelore.services.serving import Serving

LOOKED_AT = 2_000
"""Of the newest memories, the nearest are looked for among all; the same words are found among all."""
NEAREST = 5
LEAST_LIKENESS = 0.85
"""Below this cosine nothing is compared: it takes time, and no two that say the same are so far apart."""
_AT_A_TIME = 500

Pair = tuple[Stored, Stored, str]
"""The older, the newer, and why."""


class Duplicates:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def find(self, view: View, now: datetime, limit: int) -> list[Pair]:
        """At most so many pairs, each memory in one at most; without those that were put to review before."""
        where = Filter(visibility=EVERYTHING.visibility, superseded=False, live_at=now)
        keys = sorted(view.matching(where), reverse=True)
        found: list[Pair] = []
        taken: set[DocumentKey] = set()
        for one, other, why in self._pairs(view, keys, where):
            older, newer = sorted((one, other), key=lambda stored: (stored.memory.holds_since, stored.key))
            if {older.key, newer.key} & taken or not may_merge(older.memory, newer.memory, now):
                continue
            if _was_asked(view.proposals_about(newer.key), older.memory, newer.memory):
                continue
            taken |= {older.key, newer.key}
            found.append((older, newer, why))
            if len(found) == limit:
                break
        return found

    def _pairs(self, view: View, keys: Sequence[DocumentKey], where: Filter) -> Iterator[Pair]:
        yield from _of_same_words(view, keys)
        yield from self._near(view, keys[:LOOKED_AT], where)

    def _near(self, view: View, keys: Sequence[DocumentKey], where: Filter) -> Iterator[Pair]:
        model = self._serving.current
        key_of_model = None if model is None else view.model(model.provider.fingerprint)
        if model is None or key_of_model is None or not model.index.ready:
            return
        model.index.follow(view)
        for some in in_batches(keys, _AT_A_TIME):
            memories = view.admitted(some, where)
            first = {
                key: ours[0].passages[0] for key, ours in view.chunks_of(some).items() if ours and ours[0].passages
            }
            vectors = view.vectors(key_of_model, list(first.values()))
            for key in some:
                if key not in memories or first.get(key) not in vectors:
                    continue
                vector = vectors[first[key]]
                near = model.index.nearest(view, vector, _beside(memories[key], where), NEAREST).nearest
                others = view.admitted([one.document for one in near if one.document != key], where)
                passages = {one.document: one.passage for one in near}
                known = view.vectors(key_of_model, [passages[other] for other in others])
                for other, memory in others.items():
                    likeness = cosine(vector, known[passages[other]]) if passages[other] in known else 0.0
                    if likeness >= LEAST_LIKENESS and _say_the_same(memories[key], memory, likeness):
                        yield Stored(key, memories[key]), Stored(other, memory), f"they say the same ({likeness:.2f})"


def _beside(memory: Memory, where: Filter) -> Filter:
    """What may become one with a memory, as far as an index can tell."""
    seen = Visibility(own=memory.home, swarm=memory.home is None)
    return Filter(visibility=seen, superseded=where.superseded, live_at=where.live_at, category=memory.category)


def _of_same_words(view: View, keys: Iterable[DocumentKey]) -> Iterator[Pair]:
    known: dict[object, Stored] = {}
    for some in in_batches(keys, _AT_A_TIME):
        for key, memory in view.admitted(some, EVERYTHING).items():
            words = hash(" ".join(memory.content.split()).casefold())
            place = memory.owner, memory.scope, memory.project, memory.category, words
            other = known.pop(place, None)
            if other is None:
                known[place] = Stored(key, memory)
            elif says_the_same(memory.content, other.memory.content):
                yield Stored(key, memory), other, "the same words"


def _say_the_same(one: Memory, other: Memory, likeness: float) -> bool:
    if says_the_same(one.content, other.content):
        return True
    service = one.operational.service if one.operational is not None else None
    return judge(one.content, other.content, likeness, service=service or "").verdict is Verdict.SAME


def _was_asked(known: Iterable[Proposal], older: Memory, newer: Memory) -> bool:
    """Whether it waits for a decision, or was rejected of the memories as they are."""
    now = {(one.id, one.version) for one in (older, newer)}
    return any(
        one.kind is ProposalKind.DUPLICATE
        and {tuple(each) for each in one.memories} == now
        and (one.decided is None or one.decided.how is Decision.REJECTED)
        for one in known
    )
