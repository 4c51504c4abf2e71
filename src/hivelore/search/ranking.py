"""What else speaks for a memory, besides words and meaning: the company it is in, who said it and when, that it says
something.

Small next to relevance, and the same for every kind of store: what has no session and no author is not touched.
The figures behind the constants are in docs/decisions/0006 and 0008.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple, TypeVar

from hivelore.core.values import replace
from hivelore.feedback.model import NO_USAGE, UsefulnessBounds, usefulness_factor
from hivelore.indexing.model import DocumentKey, Vector
from hivelore.memories.model import Memory, RankFeatures
from hivelore.search.dates import Span, closeness
from hivelore.search.fusion import Relevance
from hivelore.search.model import Score
from hivelore.search.tokenizer import distinct_terms

K = TypeVar("K")

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosts:
    """On the scale of relevance, 0..1."""

    company: float = 0.28
    """The part of a memory's relevance that is that of the best one of its session."""
    brevity: float = 0.07
    """What is lost with each e-fold that a text is shorter than ``enough`` characters: "Yes, it is." says little."""
    enough: int = 160
    question: float = 0.04
    """What a text that ends as a question loses: it asks, and the answer is elsewhere."""
    author: float = 0.11
    """What a memory gains whose author is named in the question."""
    date: float = 0.25
    """What a memory loses that was created far from the dates that are named in the question, where that is sure. A
    loss of the others leaves those of that time in their order; a gain would press them together at 1."""


def candidate_boosts(
    standings: Mapping[K, RankFeatures],
    relevance: Mapping[K, float],
    question: str,
    constants: Boosts,
    asked: Sequence[Span] = (),
) -> dict[K, float]:
    """What is added to the relevance of each candidate, -1..1; every key of ``standings`` has a relevance. ``asked``
    are the spans of time that the question names."""
    named = frozenset(_WORD.findall(question.casefold()))
    own = {key: relevance[key] + _substance(one, constants) for key, one in standings.items()}
    best: dict[str, float] = {}
    for key, one in standings.items():
        if one.session is not None:
            best[one.session] = max(best.get(one.session, own[key]), own[key])
    return {
        key: own[key]
        - relevance[key]
        + (_company(own[key], best[one.session], constants) if one.session is not None else 0.0)
        + (constants.author if one.author is not None and _is_named(one.author, named) else 0.0)
        - (constants.date * _missed(one.created_at, asked) if asked else 0.0)
        for key, one in standings.items()
    }


def _substance(one: RankFeatures, constants: Boosts) -> float:
    """0 for a statement of some length, else less."""
    brevity = constants.brevity * math.log(min(one.length, constants.enough) / constants.enough)
    return brevity - (constants.question if one.is_question else 0.0)


def _company(own: float, best: float, constants: Boosts) -> float:
    return constants.company * (best - own)


def _missed(at: datetime, asked: Sequence[Span]) -> float:
    """How far an instant is from the nearest of some spans, 0 within one of them, to 1."""
    return max(span.sure for span in asked) - max(span.sure * closeness(at, span) for span in asked)


def _is_named(author: str, words: frozenset[str]) -> bool:
    names = _WORD.findall(author.casefold())
    return bool(names) and words.issuperset(names)


DOCUMENTED_HALF_LIFE = timedelta(days=14)
_ACCESSES_FOR_FULL_BOOST = 10


class Profile(StrEnum):
    MEASURED = "measured"
    """Relevance decides; age and use settle ties."""
    DOCUMENTED = "documented"
    """similarity x recencyDecay x accessBoost, nothing else (B12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingConstants:
    """The constants of a ranking. ``half_life`` None: age only settles ties."""

    profile: Profile = Profile.MEASURED
    half_life: timedelta | None = None
    access_boost_max: float = 1.5
    access_recency: timedelta = timedelta(hours=48)
    candidate_multiplier: int = 3
    tie_weight: float = 0.02
    """How much a memory of this moment gains over one infinitely old, on the scale of relevance."""
    tie_half_life: timedelta = timedelta(days=90)
    tie_access_weight: float = 0.01
    """How much an often read memory gains over one never read, on the scale of relevance."""
    prior_room: float = 0.15
    """How far a prior can lift a memory above the best relevance; what is more counts as that."""
    worth: UsefulnessBounds = field(default_factory=UsefulnessBounds)


def recency(age: timedelta, half_life: timedelta) -> float:
    """2^(-age / half life), 0..1 (B13); the future counts as now."""
    return 2.0 ** (-max(age / half_life, 0.0))


def access_boost(count: int, last: datetime | None, now: datetime, ranking: RankingConstants) -> float:
    """1 + min(count / 10, max - 1) x recencyFactor, where the factor is 1 within ``access_recency`` of
    the last access and 0.5 after it (B14)."""
    if last is None or count <= 0:
        return 1.0
    freshness = 1.0 if now - last <= ranking.access_recency else 0.5
    return 1.0 + min(count / _ACCESSES_FOR_FULL_BOOST, ranking.access_boost_max - 1.0) * freshness


def score(memory: RankFeatures, relevance: Relevance, prior: float, now: datetime, ranking: RankingConstants) -> Score:
    """The score of one candidate with its parts.

    Measured, without a half-life: (similarity and prior, within 0..1 and ``prior_room``, + recency part + access part)
    / (1 + ``prior_room`` + both weights), so that it stays within 0..1 and the best of several is seen however
    relevant they are; then times usefulness. With a half-life, recency multiplies instead. Documented: the product of
    the three factors, whatever the prior and the usefulness.
    """
    age = now - memory.created_at
    boost = access_boost(memory.access_count, memory.accessed_at, now, ranking)
    similarity = relevance.fused
    if ranking.profile is Profile.DOCUMENTED:
        prior, worth, fade = 0.0, 1.0, recency(age, ranking.half_life or DOCUMENTED_HALF_LIFE)
        total = similarity * fade * boost
    else:
        # Most candidates have no usage yet, and a recall scores about a hundred.
        worth = 1.0 if memory.use == NO_USAGE else usefulness_factor(memory.use, ranking.worth)
        fade, total = _measured(min(max(similarity + prior, 0.0), 1.0 + ranking.prior_room), age, boost, ranking)
    return Score(
        total=total * worth,
        similarity=similarity,
        keyword=relevance.keyword,
        vector=relevance.vector,
        prior=prior,
        recency=fade,
        access=boost,
        usefulness=worth,
    )


def _measured(wanted: float, age: timedelta, boost: float, ranking: RankingConstants) -> tuple[float, float]:
    most = ranking.access_boost_max - 1.0
    use = ranking.tie_access_weight * ((boost - 1.0) / most if most > 0.0 else 0.0)
    if ranking.half_life is not None:
        fade = recency(age, ranking.half_life)
        return fade, fade * (wanted + use) / (1.0 + ranking.prior_room + ranking.tie_access_weight)
    fade = recency(age, ranking.tie_half_life)
    total = wanted + ranking.tie_weight * fade + use
    return fade, total / (1.0 + ranking.prior_room + ranking.tie_weight + ranking.tie_access_weight)


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


def largest_lag(totals: Sequence[float], constants: RecencyConflicts) -> float:
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
    """A candidate with its score, and how close it is to the query in meaning and in words."""

    key: DocumentKey
    features: RankFeatures
    score: Score
    cosine: float | None = None
    """Cosine of its nearest passage; None without a vector."""
    answered: float = 0.0
    """Its keyword score as a share of the weight of all query terms."""


def sort_by_score(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first, newer first where that is a tie."""
    best = sorted(ranked, key=lambda one: one.score.total, reverse=True)
    if all(one.score.total > next_.score.total for one, next_ in pairwise(best)):
        return best
    return sorted(best, key=lambda one: (-one.score.total, -one.features.created_at.timestamp(), one.features.id))


def promote_updates(
    ranked: Sequence[Ranked],
    asked: frozenset[str],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    memories: Mapping[DocumentKey, Memory],
    constants: RecencyConflicts,
) -> list[Ranked]:
    """The order with each newer telling before what it updates; ``ranked`` is in order, ``asked`` are the terms of the
    question. ``vectors`` gives the nearest passage of each, as far as it has one; ``memories`` has the first
    ``constants.among``. Two that have a subject are facts about different things, or of different times."""
    furthest = largest_lag([one.score.total for one in ranked], constants)
    pairs = [
        (one, other)
        for one, other in combinations(ranked[: constants.among], 2)
        if other.features.created_at > one.features.created_at
        and (memories[one.key].subject is None or memories[other.key].subject is None)
        and one.score.total - other.score.total <= furthest
        and max(one.features.length, other.features.length) <= LONGEST
    ]
    pairs = _alike(pairs, vectors, constants) if pairs else []
    if not pairs:
        return list(ranked)
    terms = {key: distinct_terms(memories[key].content) for key in {one.key for pair in pairs for one in pair}}
    lifted: dict[DocumentKey, float] = {}
    for older, newer in pairs:
        if newer.key not in lifted and is_update(terms[older.key], terms[newer.key], asked, constants):
            lifted[newer.key] = lifted.get(older.key, older.score.total)
    return sort_by_score([_lifted(one, lifted.get(one.key)) for one in ranked])


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
