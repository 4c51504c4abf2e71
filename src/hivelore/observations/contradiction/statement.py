"""What a note says, as far as another one can contradict it: terms, quantities, and what comes before what."""

from dataclasses import dataclass
from enum import Enum

from hivelore.core.values import replace
from hivelore.observations.contradiction.pieces import Kind
from hivelore.observations.contradiction.quantities import Quantity
from hivelore.observations.contradiction.words import Meaning, words_of

LIMITS = words_of(
    """
    pendant während durante mientras lors even with from on in at by for during to of through via
    while that which than into onto mit von auf bei avec dans con en
    """
)


OR = words_of("or oder ou")


JOINS = words_of("and but while und aber et mais y pero 和 但")


class Role(Enum):
    """Of the part of a sentence that a term stands in."""

    MAIN = "main"
    CONDITION = "condition"
    REASON = "reason"
    OTHERWISE = "otherwise"


@dataclass(frozen=True, slots=True)
class Term:
    concept: str
    sign: int
    """1: said to be so, -1: said not to be so, 0: neither."""
    weight: float
    polar: bool
    """Whether its opposite has a word of its own."""
    opposite: int
    """-1: that is the word."""
    role: Role
    unit: int
    """Which clause it stands in, with the condition of that."""
    segment: int
    """Which part of the text it stands in, from one mark or *and* to the next."""
    shown: str
    is_name: bool
    negated: bool
    """By a word of its own, not by meaning the opposite."""
    is_denied: bool
    """It is what a negation is about, not only within its reach."""


@dataclass(frozen=True, slots=True)
class Order:
    """What comes before what: concepts."""

    earlier: frozenset[str]
    later: frozenset[str]


DENIAL, DENIAL_WITHOUT, DENIAL_OF_SAME, DENIAL_OF_WHICH = "not", "without", "same", "which"


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies, or the opposite of another one."""

    concept: str
    """Of the opposite; of a word that only denies, one of the two above."""
    segment: int
    unit: int
    """Which clause it stands in, with the condition of that."""
    role: Role
    reached: frozenset[str]
    """The concepts that are denied, as far as they name something."""
    said_by: str
    """The concept of the word itself: *fails to* denies, and *fails* is an opposite, too."""


@dataclass(frozen=True, slots=True)
class Reading:
    words: tuple[str, ...]
    """All of it, however it is punctuated."""
    concepts: frozenset[str]
    """Of all its words, grammar too."""
    places_of: tuple[tuple[str, int, int], ...]
    """And which part and which clause each stands in."""
    after_only: frozenset[str]
    """What stands next to *only*, and next to *all*."""
    after_all: frozenset[str]
    concedes: bool
    """That something makes no difference: even if, while it is still."""
    unrelates: bool
    """That one thing is not the reason of another."""
    terms: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    places: tuple[int, ...]
    """The segment of each quantity."""
    orders: tuple[Order, ...]
    denied: frozenset[str]
    """What is said not to be so beside what is: *not this, but that*."""
    denials: tuple[Denial, ...]
    flows: tuple[Order, ...]
    """What goes from where to where, and what is less than what."""
    is_whole: bool
    """Not so long that a part of it was left out."""


@dataclass(slots=True)
class Word:
    """A piece with its meaning."""

    text: str
    kind: Kind
    meaning: Meaning
    segment: int = 0
    unit: int = 0
    sentence: int = 0
    role: Role = Role.MAIN
    sign: int = 1
    is_denied: bool = False

    @property
    def concept(self) -> str:
        return self.meaning.concept

    @property
    def counts(self) -> bool:
        return self.meaning.weight > 0


QUANTITY = Meaning("", 1, 0.0, polar=False)


def part(reading: Reading, segment: int) -> Reading:
    """What one part of a sentence says."""
    measures = [(one, at) for one, at in zip(reading.quantities, reading.places, strict=True) if at == segment]
    return replace(
        reading,
        terms=tuple(term for term in reading.terms if term.segment == segment),
        quantities=tuple(one for one, _ in measures),
        places=tuple(at for _, at in measures),
        orders=(),
        flows=(),
        denied=frozenset(),
        denials=tuple(one for one in reading.denials if one.segment == segment),
    )


VERBS = words_of("is are was were be has have had can may must will should ist sind wird est sont")
"""Behind one of these no longer the thing is named that comes first or last."""
