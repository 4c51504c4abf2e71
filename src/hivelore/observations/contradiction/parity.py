"""Parity of denials: finds statements of two notes that differ by one denial, in any wording.

*Not without it* is *only with it*, *not enabled* is *disabled*: an even number of denials cancels out. A clause is
counted with its condition and without it, because *fails unless* is *works if*, but a condition may also only state a
time. One note denies the other only if both counts agree.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hivelore.observations.contradiction.matches import Both
from hivelore.observations.contradiction.quantities import CODE, PORT, VERSION
from hivelore.observations.contradiction.statement import (
    DENIAL,
    DENIAL_OF_SAME,
    DENIAL_OF_WHICH,
    DENIAL_WITHOUT,
    ParsedNote,
    Role,
)
from hivelore.observations.contradiction.words import ANTONYMS, PREFIXES


@dataclass(frozen=True, slots=True)
class Odd:
    concepts: frozenset[str]
    """Concepts of the first note that one note denies and the other affirms."""
    share: float
    """Their share of the common terms by weight, 0 to 1."""


BOUNDED = ("retention", "allow", "survival")
"""Opposites that agree with a quantity: kept for, deleted after."""
_ALWAYS = (DENIAL, DENIAL_WITHOUT, "power", "reach")
"""Words that deny even if the other note has no opposite."""
_WITH_WITHOUT = ("outcome", "allow", "survival", "speed", "retention")
"""Words that deny with *without*, like ``_BAD``: *fails without it*."""
_BAD = ("error", "stuck")
_REFUSALS = ("allow", "outcome", "presence")
"""Words whose opposite has many forms."""


def odd(both: Both) -> Odd:
    first, second, partners = both.first, both.second, both.partners
    shared = {one for one, other in partners.items() if _sign(first, one) == _sign(second, other) == -1}
    theirs = {partners[one] for one in shared}
    bounded = BOUNDED if _has_amount(first) and _has_amount(second) else ()
    opposite = opposites(first.concepts - second.concepts, second.concepts - first.concepts)
    found: set[str] | None = None
    share = 0.0
    for is_whole in (False, True):
        here = _Denials({*_ALWAYS, *partners} - {*bounded}, shared, opposite.keys()).parities(first, is_whole)
        there = _Denials({*_ALWAYS, *both.back} - {*bounded}, theirs, ()).parities(second, is_whole)
        compared = [one for one, other in partners.items() if one in here and other in there]
        against = {one for one in compared if here[one] != there[partners[one]]}
        whole = sum(both.ours[one].weight for one in compared)
        share = sum(both.ours[one].weight for one in compared if one in against) / whole if whole else 0.0
        found = against if found is None else found & against
    return Odd(frozenset(one for one in found or () if _is_said(both, one)), share)


def _has_amount(reading: ParsedNote) -> bool:
    return any(one.dimension not in (VERSION, CODE, PORT) for one in reading.quantities)


def _is_said(both: Both, concept: str) -> bool:
    """Returns True if either note states it, and not only as a condition."""
    ours, theirs = both.ours[concept], both.theirs[both.partners[concept]]
    return not {Role.MAIN, Role.REASON}.isdisjoint(ours.roles | theirs.roles)


def _sign(reading: ParsedNote, concept: str) -> int:
    """Returns the used word of two opposites as 1 or -1; 0 for none or both."""
    found = {
        term.opposite
        for term in reading.terms
        if term.concept == concept and term.polar and term.role is not Role.OTHERWISE
    }
    return found.pop() if len(found) == 1 else 0


@dataclass(frozen=True, slots=True)
class _Denials:
    """The words that count as denials."""

    counted: Collection[str]
    shared: Collection[str]
    """The opposites that both say: they make no difference."""
    opposite: Collection[str]

    def parities(self, reading: ParsedNote, is_whole: bool) -> Mapping[str, int]:
        """Returns the parity of denials of each clause with the concept; clauses that cannot be counted are left out.
        ``is_whole``: with their conditions."""
        counts, unknown = self._counts(reading, is_whole)
        found: dict[str, set[int]] = {}
        for term in reading.terms:
            if term.role is not Role.OTHERWISE:
                place = term.unit if is_whole else term.segment
                parities = {0, 1} if place in unknown else {counts.get(place, 0) % 2}
                found.setdefault(term.concept, set()).update(parities)
        return {concept: next(iter(parities)) for concept, parities in found.items() if len(parities) == 1}

    def _counts(self, reading: ParsedNote, is_whole: bool) -> tuple[Mapping[int, int], set[int]]:
        """Returns the number of denials of each part, and the parts that cannot be counted."""
        counts: dict[int, int] = {}
        unknown: set[int] = set()
        said = [one for one in reading.denials if one.role is not Role.OTHERWISE]
        without = {one.unit for one in said if one.concept == DENIAL_WITHOUT}
        denied = {one.unit for one in said if one.concept == DENIAL}
        for one in said:
            place = one.unit if is_whole else one.segment
            if one.said_by in self.shared or one.concept == DENIAL_OF_WHICH:
                continue
            if one.concept in self.counted or (one.concept in _WITH_WITHOUT and one.unit in without):
                counts[place] = counts.get(place, 0) + 1
            elif one.concept == DENIAL_OF_SAME or one.unit in denied or one.concept in _REFUSALS:
                # Not lowered: the other one may have said it in a word that is not known to be the opposite.
                unknown.add(place)
        for concept, segment, unit in reading.places_of:
            if concept in self.opposite or (concept in _BAD and unit in without):
                place = unit if is_whole else segment
                counts[place] = counts.get(place, 0) + 1
        return counts, unknown


def opposites(ours: Collection[str], theirs: Collection[str]) -> Mapping[str, str]:
    """Returns pairs of opposites, one in each note only."""
    pairs: dict[str, str] = {}
    left = set(theirs)
    for one in sorted(ours):
        other = min(left & _opposites_of(one), default=None)
        if other is not None:
            pairs[one] = other
            left.remove(other)
    return pairs


def _opposites_of(word: str) -> set[str]:
    bare = {word.removeprefix(prefix) for prefix in PREFIXES} - {word}
    return {*ANTONYMS.get(word, ()), *bare, *(prefix + word for prefix in PREFIXES)}
