"""One relevance, 0..1, out of keyword scores and cosines.

A weighted sum of normalised scores over the union of both lists. The weight of the vector side grows with how far
the best vector stands out from what chance would give among that many passages. And the less of the question the best
keyword match answers, the more of the keywords' share goes to the vectors as well: what shares only chance words
with the question is noise, and must not outvote what means the same in other words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum, log, sqrt
from typing import NamedTuple, TypeVar

K = TypeVar("K")

_ANSWERED = 1.2
"""More than this says no more: the question's words stand there several times."""
_SMALL_SCOPE = 20
"""Below so many passages the spread of cosines says nothing; the vector then counts as outstanding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWeights:
    """Share of the vector side: ``slope`` times how far it stands out, plus ``start``, less ``trust`` times what the
    best keyword match answers beyond ``words``, within ``low``..``high``. Where that match answers less than ``words``,
    the rest goes to the vectors too, all of it at ``noise``; but only as far as the best vector stands out, nothing at
    ``faint`` and all at ``clear``. The figures behind the defaults are in docs/decisions/0009."""

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
    """The part of the vector side that late interaction decides, where the model tells of tokens."""
    contrast: float = 1.25
    """The vector side is taken to this power: many lie close behind the nearest, and few of them are meant."""
    few: int = 3
    """A question of fewer words looks up a name or a word rather than asks something: the share of the vectors is as
    much smaller as it has fewer, counted with one more each."""

    @classmethod
    def fixed(cls, share: float, tokens: float = tokens) -> "FusionWeights":
        """The same share for every question."""
        return cls(low=share, high=share, noise=-2.0, words=-1.0, tokens=tokens, few=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the cosines of all passages in the searched scope lie."""

    count: int
    mean: float
    deviation: float


class Relevance(NamedTuple):
    """The two sides, each 0..1 and already normalised, and their weighted sum, 0..1."""

    keyword: float
    vector: float
    fused: float


def prominence(best: float, spread: Spread) -> float:
    """How far the best cosine stands out: 1 is what the best of ``count`` normal draws reaches by chance.

    (best - mean) / (deviation * sqrt(2 ln count)): the expected maximum of n standard normal draws
    grows like sqrt(2 ln n).
    """
    if spread.count < _SMALL_SCOPE or spread.deviation <= 0.0:
        return 1.0
    return (best - spread.mean) / (spread.deviation * sqrt(2.0 * log(spread.count)))


def fuse(
    keywords: Mapping[K, float],
    cosines: Mapping[K, float],
    tokens: Mapping[K, float],
    spread: Spread,
    answered: float,
    fusion_weights: FusionWeights,
    words: int | None = None,
) -> dict[K, Relevance]:
    """The relevance of every candidate of either list.

    ``keywords`` are scores above 0 (missing: 0), divided by the best. ``tokens`` are scores of late interaction for
    some of what has a cosine; both are counted in their deviations from the mean and mixed, and what comes out is
    stretched from the lowest to the best of the candidates, with ``contrast``. ``answered``: the best keyword score, as
    a share of what the whole question weighs, which has so many ``words`` (None: many). What has no cosine, because it
    is not embedded yet, is judged by its keywords alone; so is everything where there are no cosines. Where there are
    no keywords, relevance is the plain cosine.
    """
    if not keywords:
        return {key: _by_meaning(cosine) for key, cosine in cosines.items()}
    candidates = keywords.keys() | cosines.keys()
    top = max(keywords.values(), default=0.0)
    share = _share(max(cosines.values(), default=0.0), spread, answered, fusion_weights, words)
    stretched = _stretched(_sharpened(cosines, tokens, fusion_weights.tokens))
    vectors = {key: one**fusion_weights.contrast for key, one in stretched.items()}
    fused: dict[K, Relevance] = {}
    for key in candidates:
        keyword = max(keywords.get(key, 0.0), 0.0) / top if top > 0.0 else 0.0
        vector = vectors.get(key, 0.0)
        weight = share if key in cosines else 0.0
        total = min(max(weight * vector + (1.0 - weight) * keyword, 0.0), 1.0)
        fused[key] = Relevance(keyword, vector, total)
    return fused


def _by_meaning(cosine: float) -> Relevance:
    within = min(max(cosine, 0.0), 1.0)
    return Relevance(keyword=0.0, vector=within, fused=within)


def _share(best: float, spread: Spread, answered: float, fusion_weights: FusionWeights, words: int | None) -> float:
    beyond = max(min(answered, _ANSWERED) - fusion_weights.words, 0.0)
    stands_out = prominence(best, spread)
    share = fusion_weights.slope * stands_out + fusion_weights.start - fusion_weights.trust * beyond
    share = min(max(share, fusion_weights.low), fusion_weights.high)
    if words is not None:
        share *= _part((words + 1) / (fusion_weights.few + 1))
    noise = _part((fusion_weights.words - answered) / (fusion_weights.words - fusion_weights.noise))
    clear = _part((stands_out - fusion_weights.faint) / (fusion_weights.clear - fusion_weights.faint))
    return share + (1.0 - share) * noise * clear


def _part(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _sharpened(cosines: Mapping[K, float], tokens: Mapping[K, float], part: float) -> Mapping[K, float]:
    """Cosines and scores of tokens, each in deviations from the mean of its kind, so that neither needs a scale."""
    if not tokens or part <= 0.0:
        return cosines
    of_cosines, of_tokens = _standard(cosines), _standard(tokens)
    return {key: (1.0 - part) * one + part * of_tokens.get(key, one) for key, one in of_cosines.items()}


def _standard(values: Mapping[K, float]) -> dict[K, float]:
    mean = fsum(values.values()) / len(values)
    deviation = sqrt(fsum((value - mean) ** 2 for value in values.values()) / len(values))
    return {key: (value - mean) / deviation if deviation > 0.0 else 0.0 for key, value in values.items()}


def _stretched(values: Mapping[K, float]) -> dict[K, float]:
    """0 for the lowest, 1 for the best; all 1 where there is no difference."""
    if not values:
        return {}
    worst, best = min(values.values()), max(values.values())
    if best <= worst:
        return dict.fromkeys(values, 1.0)
    return {key: (value - worst) / (best - worst) for key, value in values.items()}
