"""Denials after which two notes may still agree.

Such a pair is uncertain rather than a contradiction: a note speaks of the opposite case, or uses a word that may deny
as well.
"""

from collections.abc import Sequence

from hivelore.observations.contradiction.matches import Both
from hivelore.observations.contradiction.measures import denies_count
from hivelore.observations.contradiction.statement import (
    DENIAL,
    DENIAL_OF_WHICH,
    DENIAL_WITHOUT,
    Denial,
    ParsedNote,
    Role,
)
from hivelore.observations.contradiction.words import AFTER, BEFORE, EXCEPT, HINTS, OVER, POLAR_WEIGHT, WEIGHT, words_of


def is_twisted(both: Both, *, agrees: bool) -> bool:
    """Returns True if the notes may agree despite a denial. ``agrees``: they have a common quantity."""
    first, second = both.first, both.second
    if first.concedes is not second.concedes:
        return True
    if excepts(first) is not excepts(second) or _has_purpose(first) is not _has_purpose(second):
        return True
    if _count_which(first) != _count_which(second):
        return True
    denials = word_denials(first), word_denials(second)
    if len(denials[0]) != len(denials[1]) and _is_before(first) + _is_before(second) == 0 != _is_before(first):
        # Not after it: before it.
        return True
    if any(denials) and all(one.role is Role.CONDITION for side in denials for one in side):
        # When it does not answer, restart it: a restart makes it answer.
        return True
    return (
        denies_count(first, second)
        or _only_for_not(first, second)
        or _only_for_not(second, first)
        or _may_deny(both)
        or _of_the_opposite(both, agrees)
    )


def _count_which(reading: ParsedNote) -> int:
    """Returns the number of denials that only select which one is meant."""
    return sum(one.concept == DENIAL_OF_WHICH and one.role is not Role.OTHERWISE for one in reading.denials)


def _is_before(reading: ParsedNote) -> int:
    """1: something is before something, -1: something is after something, 0: neither or both."""
    return (not BEFORE.isdisjoint(reading.concepts)) - (not AFTER.isdisjoint(reading.concepts))


def word_denials(reading: ParsedNote) -> Sequence[Denial]:
    """Returns the denials by a word that only denies, outside of opposite cases."""
    return [
        one for one in reading.denials if one.concept in (DENIAL, DENIAL_WITHOUT) and one.role is not Role.OTHERWISE
    ]


def excepts(reading: ParsedNote) -> bool:
    return not EXCEPT.isdisjoint(reading.words)


def says_over(reading: ParsedNote) -> bool:
    return not OVER.isdisjoint(reading.words)


def _has_purpose(reading: ParsedNote) -> bool:
    """To keep it, do this: without this it is lost."""
    return reading.words[:1] == ("to",) or reading.words[:2] == ("in", "order")


def deny_the_same(both: Both) -> bool:
    """Each denial of the one has one of the other that is about the same, in other words or further down."""
    ours = [{both.partners.get(one, "") for one in about} for about in _denied(both.first)]
    theirs = _denied(both.second)
    if not ours or len(ours) != len(theirs):
        return False
    return all(any(one & other for other in theirs) for one in ours) and all(
        any(one & other for one in ours) for other in theirs
    )


def _denied(reading: ParsedNote) -> list[set[str]]:
    return [
        {term.concept for term in reading.terms if term.segment == one.segment and term.weight >= WEIGHT}
        for one in word_denials(reading)
    ]


_TIMES = words_of("after before when while if once during until at outside on with")


def _only_for_not(one: ParsedNote, other: ParsedNote) -> bool:
    """Only when it is stopped: not while it runs."""
    places = [at for at, word in enumerate(one.words) if word == "only"]
    limits = any(not _TIMES.isdisjoint(one.words[at + 1 : at + 4]) for at in places)
    return limits and len(word_denials(one)) < len(word_denials(other))


def _may_deny(both: Both) -> bool:
    """Returns True if the note with fewer denials has another word that denies: *loses it*, *it does not survive*. The
    word may be unknown if the note has no word for the denied concept."""
    here, there = len(word_denials(both.first)), len(word_denials(both.second))
    if here == there:
        return False
    alone = both.alone()[here > there]
    if any((one.polar and one.weight >= POLAR_WEIGHT and -1 in one.signs) or one.concept in HINTS for one in alone):
        return True
    known = both.back if there > here else both.partners
    denied = frozenset[str]().union(*(one.reached for one in word_denials(both.second if there > here else both.first)))
    has_more = sum(one.weight for one in alone if not one.is_name) >= POLAR_WEIGHT
    return bool(denied) and denied.isdisjoint(known) and has_more


def _of_the_opposite(both: Both, agrees: bool) -> bool:
    """One note describes a case and the other the opposite case; or one until a limit, the other from it on."""
    is_over = says_over(both.first) is not says_over(both.second)
    for concept, partner in both.partners.items():
        one, other = both.ours[concept], both.theirs[partner]
        if (one.roles == {Role.OTHERWISE}) is not (other.roles == {Role.OTHERWISE}):
            return True
        is_limit = concept == "retention" or (concept == "allow" and is_over)
        if is_limit and agrees and one.signs | other.signs == {1, -1}:
            return True
    return False
