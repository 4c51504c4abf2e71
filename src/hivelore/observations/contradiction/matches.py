"""Pairs of equal terms of two notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.statement import ParsedNote, Role, Term
from hivelore.observations.contradiction.words import WEAK_WEIGHT


@dataclass(frozen=True, slots=True)
class Clash:
    """Two statements that cannot both be true."""

    why: str
    strength: float = 1.0
    """1: they cannot both be so, if they are about the same."""
    is_measure: bool = False
    """True for two quantities. Different things may have them, so a longer note may be about another thing."""


@dataclass(slots=True)
class Group:
    """One concept in one text."""

    concept: str
    weight: float
    signs: set[int]
    polar: bool
    shown: str
    roles: set[Role]
    is_name: bool
    negated: bool = False
    is_denied: bool = False
    segments: int = 1
    """Segments of the whole text."""


ONE_EACH = 2


@dataclass(frozen=True, slots=True)
class Both:
    """Two notes with their terms."""

    first: ParsedNote
    second: ParsedNote
    ours: Mapping[str, Group]
    """Terms of the first and the second note by concept."""
    theirs: Mapping[str, Group]
    partners: Mapping[str, str]
    """Concept of the second note for each of the first."""
    back: Mapping[str, str]
    """The reverse of ``partners``."""

    def alone(self) -> tuple[list[Group], list[Group]]:
        """Returns the concepts in only one of the notes."""
        return (
            [self.ours[one] for one in self.ours if one not in self.partners],
            [self.theirs[one] for one in self.theirs if one not in self.back],
        )

    def either_way(self) -> tuple[tuple[ParsedNote, ParsedNote], tuple[ParsedNote, ParsedNote]]:
        return (self.first, self.second), (self.second, self.first)


def side_by_side(first: ParsedNote, second: ParsedNote, constants: Constants, service: frozenset[str]) -> Both:
    ours, theirs = grouped(first.terms, service), grouped(second.terms, service)
    partners = paired(ours, theirs, constants)
    return Both(first, second, ours, theirs, partners, {other: one for one, other in partners.items()})


def grouped(terms: Sequence[Term], service: frozenset[str]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    segments = len({term.segment for term in terms})
    for term in terms:
        group = groups.setdefault(
            term.concept, Group(term.concept, 0.0, set(), term.polar, term.shown, set(), term.is_name)
        )
        group.weight = max(group.weight, min(term.weight, WEAK_WEIGHT) if term.concept in service else term.weight)
        group.signs.add(term.sign)
        group.negated = group.negated or term.negated
        group.is_denied = group.is_denied or term.is_denied
        group.roles.add(term.role)
        group.segments = segments
    return groups


_NEIGHBOURS = (
    ("allow", "power"),
    ("power", "allow"),
    ("reach", "power"),
    ("power", "reach"),
    ("allow", "reach"),
    ("reach", "allow"),
    ("survival", "retention"),
    ("retention", "survival"),
)
"""Polar concepts of which one may be said for the other."""


def paired(ours: Mapping[str, Group], theirs: Mapping[str, Group], constants: Constants) -> dict[str, str]:
    """Returns the concept of the older note for each concept of the newer one: the same, or a word with the same
    beginning."""
    partners = {concept: concept for concept in ours if concept in theirs}
    alone = {one for one in ours if one not in theirs}, {one for one in theirs if one not in ours}
    partners |= {one: other for one, other in _NEIGHBOURS if one in alone[0] and other in alone[1]}
    free = [one for one in theirs if one not in partners.values() and not theirs[one].polar]
    for concept, group in ours.items():
        if concept in partners or group.polar or not free:
            continue
        alike = next((one for one in free if _alike(concept, one, constants)), None)
        if alike is not None:
            partners[concept] = alike
            free.remove(alike)
    return partners


def _alike(one: str, other: str, constants: Constants) -> bool:
    if not (one.isalpha() and other.isalpha()):
        return False
    least = max(constants.same_beginning, round(constants.same_beginning_share * max(len(one), len(other))))
    return one[:least] == other[:least] and min(len(one), len(other)) >= least
