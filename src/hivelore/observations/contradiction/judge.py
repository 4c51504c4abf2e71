"""The judge: compares two notes about one service as same, conflicting, different or uncertain.

In doubt the verdict is uncertain: a wrong verdict hides a memory or keeps a wrong one, a doubt only asks a reviewer.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from hivelore.core.text import in_one_line
from hivelore.observations.contradiction.comparison import Comparison, compare
from hivelore.observations.contradiction.constants import DEFAULTS, Constants, Nearness
from hivelore.observations.contradiction.matches import Clash
from hivelore.observations.contradiction.measures import COUNTED, measured
from hivelore.observations.contradiction.opposites import opposed
from hivelore.observations.contradiction.parser import read
from hivelore.observations.contradiction.statement import ParsedNote, part
from hivelore.observations.contradiction.words import NEGATORS
from hivelore.observations.model import PairScores


class Verdict(Enum):
    SAME = "same"
    CONFLICT = "conflict"
    DIFFERENT = "different"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    confidence: float
    """Probability that the verdict is right, 0.5 to 1; 0 if it is uncertain."""
    reasons: tuple[str, ...]
    """Reasons in words: the numbers, negations and names that decide, and what only one note states."""


def judge(
    older: str,
    newer: str,
    likeness: float | None,
    constants: Constants = DEFAULTS,
    *,
    service: str = "",
    stance: PairScores | None = None,
) -> Judgement:
    """Judges two notes of the same category about the same service. ``likeness``: cosine of their vectors, None without
    an embedding model. ``stance``: scores of a pair model; without it, rules decide alone. The model may doubt what the
    rules find, find equality where nothing clashes, and, with high certainty, find a conflict."""
    # Which of the two is older makes no difference to whether they agree.
    pairs = sorted(((read(older), older), (read(newer), newer)), key=lambda pair: pair[0].words)
    (ours, first), (theirs, second) = pairs
    is_whole = ours.is_whole and theirs.is_whole
    if (ours.words == theirs.words and is_whole) or _plain(older) == _plain(newer):
        return Judgement(Verdict.SAME, 1.0, ("the same words",))
    names = frozenset(term.concept for term in read(service).terms)
    compared = compare(ours, theirs, constants, names)
    by = constants.by_words if likeness is None or not math.isfinite(likeness) else constants.with_likeness
    near = nearness(compared, likeness or 0.0, by)
    clash = _strongest(compared)
    if _differ_in_numbers_alone(compared):
        # Vectors of short notes that differ in their numbers alone are far apart.
        near = max(near, nearness(compared, 0.0, constants.by_words))
    if clash >= constants.clash and near < constants.conflict_of_measures:
        near = max(near, _nearest_part(ours, theirs, likeness or 0.0, constants, names))
    verdict = _verdict(compared, near, clash, constants)
    if not is_whole and verdict is not Verdict.DIFFERENT:
        return Judgement(Verdict.UNCERTAIN, 0.0, ("too long to compare",))
    is_about_numbers = _differ_in_how_numbers_are_written(verdict, compared) or _only_adds_one(ours, theirs, compared)
    if stance is None or is_about_numbers:
        judgement = _judged(verdict, near, compared)
    else:
        judgement = _with(stance, verdict, compared, near, likeness or 0.0, constants)
    if judgement.verdict is Verdict.SAME:
        why = opposed(ours, theirs, (first, second), agrees=bool(compared.agreeing))
        return judgement if why is None else Judgement(Verdict.UNCERTAIN, 0.0, (why,))
    return judgement


def may_be_same(one: str, other: str, constants: Constants = DEFAULTS) -> bool:
    """Returns True if the rules alone may find two notes equal, judging by their quantities. Much faster than
    ``judge``, above all for notes that differ in a number."""
    if _plain(one) == _plain(other):
        return True
    ours, theirs = sorted((read(one), read(other)), key=lambda reading: reading.words)
    if ours.words == theirs.words:
        return True
    agreeing, (here, there), clashes = measured(ours, theirs, constants)
    # A clash of quantities is a doubt at least.
    if clashes and constants.doubt >= constants.no_clash:
        return False
    return not (here and there) and not (agreeing and any(one.dimension in COUNTED for one in (*here, *there)))


def _with(
    stance: PairScores, verdict: Verdict, compared: Comparison, near: float, likeness: float, constants: Constants
) -> Judgement:
    """Combines the verdict of the rules with the scores of the pair model."""
    if verdict is not Verdict.CONFLICT and stance.conflict >= constants.found:
        return Judgement(Verdict.CONFLICT, stance.conflict, _reasons(compared, Verdict.CONFLICT))
    if verdict in _OPEN and _is_rewording(stance, compared, likeness, constants):
        return Judgement(Verdict.SAME, stance.same, ("the same in other words",))
    if verdict is Verdict.CONFLICT and not _agrees(stance, compared, constants):
        verdict = Verdict.UNCERTAIN
    doubted = {Verdict.SAME: constants.doubted_same, Verdict.DIFFERENT: constants.doubted}
    if stance.conflict >= doubted.get(verdict, math.inf):
        return Judgement(Verdict.UNCERTAIN, 0.0, ("perhaps the opposite in other words",))
    return _judged(verdict, near, compared)


def _only_adds_one(ours: ParsedNote, theirs: ParsedNote, compared: Comparison) -> bool:
    """Returns True if one note contains all words of the other and one more quantity. For *retry* and *retry up to 3
    times* the model would find a conflict."""
    one, other = sorted((ours, theirs), key=lambda one: len(one.words))
    more = frozenset(other.words) - frozenset(one.words)
    return frozenset(one.words) <= frozenset(other.words) and any(compared.quantities_alone) and not more & NEGATORS


def _judged(verdict: Verdict, near: float, compared: Comparison) -> Judgement:
    confidence = 0.0 if verdict is Verdict.UNCERTAIN else _probability(abs(near))
    return Judgement(verdict, confidence, _reasons(compared, verdict))


def _plain(text: str) -> str:
    return in_one_line(text).casefold()


_OPEN = (Verdict.UNCERTAIN, Verdict.DIFFERENT)


def nearness(compared: Comparison, likeness: float, by: Nearness) -> float:
    """Returns the log odds that two notes are about the same subject."""
    least, most = sorted((compared.first_covered, compared.second_covered))
    fewer, more = sorted((compared.first_alone, compared.second_alone))
    return (
        by.base
        + by.least_covered * least
        + by.most_covered * most
        + by.both_alone * min(fewer, 3.0)
        + by.one_alone * min(more, 4.0)
        + by.shared * min(compared.shared, 4.0)
        + by.agreeing * bool(compared.agreeing)
        + by.quantity_alone * min(*compared.quantities_alone, 1)
        + by.likeness * max(-1.0, min(1.0, likeness))
    )


def _strongest(compared: Comparison) -> float:
    return max((clash.strength for clash in compared.clashes), default=0.0)


def _nearest_part(
    older: ParsedNote, newer: ParsedNote, likeness: float, constants: Constants, names: frozenset[str]
) -> float:
    """Returns the nearness of the nearest part of a note with several statements, one of which the other note
    contradicts."""
    by = constants.by_words if not likeness else constants.with_likeness
    pairs = [(one, newer) for one in _parts(older)] + [(older, one) for one in _parts(newer)]
    nearest = -math.inf
    for one, other in pairs:
        compared = compare(one, other, constants, names)
        if _strongest(compared) >= constants.clash and min(compared.first_covered, compared.second_covered) >= _WHOLE:
            nearest = max(nearest, nearness(compared, likeness, by))
    return nearest


_WHOLE = 0.99


def _parts(reading: ParsedNote) -> Iterator[ParsedNote]:
    for segment in dict.fromkeys(term.segment for term in reading.terms):
        yield part(reading, segment)


def _verdict(compared: Comparison, near: float, clash: float, constants: Constants) -> Verdict:
    if near < constants.different:
        return Verdict.DIFFERENT
    both_have_more = min(compared.first_alone, compared.second_alone) >= constants.same_both_alone
    threshold = constants.conflict
    certain = _certain(compared, constants)
    if all(one.is_measure for one in certain):
        fewer, more = sorted((compared.first_alone, compared.second_alone))
        is_case = more >= constants.case_alone
        threshold = constants.conflict_of_cases if is_case else constants.conflict_of_measures
        if more >= 2 * constants.case_alone or (is_case and fewer > 0):
            threshold = constants.conflict_of_others
    elif both_have_more:
        threshold = constants.conflict_of_cases
    if certain and compared.shared > 0 and near >= threshold:
        return Verdict.CONFLICT
    if compared.is_partly_counted or min(compared.quantities_alone):
        return Verdict.UNCERTAIN
    says_something = compared.shared > 0 or bool(compared.agreeing)
    is_near = near >= (constants.same_surely if _both_add(compared, constants) else constants.same)
    if says_something and is_near and clash < constants.no_clash:
        return Verdict.SAME
    return Verdict.UNCERTAIN


def _both_add(compared: Comparison, constants: Constants) -> bool:
    """Returns True if each note adds a quantity or a thing: each hour, and at midnight."""
    first, second = compared.quantities_alone
    return min(compared.first_alone + first, compared.second_alone + second) >= constants.same_both_alone


def _certain(compared: Comparison, constants: Constants) -> list[Clash]:
    return [
        one
        for one in compared.clashes
        if one.strength >= constants.clash and (one.is_measure or not constants.only_measures)
    ]


def _agrees(stance: PairScores, compared: Comparison, constants: Constants) -> bool:
    """The model knows more of words than of numbers: quantities clash unless they are about different things."""
    if all(one.is_measure for one in _certain(compared, constants)):
        return stance.different < constants.disagreed
    return stance.conflict >= constants.agreed


def _is_rewording(stance: PairScores, compared: Comparison, likeness: float, constants: Constants) -> bool:
    """Returns True if nothing clashes, no quantity is in one note only, and both vectors and the pair model find the
    notes equal."""
    return (
        stance.same >= constants.rewording
        and likeness >= constants.rewording_likeness
        and _strongest(compared) < constants.no_clash
        and not compared.is_partly_counted
        and not min(compared.quantities_alone)
    )


def _differ_in_numbers_alone(compared: Comparison) -> bool:
    return (
        bool(compared.clashes)
        and all(one.is_measure for one in compared.clashes)
        and compared.first_alone == compared.second_alone == 0
        and compared.shared > 0
    )


def _differ_in_how_numbers_are_written(verdict: Verdict, compared: Comparison) -> bool:
    """Two weeks and 14 days: of that the model knows too little to have a say."""
    is_all = compared.first_alone == compared.second_alone == 0
    return verdict is Verdict.SAME and is_all and bool(compared.agreeing)


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def _reasons(compared: Comparison, verdict: Verdict) -> tuple[str, ...]:
    clashes = tuple(clash.why for clash in compared.clashes)
    only = tuple(f"only one says {words}" for words in (", ".join(compared.only),) if words)
    if verdict is Verdict.CONFLICT:
        return clashes or ("the opposite in other words",)
    if verdict is Verdict.SAME:
        return compared.agreeing or ("nearly the same words",)
    return (*clashes, *only) or ("little in common",)
