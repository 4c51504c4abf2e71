"""From relevance to a score: what age and use add (X6, B12-B15), and what usefulness makes of it (N17)."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from hivelore.feedback.rating import Worth, factor
from hivelore.memories.model import RankFeatures
from hivelore.search.fusion import Relevance
from hivelore.search.model import Score

DOCUMENTED_HALF_LIFE = timedelta(days=14)
_ACCESSES_FOR_FULL_BOOST = 10


class Profile(StrEnum):
    MEASURED = "measured"
    """Relevance decides; age and use settle ties."""
    DOCUMENTED = "documented"
    """similarity x recencyDecay x accessBoost, nothing else (B12)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
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
    worth: Worth = field(default_factory=Worth)


def recency(age: timedelta, half_life: timedelta) -> float:
    """2^(-age / half life), 0..1 (B13); the future counts as now."""
    return 2.0 ** (-max(age / half_life, 0.0))


def access_boost(count: int, last: datetime | None, now: datetime, ranking: Ranking) -> float:
    """1 + min(count / 10, max - 1) x recencyFactor, where the factor is 1 within ``access_recency`` of
    the last access and 0.5 after it (B14)."""
    if last is None or count <= 0:
        return 1.0
    factor = 1.0 if now - last <= ranking.access_recency else 0.5
    return 1.0 + min(count / _ACCESSES_FOR_FULL_BOOST, ranking.access_boost_max - 1.0) * factor


def score(memory: RankFeatures, relevance: Relevance, prior: float, now: datetime, ranking: Ranking) -> Score:
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
        worth = factor(memory.use, ranking.worth)
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


def _measured(wanted: float, age: timedelta, boost: float, ranking: Ranking) -> tuple[float, float]:
    most = ranking.access_boost_max - 1.0
    use = ranking.tie_access_weight * ((boost - 1.0) / most if most > 0.0 else 0.0)
    if ranking.half_life is not None:
        fade = recency(age, ranking.half_life)
        return fade, fade * (wanted + use) / (1.0 + ranking.prior_room + ranking.tie_access_weight)
    fade = recency(age, ranking.tie_half_life)
    total = wanted + ranking.tie_weight * fade + use
    return fade, total / (1.0 + ranking.prior_room + ranking.tie_weight + ranking.tie_access_weight)
