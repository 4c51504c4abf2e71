"""Whether what two notes say of the same thing differs by one denial, however it is worded.

*Not without it* is *only with it*, *not enabled* is *disabled*: an even number of denials is none. A clause is read
twice, with its condition and without it, because *fails unless* is *works if*, but a condition may as well only say
when; one denies what the other says only if it does so in both readings.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hivelore.observations.contradiction.matching import Both
from hivelore.observations.contradiction.quantities import CODE, PORT, VERSION
from hivelore.observations.contradiction.statement import (
    DENIAL,
    DENIAL_OF_SAME,
    DENIAL_OF_WHICH,
    DENIAL_WITHOUT,
    Reading,
    Role,
)
from hivelore.observations.contradiction.words import ANTONYMS, PREFIXES


@dataclass(frozen=True, slots=True)
class Odd:
    concepts: frozenset[str]
    """Of the first one: what the one denies and the other says."""
    share: float
    """Theirs of what both say, by weight, 0 to 1."""


BOUNDED = ("retention", "allow", "survival")
"""With a quantity, one of two opposites says the same as the other: kept for, deleted after."""
_ALWAYS = (DENIAL, DENIAL_WITHOUT, "power", "reach")
"""What denies even where the other one has no word for the opposite."""
_WITH_WITHOUT = ("outcome", "allow", "survival", "speed", "retention")
"""What denies where it is said of going without something, as does ``_BAD``: *fails without it*."""
_BAD = ("error", "stuck")
_REFUSALS = ("allow", "outcome", "presence")
"""Of these one may say the opposite in many words."""


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
        told = [one for one, other in partners.items() if one in here and other in there]
        against = {one for one in told if here[one] != there[partners[one]]}
        whole = sum(both.ours[one].weight for one in told)
        share = sum(both.ours[one].weight for one in told if one in against) / whole if whole else 0.0
        found = against if found is None else found & against
    return Odd(frozenset(one for one in found or () if _is_said(both, one)), share)


def _has_amount(reading: Reading) -> bool:
    return any(one.dimension not in (VERSION, CODE, PORT) for one in reading.quantities)


def _is_said(both: Both, concept: str) -> bool:
    """In either of the two, and not only as a condition."""
    ours, theirs = both.ours[concept], both.theirs[both.partners[concept]]
    return not {Role.MAIN, Role.REASON}.isdisjoint(ours.roles | theirs.roles)


def _sign(reading: Reading, concept: str) -> int:
    """Which of two opposites its word is; 0 where it has none or both."""
    found = {
        term.opposite
        for term in reading.terms
        if term.concept == concept and term.polar and term.role is not Role.OTHERWISE
    }
    return found.pop() if len(found) == 1 else 0


@dataclass(frozen=True, slots=True)
class _Denials:
    """Which words count."""

    counted: Collection[str]
    shared: Collection[str]
    """The opposites that both say: they make no difference."""
    opposite: Collection[str]

    def parities(self, reading: Reading, is_whole: bool) -> Mapping[str, int]:
        """Whether the clauses that a concept stands in have an odd number of denials; nothing where it cannot be
        told. ``is_whole``: with their conditions."""
        counts, unknown = self._counts(reading, is_whole)
        found: dict[str, set[int]] = {}
        for term in reading.terms:
            if term.role is not Role.OTHERWISE:
                place = term.unit if is_whole else term.segment
                parities = {0, 1} if place in unknown else {counts.get(place, 0) % 2}
                found.setdefault(term.concept, set()).update(parities)
        return {concept: next(iter(parities)) for concept, parities in found.items() if len(parities) == 1}

    def _counts(self, reading: Reading, is_whole: bool) -> tuple[Mapping[int, int], set[int]]:
        """How many denials each part has, and of which parts that cannot be told."""
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
    """Which of the words that only the one has is the opposite of which that only the other one has."""
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
