"""Ranking of candidates and selection of hits.

Similarity (0..1) is a weighted sum of normalized scores over the union of both lists. The weight of the vectors grows
with the prominence of the best cosine. The less of the query the best keyword match answers, the more of the weight of
the keywords goes to the vectors: chance matches must not outvote a passage that means the same in other words. Late
interaction refines the vector score.

Boosts are small next to it and equal for every store. Age and use settle ties. Usefulness is a bounded factor.

Scores compare hits with each other, so even an irrelevant best hit may score high. ``search.relevance`` is absolute.
Duplicates are left out.

The constants were chosen in docs/decisions/0006, 0008 and 0009.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hivelore.core.values import replace
from hivelore.feedback.model import NO_USAGE, UsefulnessBounds, usefulness_factor
from hivelore.indexing.model import Candidate, Neighbour, Spread, Vector
from hivelore.links.chains import successors_first
from hivelore.memories.model import Memory, RankFeatures
from hivelore.memories.stored import DocumentKey
from hivelore.search.dates import Span, closeness, date_spans
from hivelore.search.model import Query, Score
from hivelore.search.tokenizer import distinct_terms, document_terms

K = TypeVar("K")

# Late interaction (MaxSim): each token of a query is compared with its most similar token in a passage.
#
# O. Khattab and M. Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
# over BERT" (SIGIR 2020). The model was not trained for it, so its scores only refine the cosine of the whole passage.
# A token vector is stored in ``TOKEN_DIMENSIONS`` directions of 4 bits each. A word piece that occurs several times in
# a passage is stored once.

TOKEN_DIMENSIONS = 64
TOKEN_BYTES = TOKEN_DIMENSIONS // 2
"""Bytes per token: the first half of the coordinates in the upper four bits, the second half in the lower."""
LARGEST_COORDINATE = 0.33
"""Limit of a coordinate, 2.6 standard deviations of the coordinates of a unit vector."""
_AT_A_TIME = 1 << 18
"""Multiplications per call. For more, the library of numpy starts other threads, which takes longer."""
_STEPS = 16
_STEP = 2 * LARGEST_COORDINATE / _STEPS
_ZERO = (_STEPS - 1) / 2
"""The step of coordinate 0."""


def encode_tokens(vectors: Vector) -> bytes:
    """Encodes token vectors, (n, TOKEN_DIMENSIONS), of any length except zero."""
    if not len(vectors):
        return b""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    steps = np.clip(np.floor(units / _STEP) + _ZERO + 0.5, 0, _STEPS - 1).astype(np.uint8)
    return (steps[:, :TOKEN_BYTES] << 4 | steps[:, TOKEN_BYTES:]).tobytes()


def decode_tokens(codes: bytes) -> Vector:
    """Decodes token vectors into (n, TOKEN_DIMENSIONS), approximately at length one."""
    return (_steps(np.frombuffer(codes, np.uint8).reshape(-1, TOKEN_BYTES)) - _ZERO) * _STEP


def maxsim(query: bytes, weights: Sequence[float], passages: Sequence[bytes]) -> NDArray[np.float32]:
    """Returns the score of each passage, about -1..1: the weighted mean over the query tokens of the best product with
    a token of the passage. 0 if either has no tokens. ``weights``: those of the query tokens, above 0."""
    scores = np.zeros(len(passages), np.float32)
    encoded = [number for number, codes in enumerate(passages) if codes]
    if not query or not encoded:
        return scores
    tokens = decode_tokens(query).T * _STEP
    codes = np.frombuffer(b"".join([passages[number] for number in encoded]), np.uint8).reshape(-1, TOKEN_BYTES)
    # The steps are multiplied without decoding; the offset of all coordinates is equal and subtracted afterwards.
    steps = _steps(codes)
    products = np.empty((len(codes), tokens.shape[1]), np.float32)
    rows = max(_AT_A_TIME // tokens.size, 1)
    for start in range(0, len(codes), rows):
        np.matmul(steps[start : start + rows], tokens, out=products[start : start + rows])
    starts = np.cumsum([0, *[len(passages[number]) // TOKEN_BYTES for number in encoded[:-1]]])
    best = np.maximum.reduceat(products, starts, axis=0) - _ZERO * tokens.sum(axis=0)
    scores[encoded] = best @ (np.array(weights, np.float32) / sum(weights))
    return scores


def token_weights(words: Sequence[str], rarities: Mapping[str, float]) -> list[float]:
    """Returns the weight of each query token from its word: the rarity of the rarest term of the word, or the mean of
    all ``rarities`` if no term of it was looked up."""
    usual = sum(rarities.values()) / len(rarities) if rarities else 1.0
    terms = [document_terms(word) for word in words]
    return [max([rarities[term] for term in of_word if term in rarities], default=usual) for of_word in terms]


def _steps(codes: NDArray[np.uint8]) -> Vector:
    """Unpacks codes (n, TOKEN_BYTES) into (n, TOKEN_DIMENSIONS), each coordinate in steps from the lowest."""
    apart = np.empty((len(codes), TOKEN_DIMENSIONS), np.uint8)
    np.right_shift(codes, 4, out=apart[:, :TOKEN_BYTES])
    np.bitwise_and(codes, 15, out=apart[:, TOKEN_BYTES:])
    return apart.astype(np.float32)


# Fusion.

_MOST_ANSWERED = 1.2
"""Cap of ``answered``. Greater values only mean that the words of the query occur several times."""
_LEAST_SPREAD = 20
"""Passages from which the spread of cosines is meaningful; with fewer, the prominence is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """Constants of the weight of the vectors.

    The weight is ``slope`` x prominence + ``start`` - ``trust`` x the part of the query that the best keyword match
    answers beyond ``words``, within ``low``..``high``. If that match answers less than ``words``, part of the remaining
    weight is added: all of it at ``noise`` or less. That part is scaled by the prominence, from 0 at ``faint`` to 1 at
    ``clear``.
    """

    slope: float = 0.8
    start: float = -0.1
    low: float = 0.2
    high: float = 0.8
    noise: float = 0.45
    words: float = 0.55
    faint: float = 0.5
    clear: float = 0.9
    trust: float = 0.15
    tokens: float = 0.45
    """Share of late interaction in the vector score, if the model provides token vectors."""
    contrast: float = 1.25
    """Exponent of the vector score. Many passages lie close behind the nearest one, and few of them are meant."""
    few: int = 3
    """Queries with fewer words look up a name or a word. n words multiply the weight by (n + 1) / (few + 1)."""

    @classmethod
    def fixed(cls, share: float, tokens: float = tokens) -> "FusionWeights":
        """Returns constants that give the vectors the same weight for every query."""
        return cls(low=share, high=share, noise=-2.0, words=-1.0, tokens=tokens, few=0)


class Similarity(NamedTuple):
    """Normalized keyword and vector scores (0..1) and their weighted sum (0..1)."""

    keyword: float
    vector: float
    fused: float


def prominence(best: float, spread: Spread) -> float:
    """Returns how far the best cosine stands out; 1 is the expected maximum of ``count`` normal draws.

    (best - mean) / (deviation * sqrt(2 ln count)): the expected maximum of n standard normal draws grows like
    sqrt(2 ln n).
    """
    if spread.count < _LEAST_SPREAD or spread.deviation <= 0.0:
        return 1.0
    return (best - spread.mean) / (spread.deviation * math.sqrt(2.0 * math.log(spread.count)))


def fuse(
    keywords: Mapping[K, float],
    cosines: Mapping[K, float],
    tokens: Mapping[K, float],
    spread: Spread,
    answered: float,
    fusion_weights: FusionWeights,
    words: int | None = None,
    scale: Collection[K] | None = None,
) -> dict[K, Similarity]:
    """Returns the similarity of every candidate of either list.

    ``keywords``: scores above 0; they are divided by the best one. ``tokens``: late-interaction scores of some
    candidates that have a cosine. Both are standardized and mixed, and the result is stretched from the lowest to the
    best candidate, with ``contrast``. ``answered``: the best keyword score as a share of the weight of all query terms.
    ``words``: number of words of the query; None means many. ``scale``: the candidates whose scores are standardized
    and stretched; others use their scale, within 0..1. None: all.

    Candidates without a cosine, because they are not embedded yet, count by keywords alone. Without any keyword match,
    similarity is the plain cosine.
    """
    if not keywords:
        plain = {key: min(max(cosine, 0.0), 1.0) for key, cosine in cosines.items()}
        return {key: Similarity(keyword=0.0, vector=cosine, fused=cosine) for key, cosine in plain.items()}
    share = _vector_weight(max(cosines.values(), default=0.0), spread, answered, fusion_weights, words)
    sharpened = cosines
    if tokens and fusion_weights.tokens > 0.0:
        part, standard_tokens = fusion_weights.tokens, _standardize(tokens, scale)
        sharpened = {
            key: (1.0 - part) * one + part * standard_tokens.get(key, one)
            for key, one in _standardize(cosines, scale).items()
        }
    vectors = {key: one**fusion_weights.contrast for key, one in _stretch(sharpened, scale).items()}
    top = max(keywords.values())
    fused: dict[K, Similarity] = {}
    for key in keywords.keys() | cosines.keys():
        keyword = max(keywords.get(key, 0.0), 0.0) / top if top > 0.0 else 0.0
        vector = vectors.get(key, 0.0)
        weight = share if key in cosines else 0.0
        fused[key] = Similarity(keyword, vector, min(max(weight * vector + (1.0 - weight) * keyword, 0.0), 1.0))
    return fused


def _vector_weight(best: float, spread: Spread, answered: float, constants: FusionWeights, words: int | None) -> float:
    beyond = max(min(answered, _MOST_ANSWERED) - constants.words, 0.0)
    prominent = prominence(best, spread)
    share = constants.slope * prominent + constants.start - constants.trust * beyond
    share = min(max(share, constants.low), constants.high)
    if words is not None:
        share *= min(max((words + 1) / (constants.few + 1), 0.0), 1.0)
    noise = min(max((constants.words - answered) / (constants.words - constants.noise), 0.0), 1.0)
    clear = min(max((prominent - constants.faint) / (constants.clear - constants.faint), 0.0), 1.0)
    return share + (1.0 - share) * noise * clear


def _standardize(values: Mapping[K, float], scale: Collection[K] | None) -> dict[K, float]:
    """Returns deviations from the mean in units of the standard deviation, so that the scale does not matter."""
    some = _of_scale(values, scale)
    mean = math.fsum(some) / len(some)
    deviation = math.sqrt(math.fsum([(value - mean) ** 2 for value in some]) / len(some))
    return {key: (value - mean) / deviation if deviation > 0.0 else 0.0 for key, value in values.items()}


def _stretch(values: Mapping[K, float], scale: Collection[K] | None) -> dict[K, float]:
    """Maps the lowest value of the scale to 0 and the best to 1; all to 1 if they are equal."""
    if not values:
        return {}
    some = _of_scale(values, scale)
    worst, best = min(some), max(some)
    if best <= worst:
        return dict.fromkeys(values, 1.0)
    return {key: min(max((value - worst) / (best - worst), 0.0), 1.0) for key, value in values.items()}


def _of_scale(values: Mapping[K, float], scale: Collection[K] | None) -> list[float]:
    some = [] if scale is None else [values[key] for key in scale if key in values]
    return some or list(values.values())


# Boosts.

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosts:
    """Constants of the boosts, on the scale of similarity (0..1)."""

    company: float = 0.28
    """Share of the best similarity of its session in the similarity of a memory."""
    brevity: float = 0.07
    """Loss of a memory of a session for each e-fold that its text is shorter than ``enough`` characters: in a
    conversation, "Yes, it is." says little. Without a session, a short text is a terse note."""
    enough: int = 160
    question: float = 0.04
    """Loss of a text that ends as a question: the answer is elsewhere."""
    author: float = 0.11
    """Gain of a memory whose author the query names."""
    date: float = 0.25
    """Largest loss of a memory created far from the dates in the query. A loss keeps the memories of that time in
    order; a gain would press them together at 1."""
    project: float = 0.3
    """Loss of a memory of another project than the query prefers; a loss for the same reason. Memories without a
    project count in every project."""


def candidate_boosts(
    features: Mapping[K, RankFeatures],
    similarity: Mapping[K, float],
    query: str,
    constants: Boosts,
    spans: Sequence[Span] = (),
    prefers: str | None = None,
) -> dict[K, float]:
    """Returns what is added to the similarity of each candidate, -1..1.

    ``similarity`` has every key of ``features``. ``spans``: the time spans named in the query. ``prefers``: the project
    that the query prefers.
    """
    named = frozenset(_WORD.findall(query.casefold()))
    own: dict[K, float] = {}
    best: dict[str, float] = {}
    for key, one in features.items():
        own[key] = similarity[key] - (constants.question if one.is_question else 0.0)
        if one.session is not None:
            own[key] += constants.brevity * math.log(min(one.length, constants.enough) / constants.enough)
            best[one.session] = max(best.get(one.session, own[key]), own[key])
    return {
        key: own[key]
        - similarity[key]
        + (constants.company * (best[one.session] - own[key]) if one.session is not None else 0.0)
        + (constants.author if one.author is not None and _is_named(one.author, named) else 0.0)
        - (constants.date * _distance(one.created_at, spans) if spans else 0.0)
        - (constants.project if prefers is not None and one.project not in (prefers, None) else 0.0)
        for key, one in features.items()
    }


def _distance(at: datetime, spans: Sequence[Span]) -> float:
    """Returns the distance of a time from the nearest span: 0 within one, 1 far from all."""
    return max(span.sure for span in spans) - max(span.sure * closeness(at, span) for span in spans)


def _is_named(author: str, words: frozenset[str]) -> bool:
    names = _WORD.findall(author.casefold())
    return bool(names) and words.issuperset(names)


# Scores.

DOCUMENTED_HALF_LIFE = timedelta(days=14)
_ACCESSES_FOR_FULL_BOOST = 10


class Profile(StrEnum):
    MEASURED = "measured"
    """Similarity decides; age and use settle ties."""
    DOCUMENTED = "documented"
    """similarity x recencyDecay x accessBoost, nothing else (B12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingConstants:
    """Constants of a score. ``half_life`` None: age only settles ties."""

    profile: Profile = Profile.MEASURED
    half_life: timedelta | None = None
    access_boost_max: float = 1.5
    access_recency: timedelta = timedelta(hours=48)
    candidate_multiplier: int = 3
    """Candidates of each index per hit in the documented profile (B15)."""
    tie_weight: float = 0.02
    """Gain of a memory created now over one infinitely old, on the scale of similarity."""
    tie_half_life: timedelta = timedelta(days=90)
    tie_access_weight: float = 0.01
    """Gain of a frequently read memory over one never read, on the scale of similarity."""
    prior_room: float = 0.15
    """How far boosts can lift a memory above the best similarity; a greater sum is cut off."""
    worth: UsefulnessBounds = field(default_factory=UsefulnessBounds)


def recency(age: timedelta, half_life: timedelta) -> float:
    """Returns 2^(-age / half life), 0..1 (B13). A time in the future counts as now."""
    return 2.0 ** (-max(age / half_life, 0.0))


def access_boost(count: int, last: datetime | None, now: datetime, ranking: RankingConstants) -> float:
    """Returns 1 + min(count / 10, max - 1) x recencyFactor (B14). The factor is 1 within ``access_recency`` of the last
    access and 0.5 after it."""
    if last is None or count <= 0:
        return 1.0
    freshness = 1.0 if now - last <= ranking.access_recency else 0.5
    return 1.0 + min(count / _ACCESSES_FOR_FULL_BOOST, ranking.access_boost_max - 1.0) * freshness


CONFIDENCE_WEIGHT, USUAL_CONFIDENCE = 0.3, 0.7
"""How much the confidence of an operational memory counts, and the one that changes nothing: that of a new one."""


def score(
    memory: RankFeatures,
    similarity: Similarity,
    prior: float,
    now: datetime,
    ranking: RankingConstants,
    confidence: float | None = None,
) -> Score:
    """Returns the score of one candidate with its parts. ``prior``: the sum of its boosts. ``confidence``: that of an
    operational memory.

    Measured, without a half-life: (similarity and prior, within 0..1 and ``prior_room``, + recency part + access part)
    / (1 + ``prior_room`` + both weights), times usefulness and confidence. It stays within about 0..1, and even among
    very relevant memories the best one stands out. With a half-life, recency is a factor. Documented: the product of
    similarity, recency and access boost.
    """
    age = now - memory.created_at
    boost = access_boost(memory.access_count, memory.accessed_at, now, ranking)
    fused, worth, sure = similarity.fused, 1.0, 1.0
    if ranking.profile is Profile.DOCUMENTED:
        prior, fade = 0.0, recency(age, ranking.half_life or DOCUMENTED_HALF_LIFE)
        total = fused * fade * boost
    else:
        if memory.use != NO_USAGE:  # Most candidates have no usage yet, and a recall scores about a hundred.
            worth = usefulness_factor(memory.use, ranking.worth)
        if confidence is not None:
            sure = 1.0 + CONFIDENCE_WEIGHT * (confidence - USUAL_CONFIDENCE)
        most = ranking.access_boost_max - 1.0
        use = ranking.tie_access_weight * ((boost - 1.0) / most if most > 0.0 else 0.0)
        wanted = min(max(fused + prior, 0.0), 1.0 + ranking.prior_room)
        if ranking.half_life is not None:
            fade = recency(age, ranking.half_life)
            total = fade * (wanted + use) / (1.0 + ranking.prior_room + ranking.tie_access_weight)
        else:
            fade = recency(age, ranking.tie_half_life)
            total = wanted + ranking.tie_weight * fade + use
            total /= 1.0 + ranking.prior_room + ranking.tie_weight + ranking.tie_access_weight
    return Score(
        total=total * worth * sure,
        similarity=fused,
        keyword=similarity.keyword,
        vector=similarity.vector,
        prior=prior,
        recency=fade,
        access=boost,
        confidence=sure,
        usefulness=worth,
    )


# Order.


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyConflicts:
    """Limits within which a newer memory is taken to restate an older one."""

    among: int = 10
    """Number of best candidates that are compared with each other; 0 turns the comparison off."""
    likeness: float = 0.6
    """Least cosine of both vectors."""
    overlap: float = 0.4
    """Least share of common terms in all terms of both."""
    gap: float = 0.2
    """How far the score of the newer one may lie behind, as a share of the distance from the best to the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How many candidates are ranked, whatever the limit of the query."""

    each: int = 100
    """Candidates of each index."""
    scale: int = 50
    """Best candidates of each index that set the scale of the scores. More of them would press the best ones together
    (docs/decisions/0006)."""
    named: int = 20
    """Further candidates of the keyword index that contain an identifier of the query, and further candidates of each
    index that were created in a time span that the query names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConstants:
    """All constants of a ranking."""

    ranking: RankingConstants = RankingConstants()
    pool: Pool = Pool()
    fusion_weights: FusionWeights = FusionWeights()
    boosts: Boosts = Boosts()
    recency_conflicts: RecencyConflicts = RecencyConflicts()


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidates of both indexes."""

    keywords: Mapping[DocumentKey, Candidate]
    nearest: Mapping[DocumentKey, Neighbour]
    similarity: Mapping[DocumentKey, Similarity]
    features: Mapping[DocumentKey, RankFeatures]
    """Those of the candidates that may be recalled; the filter does not admit the others."""
    confidences: Mapping[DocumentKey, float]
    """Of those that are operational memories."""


class Ranked(NamedTuple):
    """A candidate with its score, and how close it is to the query in meaning and in words."""

    key: DocumentKey
    features: RankFeatures
    score: Score
    cosine: float | None = None
    """Cosine of its nearest passage; None without a vector."""


def rank_candidates(proposals: Proposals, query: Query, now: datetime, constants: SearchConstants) -> list[Ranked]:
    """Returns the candidates that may be recalled, best first."""
    features, similarity = proposals.features, proposals.similarity
    fused = {key: similarity[key].fused for key in features}
    spans = date_spans(query.text, now)
    boosts = candidate_boosts(features, fused, query.text, constants.boosts, spans, query.prefers)
    ranked: list[Ranked] = []
    for key, one in features.items():
        near = proposals.nearest.get(key)
        scored = score(one, similarity[key], boosts[key], now, constants.ranking, proposals.confidences.get(key))
        ranked.append(Ranked(key, one, scored, None if near is None else near.cosine))
    return sort_by_score(ranked)


def sort_by_score(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Returns the candidates best first; among ties the newer first."""
    best = sorted(ranked, key=lambda one: one.score.total, reverse=True)
    if all(one > following for one, following in pairwise([one.score.total for one in best])):
        return best
    return sorted(best, key=lambda one: (-one.score.total, -one.features.created_at.timestamp(), one.features.id))


# Recency conflicts.

_LONGEST_STATEMENT = 2_000
"""Characters. A longer text is a document about many things, so no other text replaces it."""


def largest_lag(totals: Sequence[float], constants: RecencyConflicts) -> float:
    """Returns how far the score of a newer memory may lie behind an older one; ``totals``: those of all candidates."""
    return constants.gap * (max(totals) - median(totals)) if totals else 0.0


def is_update(older: frozenset[str], newer: frozenset[str], query: frozenset[str], constants: RecencyConflicts) -> bool:
    """Returns True if the newer of two texts may restate the older one and answers as much of the query.

    All arguments are sets of terms.
    """
    if not query & older <= newer:
        return False
    together = len(older | newer)
    return together > 0 and len(older & newer) >= constants.overlap * together


def promote_updates(
    ranked: Sequence[Ranked],
    query: frozenset[str],
    vectors: Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]],
    memories: Mapping[DocumentKey, Memory],
    constants: RecencyConflicts,
) -> list[Ranked]:
    """Returns the ranking with each restatement before the older memory that it updates.

    ``ranked`` is in order. ``query``: its terms. ``vectors``: returns the vector of the nearest passage of those that
    have one. ``memories``: those of the first ``constants.among``. Two memories that both have a fact key state facts
    about different things or times, so neither updates the other.
    """
    furthest = largest_lag([one.score.total for one in ranked], constants)
    pairs = [
        (older, newer)
        for older, newer in combinations(ranked[: constants.among], 2)
        if newer.features.created_at > older.features.created_at
        and (memories[older.key].subject is None or memories[newer.key].subject is None)
        and older.score.total - newer.score.total <= furthest
        and max(older.features.length, newer.features.length) <= _LONGEST_STATEMENT
    ]
    if pairs:
        found = vectors(list({one.key for pair in pairs for one in pair}))
        pairs = [
            (older, newer)
            for older, newer in pairs
            if older.key in found
            and newer.key in found
            and float(found[older.key] @ found[newer.key]) >= constants.likeness
        ]
    if not pairs:
        return list(ranked)
    terms = {key: distinct_terms(memories[key].content) for key in {one.key for pair in pairs for one in pair}}
    lifted: dict[DocumentKey, float] = {}
    for older, newer in pairs:
        if newer.key not in lifted and is_update(terms[older.key], terms[newer.key], query, constants):
            lifted[newer.key] = lifted.get(older.key, older.score.total)
    return sort_by_score([_with_total(one, lifted.get(one.key, one.score.total)) for one in ranked])


def place_successors(
    ranked: Sequence[Ranked],
    updated_by: Mapping[DocumentKey, Sequence[DocumentKey]],
    features: Mapping[DocumentKey, RankFeatures],
) -> list[Ranked]:
    """Returns the ranking with each memory behind those that update it, which are added if they are missing.

    ``ranked`` is in order. ``updated_by``: the successors of a memory, latest first. ``features``: those of successors;
    one without features may not be recalled.
    """
    known = {one.key: one for one in ranked}
    allowed = {
        key: [one for one in successors if one in known or one in features] for key, successors in updated_by.items()
    }
    placed, total = list[Ranked](), 0.0
    for key in reversed(successors_first(known, allowed)):
        one = known.get(key) or Ranked(key, features[key], Score(similarity=0.0, total=0.0))
        total = max(total, one.score.total)
        placed.append(_with_total(one, total))
    return placed[::-1]


def _is_brought_in(one: Ranked) -> bool:
    """Returns True for a memory that no index proposed."""
    return one.cosine is None and one.score.similarity == 0.0


def _with_total(one: Ranked, total: float) -> Ranked:
    if total <= one.score.total:
        return one
    return one._replace(score=replace(one.score, total=total, update=total - one.score.total))


# Duplicates.

DUPLICATE_OVERLAP = 0.9
"""Least share of common terms in all terms of two duplicates."""
LONGEST_COMPARED = 20_000
"""Characters. Longer texts are duplicates only if they are equal."""
_FIRST = 4
"""Words that are compared first, because most texts differ there."""
_NEGATIONS = frozenset(("no", "not", "never", "none", "nor", "without", "t", "off", "disabl"))
"""Terms that reverse the meaning of a sentence; t is that of "don't"."""


def are_duplicates(one: str, other: str) -> bool:
    """Returns True if two texts are equal except for case, white space, punctuation and a few words that change no
    fact."""
    if _first_words(one) == _first_words(other) and one.casefold().split() == other.casefold().split():
        return True
    if max(len(one), len(other)) > LONGEST_COMPARED:
        return False
    words, others = distinct_terms(one), distinct_terms(other)
    together, shared = words | others, words & others
    if not shared or len(shared) < DUPLICATE_OVERLAP * len(together):
        return False
    if any(term in _NEGATIONS or not term.isalpha() for term in together - shared):
        return False
    in_order = ([term for term in document_terms(text) if term in shared] for text in (one, other))
    return next(in_order) == next(in_order)


def _first_words(text: str) -> list[str]:
    return [word.casefold() for word in text.split(maxsplit=_FIRST)[:_FIRST]]


# Selection.

LIKE_LENGTH = 0.85
"""Least ratio of the lengths of two possible duplicates."""
LIKE_COSINE = 0.05
"""Largest difference between the cosines to the query of two possible duplicates."""
LIKE_VECTORS = 0.9
"""Least cosine between two possible duplicates that are only counted, not shown."""
VARIED_AMONG = 50
"""Number of best hits without duplicates among which diversity chooses."""

Vectors = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]]
"""Returns the vector of the nearest passage of each document that has one."""
Memories = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Memory]]
_Distinct = tuple[Ranked, Sequence[Ranked]]
"""A candidate and its duplicates."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A hit of the answer."""

    key: DocumentKey
    score: Score
    cosine: float | None
    alike: int
    """Number of its duplicates that were left out."""
    is_known: bool
    """True if the caller knows it or one of its duplicates."""


def select_hits(
    ranked: Sequence[Ranked],
    query: Query,
    limit: int,
    vectors: Vectors,
    memories: Memories,
    before: Mapping[DocumentKey, Sequence[DocumentKey]],
) -> list[Selection]:
    """Returns up to ``limit`` of the ranked candidates without duplicates, best first. ``before``: those that come
    before a candidate whatever the diversity, because they update it."""
    if query.diversity > 0.0:
        memories([one.key for one in ranked[:VARIED_AMONG]])  # One read, because most of them are compared.
        distinct = _distinct(ranked, max(limit, VARIED_AMONG), vectors, memories)
        distinct = _diversified(distinct, query, vectors, before)[:limit]
    else:
        distinct = _distinct(ranked, limit, vectors, memories)
    return [
        Selection(one.key, one.score, one.cosine, len(copies), _is_known((one, *copies), query, memories))
        for one, copies in distinct
    ]


def _is_known(copies: Sequence[Ranked], query: Query, memories: Memories) -> bool:
    known = {memory for memory, _ in query.known}
    keys = [one.key for one in copies if one.features.id in known]
    return any((one.id, one.version) in query.known for one in memories(keys).values()) if keys else False


def is_crowded_by_duplicates(best: Sequence[Selection], ranked: int, limit: int) -> bool:
    """Returns True if at least half of the ``ranked`` candidates are duplicates, or fewer than ``limit`` are distinct.
    Other memories, or newer duplicates, may then be missing among the candidates."""
    copies = sum(one.alike for one in best)
    left = ranked - copies
    return copies > 0 and (left < limit or left <= copies)


def diversify(
    scores: Sequence[float], likeness: Callable[[int, int], float], diversity: float, limit: int
) -> list[int]:
    """Returns the positions of up to ``limit`` scores by marginal relevance (Carbonell and Goldstein).

    Each next one has the greatest (1 - diversity) x score - diversity x its greatest likeness to those before it.
    ``diversity``: 0..1; 0 keeps the order of the scores.
    """
    left = list(range(len(scores)))
    nearest = [0.0] * len(scores)
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda place: (1.0 - diversity) * scores[place] - diversity * nearest[place])
        left.remove(best)
        chosen.append(best)
        for place in left:
            nearest[place] = max(nearest[place], likeness(best, place))
    return chosen


def _diversified(
    distinct: Sequence[_Distinct],
    query: Query,
    vectors: Vectors,
    before: Mapping[DocumentKey, Sequence[DocumentKey]],
) -> list[_Distinct]:
    shown = {copy.key: place for place, (one, copies) in enumerate(distinct) for copy in (one, *copies)}
    placed_before = {
        place: [shown[key] for key in before.get(one.key, ()) if key in shown]
        for place, (one, _) in enumerate(distinct)
    }
    known = vectors([one.key for one, _ in distinct])

    def likeness(one: int, other: int) -> float:
        return _likeness(known, distinct[one][0].key, distinct[other][0].key, 0.0)

    scores = [one.score.total for one, _ in distinct]
    order = diversify(scores, likeness, query.diversity, len(distinct))
    return [distinct[place] for place in successors_first(order, placed_before)]


def _likeness(known: Mapping[DocumentKey, Vector], one: DocumentKey, other: DocumentKey, unknown: float) -> float:
    a, b = known.get(one), known.get(other)
    return unknown if a is None or b is None else float(a @ b)


def _distinct(
    ranked: Sequence[Ranked],
    limit: int,
    vectors: Vectors,
    memories: Memories,
) -> list[_Distinct]:
    """Returns the first ``limit`` candidates that are no duplicates of one before them, each with its duplicates among
    all others."""
    likely = _possible_duplicates(ranked)
    kept: list[int] = []
    originals: list[int | None] = []
    for place in range(len(ranked)):
        if len(kept) == limit:
            originals += _originals_of_rest(ranked, kept, likely[place:], vectors, memories)
            break
        rivals = [other for other in kept if likely[place, other]]
        originals.append(_original(ranked, place, rivals, memories))
        if originals[-1] is None:
            kept.append(place)
    copies: dict[int, list[Ranked]] = {place: [] for place in kept}
    for place, original in enumerate(originals):
        if original is not None:
            copies[original].append(ranked[place])
    return [(ranked[place], copies[place]) for place in kept]


def _possible_duplicates(ranked: Sequence[Ranked]) -> NDArray[np.bool_]:
    """Returns a matrix of the pairs whose lengths and cosines are similar. Most pairs need no further comparison."""
    lengths = np.array([one.features.length for one in ranked], float)
    cosines = np.array([one.cosine for one in ranked], float)
    are_far = abs(cosines[:, None] - cosines) > LIKE_COSINE  # False for candidates without a cosine, which is NaN here.
    likely = (lengths[:, None] >= LIKE_LENGTH * lengths) & ~are_far
    return likely & likely.T


def _originals_of_rest(
    ranked: Sequence[Ranked], kept: Sequence[int], likely: NDArray[np.bool_], vectors: Vectors, memories: Memories
) -> list[int | None]:
    """Returns the original of each of the last candidates, whose rows ``likely`` has. They are not shown, so their
    texts are read, in one query, only if the vectors are similar too, and not because of a successor without one."""
    first = len(ranked) - len(likely)
    kept = [place for place in kept if not _is_brought_in(ranked[place])]
    places: list[list[int]] = np.argwhere(likely[:, kept]).tolist()
    pairs = [(first + row, kept[column]) for row, column in places]
    if pairs:
        known = vectors(_keys_of(ranked, pairs))
        pairs = [
            (place, it)
            for place, it in pairs
            if _likeness(known, ranked[place].key, ranked[it].key, 1.0) >= LIKE_VECTORS
        ]
    rivals: dict[int, list[int]] = {}
    if pairs:
        memories(_keys_of(ranked, pairs))
        for place, it in pairs:
            rivals.setdefault(place, []).append(it)
    return [_original(ranked, place, rivals.get(place, ()), memories) for place in range(first, len(ranked))]


def _keys_of(ranked: Sequence[Ranked], pairs: Sequence[tuple[int, int]]) -> list[DocumentKey]:
    return [ranked[place].key for place in {place for pair in pairs for place in pair}]


def _original(ranked: Sequence[Ranked], place: int, rivals: Sequence[int], memories: Memories) -> int | None:
    """Returns the first rival that is a duplicate."""
    if not rivals:
        return None
    texts = memories([ranked[it].key for it in (place, *rivals)])
    text = texts[ranked[place].key].content
    return next((it for it in rivals if are_duplicates(texts[ranked[it].key].content, text)), None)
