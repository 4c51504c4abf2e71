"""What decides, in numbers, chosen on labelled pairs: docs/decisions/0015-contradiction-judge.md says which."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nearness:
    """How much each measure says that two notes are about the same: log odds, to be added up.

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
    """Letters that two words begin with to be taken for the same word, and the share of the longer one."""
    same_beginning_share: float = 0.7
    same_span: float = 0.1
    """Spans of time that differ by so much are the same: they are measured."""
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
    """Of what both say, that the one denies and the other does not: from here on it is the whole statement."""
    odd_alone: float = 0.3
    odd_more: float = 0.75
    """With less alone in the one and in the other, such a denial contradicts by itself; with more it is a doubt."""
    clash: float = 0.41
    """Something as strong contradicts, something weaker than ``no_clash`` does not."""
    no_clash: float = 0.2
    agreed: float = 0.7
    """The share that a model that reads both has to give a conflict where not only quantities clash."""
    found: float = 0.955
    """The share from which on it finds a conflict where the rules find none."""
    doubted: float = 0.9
    """The share for a conflict from which on what the rules take for different is a doubt,"""
    doubted_same: float = 0.8
    """and what they take for the same: that must not make the wrong one of two surer."""
    disagreed: float = 0.5
    """The share for different notes from which on clashing quantities are no conflict."""
    rewording: float = 0.88
    """What a model that reads both has to give *same*, for what the rules cannot tell to be the same,"""
    rewording_likeness: float = 0.3
    """and the cosine that it needs besides. What is further off, a service has it read only where the rules find a
    conflict."""
    only_measures: bool = False
    """Whether only quantities contradict; any other clash is a doubt then."""
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
    """Below it two are different, whatever clashes."""
    by_words: Nearness = Nearness(-2.1, 2.1, 1.95, -0.8, -0.5, 0.7, 2.3, -0.3)
    with_likeness: Nearness = Nearness(-5.2, 2.0, 1.6, -0.65, -0.2, 0.3, 1.9, -0.3, 5.5)


DEFAULTS = Constants()
