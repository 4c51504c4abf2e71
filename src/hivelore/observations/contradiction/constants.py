"""Constants of the judge, chosen on labelled pairs (docs/decisions/0015-contradiction-judge.md)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nearness:
    """Weights that estimate, as a sum of log odds, that two notes are about the same subject.

    Fitted by logistic regression (same or conflicting, against different) and rounded.
    """

    base: float
    least_covered: float
    """Times the share of the one that the other has, 0 to 1, whichever of the two shares is smaller."""
    most_covered: float
    both_alone: float
    """Times the weight that each has alone, at most 3: the smaller one."""
    one_alone: float
    """The larger one, at most 4."""
    shared: float
    """Times the weight that both have, at most 4."""
    agreeing: float
    """Where a quantity is the same in both."""
    quantity_alone: float
    """Where both have quantities that the other has nothing of."""
    likeness: float = 0.0
    """Times the cosine."""


@dataclass(frozen=True, slots=True)
class Constants:
    same_beginning: int = 5
    """Number of equal first letters that makes two words equal, and their share of the longer word."""
    same_beginning_share: float = 0.7
    same_span: float = 0.1
    """Relative difference up to which spans of time are equal, because they are measured."""
    same_size: float = 0.08
    """1 GiB is 1.07 GB."""
    about: float = 0.2
    surely_other: float = 0.25
    """Spans and sizes that differ by more contradict each other; between this and ``same_span`` is doubt."""
    doubt: float = 0.35
    """The strength of such a doubt."""
    denied: float = 0.5
    """The strength of a denial of what the other one says."""
    odd_share: float = 0.9
    """Share of the common terms that one note denies from which the whole statement is denied."""
    odd_alone: float = 0.3
    odd_more: float = 0.75
    """Maximum weight alone in each note with which such a denial is a contradiction; above it is a doubt."""
    clash: float = 0.41
    """Something as strong contradicts, something weaker than ``no_clash`` does not."""
    no_clash: float = 0.2
    agreed: float = 0.7
    """Share for *conflict* that a pair model must give if not only quantities clash."""
    found: float = 0.955
    """The share from which on it finds a conflict where the rules find none."""
    doubted: float = 0.9
    """Share for *conflict* from which a pair that the rules find different is a doubt,"""
    doubted_same: float = 0.8
    """and a pair that the rules find equal, so that a wrong memory does not gain confidence."""
    disagreed: float = 0.5
    """The share for different notes from which on clashing quantities are no conflict."""
    rewording: float = 0.88
    """Share for *same* that a pair model must give when the rules do not find the notes equal,"""
    rewording_likeness: float = 0.3
    """and the minimum cosine. The model reads pairs below it only if the rules find a conflict."""
    only_measures: bool = False
    """True if only quantities contradict and any other clash is a doubt."""
    conflict: float = 0.4
    conflict_of_measures: float = 1.6
    conflict_of_cases: float = 2.8
    """The nearness from which on a clash is a contradiction. Where only quantities clash, it takes more, and where one
    has as much alone as ``case_alone`` still more: it may be a special case, or about another thing."""
    case_alone: float = 1.0
    conflict_of_others: float = 3.5
    """And most where each has something alone."""
    same: float = 1.5
    same_both_alone: float = 1.0
    """With as much alone in each of two, they are only the same from ``same_surely`` on."""
    same_surely: float = 3.2
    different: float = -0.5
    """Nearness below which two notes are different, whatever clashes."""
    by_words: Nearness = Nearness(-2.1, 2.1, 1.95, -0.8, -0.5, 0.7, 2.3, -0.3)
    with_likeness: Nearness = Nearness(-5.2, 2.0, 1.6, -0.65, -0.2, 0.3, 1.9, -0.3, 5.5)


DEFAULTS = Constants()
