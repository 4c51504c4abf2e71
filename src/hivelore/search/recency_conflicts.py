"""When a newer memory tells anew what an older one told: it takes the older one's place (X6).

Found by comparing the best few of an answer with each other, so it costs nothing where all are different. The
figures are in docs/decisions/0006.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from hivelore.core.values import replace
from hivelore.indexing.model import DocumentKey, Vector
from hivelore.memories.model import Memory, RankFeatures
from hivelore.search.model import Score
from hivelore.search.tokenizer import distinct_terms

LONGEST = 2_000
"""A text with more characters is a document: it tells many things, so no other one replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyConflicts:
    among: int = 10
    """How many of the best are compared with each other; 0: none."""
    likeness: float = 0.6
    """The least cosine of an update to what it updates."""
    overlap: float = 0.4
    """The least share of terms in common, of all terms of both."""
    gap: float = 0.2
    """How far the newer one may lie behind, as a part of what lies between the best and the middle total."""


def reach(totals: Sequence[float], constants: RecencyConflicts) -> float:
    """How far behind an older memory a newer one may lie; ``totals`` are those of all candidates."""
    return constants.gap * (max(totals) - median(totals)) if totals else 0.0


def is_update(older: frozenset[str], newer: frozenset[str], asked: frozenset[str], constants: RecencyConflicts) -> bool:
    """Whether two texts, by their terms, may be two tellings of the same, and the newer one answers as much of the
    question."""
    if not asked & older <= newer:
        return False
    together = len(older | newer)
    return together > 0 and len(older & newer) >= constants.overlap * together


class Ranked(NamedTuple):
    key: DocumentKey
    standing: RankFeatures
    score: Score


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first, newer first where that is a tie."""
    best = sorted(ranked, key=lambda one: one.score.total, reverse=True)
    if all(one.score.total > next_.score.total for one, next_ in pairwise(best)):
        return best
    return sorted(best, key=lambda one: (-one.score.total, -one.standing.created_at.timestamp(), one.standing.id))


def renewed(
    ranked: Sequence[Ranked],
    asked: frozenset[str],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    memories: Mapping[DocumentKey, Memory],
    constants: RecencyConflicts,
) -> list[Ranked]:
    """The order with each newer telling before what it updates; ``ranked`` is in order, ``asked`` are the terms of the
    question. ``vectors`` gives the nearest passage of each, as far as it has one; ``memories`` has the first
    ``constants.among``. Two that have a subject are facts about different things, or of different times."""
    furthest = reach([one.score.total for one in ranked], constants)
    pairs = [
        (one, other)
        for one, other in combinations(ranked[: constants.among], 2)
        if other.standing.created_at > one.standing.created_at
        and (memories[one.key].subject is None or memories[other.key].subject is None)
        and one.score.total - other.score.total <= furthest
        and max(one.standing.length, other.standing.length) <= LONGEST
    ]
    pairs = _alike(pairs, vectors, constants) if pairs else []
    if not pairs:
        return list(ranked)
    terms = {key: distinct_terms(memories[key].content) for key in {one.key for pair in pairs for one in pair}}
    lifted: dict[DocumentKey, float] = {}
    for older, newer in pairs:
        if newer.key not in lifted and is_update(terms[older.key], terms[newer.key], asked, constants):
            lifted[newer.key] = lifted.get(older.key, older.score.total)
    return in_order([_lifted(one, lifted.get(one.key)) for one in ranked])


def _alike(
    pairs: Sequence[tuple[Ranked, Ranked]],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    constants: RecencyConflicts,
) -> list[tuple[Ranked, Ranked]]:
    found = vectors(list({one.key for pair in pairs for one in pair}))
    return [
        (one, other)
        for one, other in pairs
        if one.key in found and other.key in found and float(found[one.key] @ found[other.key]) >= constants.likeness
    ]


def _lifted(one: Ranked, total: float | None) -> Ranked:
    if total is None or total <= one.score.total:
        return one
    return one._replace(score=replace(one.score, total=total, update=total - one.score.total))
