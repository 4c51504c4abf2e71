"""Values of a parsed note: terms, quantities and orders."""

from dataclasses import dataclass
from enum import Enum

from hivelore.core.values import replace
from hivelore.observations.contradiction.pieces import Kind
from hivelore.observations.contradiction.quantities import Quantity
from hivelore.observations.contradiction.words import Sense, words_of

LIMITS = words_of(
    """
    pendant während durante mientras lors even with from on in at by for during to of through via
    while that which than into onto mit von auf bei avec dans con en
    """
)


OR = words_of("or oder ou")


JOINS = words_of("and but while und aber et mais y pero 和 但")


class Role(Enum):
    """Role of the part of a sentence that contains a term."""

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
    """True if the opposite is a separate word."""
    opposite: int
    """-1: that is the word."""
    role: Role
    unit: int
    """Clause that contains it, with the condition."""
    segment: int
    """Part of the text, from one mark or *and* to the next."""
    shown: str
    is_name: bool
    negated: bool
    """True for a separate negation, False for an opposite."""
    is_denied: bool
    """True if a negation is about it, not only within its scope."""


@dataclass(frozen=True, slots=True)
class Order:
    """Concepts in their order."""

    earlier: frozenset[str]
    later: frozenset[str]


DENIAL, DENIAL_WITHOUT, DENIAL_OF_SAME, DENIAL_OF_WHICH = "not", "without", "same", "which"


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies, or the opposite of another one."""

    concept: str
    """Concept of the opposite, or one of the two above for a word that only denies."""
    segment: int
    unit: int
    """Which clause it stands in, with the condition of that."""
    role: Role
    reached: frozenset[str]
    """Denied concepts that name something."""
    said_by: str
    """The concept of the word itself: *fails to* denies, and *fails* is an opposite, too."""


@dataclass(frozen=True, slots=True)
class ParsedNote:
    words: tuple[str, ...]
    """All words, without punctuation."""
    concepts: frozenset[str]
    """Concepts of all words, including grammar."""
    places_of: tuple[tuple[str, int, int], ...]
    """Part and clause of each concept."""
    after_only: frozenset[str]
    """Words next to *only*, and next to *all*."""
    after_all: frozenset[str]
    concedes: bool
    """Concessions: even if, while it is still."""
    unrelates: bool
    """Denied reasons."""
    terms: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    places: tuple[int, ...]
    """The segment of each quantity."""
    orders: tuple[Order, ...]
    denied: frozenset[str]
    """Denied alternatives: *not this, but that*."""
    denials: tuple[Denial, ...]
    flows: tuple[Order, ...]
    """Directions (from, to) and comparisons (less, more)."""
    is_whole: bool
    """False if the note was too long to be parsed completely."""


@dataclass(slots=True)
class Word:
    """A piece with its meaning."""

    text: str
    kind: Kind
    meaning: Sense
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


QUANTITY = Sense("", 1, 0.0, polar=False)


def part(reading: ParsedNote, segment: int) -> ParsedNote:
    """Returns one part of a sentence."""
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
"""Verbs after which a name is not the first or last thing any more."""
