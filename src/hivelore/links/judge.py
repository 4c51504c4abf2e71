"""The contradiction judge: how a later statement relates to an earlier one (X8, X23).

A trained model reads both and gives probabilities; thresholds turn them into a verdict. In doubt the verdict is
uncertain: a wrong one misleads, a doubt only asks a reviewer.
"""

from dataclasses import dataclass
from enum import Enum

from hivelore.core.text import in_one_line
from hivelore.core.token_count import estimate
from hivelore.links.differences import difference
from hivelore.links.quantities import Quantity, without_quantities


class Verdict(Enum):
    SAME = "same"
    CONFLICT = "conflict"
    UPDATE = "update"
    """The later statement says that the earlier one no longer holds."""
    DIFFERENT = "different"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """A model's estimate of how a later statement relates to an earlier one: four probabilities that sum to 1."""

    same: float
    conflict: float
    update: float
    different: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Least probabilities of the verdicts, chosen in docs/decisions/0028-facts-that-change.md."""

    same: float = 0.75
    conflict: float = 0.96
    update: float = 0.985
    change: float = 0.992
    """Of conflict and update together; from it on, the likelier of the two is the verdict."""
    doubt: float = 0.88
    """Of conflict and update together; from it on, a pair without another verdict is uncertain instead of different."""
    weak_doubt: float = 0.20
    """Of conflict and update together; from it on, a different pair is still linked as a doubt."""


DEFAULTS = Thresholds()


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    certainty: float
    """Probability that the verdict is right, 0 to 1."""
    why: str
    """What differs, such as ``10 min vs 60 s`` or ``npm -> pnpm``."""
    change: float = 0.0
    """Probability that the later statement contradicts or updates the earlier one, 0 to 1."""


EQUAL = Judgement(Verdict.SAME, 1.0, "the same words")
READ_IN_FULL = 100
"""Estimated tokens of a statement that the model reads to its end: a difference behind it would not be seen."""
NOT_READ = Judgement(Verdict.DIFFERENT, 0.0, "not compared")
"""For pairs that no model reads."""


def judge(older: str, newer: str, scores: PairScores, thresholds: Thresholds = DEFAULTS) -> Judgement:
    """Returns the verdict on two statements, given in the order of their dates."""
    if are_equal(older, newer):
        return EQUAL
    changed = Verdict.UPDATE if scores.update >= scores.conflict else Verdict.CONFLICT
    share, least = (
        (scores.update, thresholds.update) if changed is Verdict.UPDATE else (scores.conflict, thresholds.conflict)
    )
    either = scores.conflict + scores.update
    if share >= least or either >= thresholds.change:
        return Judgement(changed, share, _why(older, newer, changed), either)
    if scores.same >= thresholds.same:
        if max(estimate(older), estimate(newer)) > READ_IN_FULL:
            return Judgement(Verdict.DIFFERENT, scores.different, "the same beginning in other words")
        return Judgement(Verdict.SAME, scores.same, "the same in other words")
    why = _why(older, newer, Verdict.CONFLICT) if either >= thresholds.weak_doubt else ""
    verdict, certainty = (
        (Verdict.UNCERTAIN, either) if either >= thresholds.doubt else (Verdict.DIFFERENT, scores.different)
    )
    return Judgement(verdict, certainty, why, either)


def judge_quantities(older: str, newer: str) -> Judgement | None:
    """Returns the verdict on statements that are equal but for durations, sizes and percentages; None for others."""
    (words, ours), (others, theirs) = without_quantities(older), without_quantities(newer)
    if not ours or words != others:
        return None
    pairs = list(zip(ours, theirs, strict=True))
    if any(one.kind != other.kind for one, other in pairs):
        return None
    furthest = max(pairs, key=lambda pair: _distance(*pair))
    if _distance(*furthest) <= SAME_WITHIN:
        return Judgement(Verdict.SAME, 1.0, "the same in other units")
    if _distance(*furthest) < DIFFERENT_FROM:
        return None
    one, other = furthest
    return Judgement(Verdict.CONFLICT, 1.0, f"{one.shown} vs {other.shown}", 1.0)


def _distance(one: Quantity, other: Quantity) -> float:
    """Returns the difference of two quantities as a share of the larger one."""
    largest = max(one.value, other.value)
    return abs(one.value - other.value) / largest if largest else 0.0


SAME_WITHIN, DIFFERENT_FROM = 0.01, 0.25
"""Shares by which quantities may differ and are the same, and from which they contradict each other. Between them, as
for 60 and 64 seconds, the model decides."""


def are_equal(one: str, other: str) -> bool:
    """Returns True if two texts are equal except for case and white space."""
    return in_one_line(one).casefold() == in_one_line(other).casefold()


def _why(older: str, newer: str, verdict: Verdict) -> str:
    arrow = "->" if verdict is Verdict.UPDATE else "vs"
    shown = difference(older, newer)
    return f"{shown[0]} {arrow} {shown[1]}" if shown else ""
