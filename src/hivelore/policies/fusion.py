"""One relevance, 0..1, out of keyword scores and cosines.

A weighted sum of normalised scores over the union of both lists. The weight of the vector side grows
with how far the best vector stands out from what chance would give among that many passages, and
shrinks with how much of the question the best keyword match answers: a keyword list that matches only
noise must not outvote a confident vector, nor the other way round.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K")

_ANSWERED = 1.2
"""More than this says no more: the question's words stand there several times."""
_SMALL_SCOPE = 20
"""Below so many passages the spread of cosines says nothing; the vector then counts as outstanding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """Share of the vector side: ``slope`` times how far it stands out, plus ``doubt`` times how much the keywords
    miss of ``enough``, within ``low``..``high``. The figures behind the defaults are in docs/decisions/0006."""

    slope: float = 0.7
    doubt: float = 0.4
    enough: float = 0.5
    low: float = 0.2
    high: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the cosines of all passages in the searched scope lie."""

    count: int
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
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
    return (best - spread.mean) / (spread.deviation * math.sqrt(2.0 * math.log(spread.count)))


def fuse(
    keywords: Mapping[K, float], cosines: Mapping[K, float], spread: Spread, answered: float, weighting: Weighting
) -> dict[K, Relevance]:
    """The relevance of every candidate of either list.

    ``keywords`` are scores above 0 (missing: 0), divided by the best; cosines are stretched from the
    lowest to the best of the candidates. ``answered``: the best keyword score, as a share of what all terms
    of the question weigh. What has no cosine, because it is not embedded yet, is judged by its keywords alone;
    so is everything where there are no cosines. Where there are no keywords, relevance is the plain cosine.
    """
    if not keywords:
        return {key: _by_meaning(cosine) for key, cosine in cosines.items()}
    candidates = keywords.keys() | cosines.keys()
    top = max(keywords.values(), default=0.0)
    best, worst = max(cosines.values(), default=0.0), min(cosines.values(), default=0.0)
    share = _share(best, spread, answered, weighting)
    fused: dict[K, Relevance] = {}
    for key in candidates:
        keyword = max(keywords.get(key, 0.0), 0.0) / top if top > 0.0 else 0.0
        vector = _stretched(cosines[key], worst, best) if key in cosines else 0.0
        weight = share if key in cosines else 0.0
        total = min(max(weight * vector + (1.0 - weight) * keyword, 0.0), 1.0)
        fused[key] = Relevance(keyword=keyword, vector=vector, fused=total)
    return fused


def _by_meaning(cosine: float) -> Relevance:
    within = min(max(cosine, 0.0), 1.0)
    return Relevance(keyword=0.0, vector=within, fused=within)


def _share(best: float, spread: Spread, answered: float, weighting: Weighting) -> float:
    missed = weighting.enough - min(answered, _ANSWERED)
    share = weighting.slope * prominence(best, spread) + weighting.doubt * missed
    return min(max(share, weighting.low), weighting.high)


def _stretched(value: float, worst: float, best: float) -> float:
    if best <= worst:
        return 1.0
    return (value - worst) / (best - worst)
