"""Statements that one of two notes denies and the other affirms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.doubts import deny_the_same, says_over, word_denials
from hivelore.observations.contradiction.matches import ONE_EACH, Both, Clash, Group
from hivelore.observations.contradiction.negation import NO_DENIALS
from hivelore.observations.contradiction.parity import BOUNDED, Odd
from hivelore.observations.contradiction.quantities import SPAN
from hivelore.observations.contradiction.statement import ParsedNote, Role, Term
from hivelore.observations.contradiction.words import MUST, POLAR_WEIGHT, WEIGHT

_COMPARED = ("speed", "amount")
"""Words that compare two things; their place determines the order."""
_WITH_SPAN = ("retention", "allow")
"""Kept for ten days and deleted after ten days are the same, so are accepted up to and refused beyond 25 MB."""


@dataclass(slots=True)
class _Opposed:
    """The findings so far."""

    shown: list[str] = field(default_factory=list[str])
    weight: float = 0.0
    said: float = 0.0
    is_denied: bool = False
    is_odd: bool = False


def polarity(both: Both, odd: Odd, constants: Constants, *, agrees: bool, is_twisted: bool) -> Iterator[Clash]:
    """Returns the clash of polarity. ``agrees``: the notes have a common quantity. ``is_twisted``: they may agree."""
    is_over = says_over(both.first) is not says_over(both.second)
    same_denials = deny_the_same(both)
    has_denials = bool(word_denials(both.first) or word_denials(both.second))
    compares = bool(both.first.flows or both.second.flows)
    one_has_span = _has_span(both.first) is not _has_span(both.second)
    found = _Opposed()
    for concept, partner in both.partners.items():
        one, other = both.ours[concept], both.theirs[partner]
        signs, others = one.signs - {0}, other.signs - {0}
        if len(signs) != 1 or len(others) != 1 or {Role.OTHERWISE} in (one.roles, other.roles):
            continue
        found.said += one.weight
        if signs == others:
            if concept in _WITH_SPAN and one_has_span and one.negated != other.negated:
                yield Clash(f"{one.shown} against {other.shown}, once denied", constants.denied)
            continue
        is_limit = concept == "retention" or (concept == "allow" and is_over)
        if is_limit and agrees and not (one.negated or other.negated):
            continue
        if (concept in _COMPARED and compares) or _is_said_of_others(both, concept):
            continue
        is_odd = concept in odd.concepts
        if one.polar and other.polar:
            is_free = not has_denials and concept in (*BOUNDED, *NO_DENIALS)
            is_plain = is_odd and not (one.negated or other.negated)
            doubtful = is_twisted or not (is_odd or is_free) or (same_denials and not is_plain)
            # That something is needed stands in nearly every note: it has to be all of it that is denied.
            doubtful = doubtful or (concept == "need" and odd.share < constants.odd_share)
            doubtful = doubtful or (agrees and not is_odd and _has_span_of_its_own(concept, one, other))
            yield Clash(f"{one.shown} against {other.shown}", constants.doubt if doubtful else 1.0)
            found.is_odd = found.is_odd or is_free
        _add(found, one, other, is_odd=is_odd)
    if found.shown:
        is_certain = found.is_odd and not is_twisted and not same_denials and not _only_differs(both)
        yield _told(found, constants, is_certain=is_certain)


def _has_span(reading: ParsedNote) -> bool:
    return any(one.dimension == SPAN for one in reading.quantities)


def _has_span_of_its_own(concept: str, one: Group, other: Group) -> bool:
    return concept in _WITH_SPAN and one.segments + other.segments > ONE_EACH


def _add(found: _Opposed, one: Group, other: Group, *, is_odd: bool) -> None:
    found.weight += one.weight
    found.shown.append(one.shown)
    found.is_odd = found.is_odd or is_odd
    is_head = bool((one.is_denied or other.is_denied) and one.roles & other.roles)
    found.is_denied = found.is_denied or is_head or (is_odd and one.weight >= POLAR_WEIGHT)


def _told(found: _Opposed, constants: Constants, *, is_certain: bool) -> Clash:
    strength = max(found.weight / found.said, constants.denied if found.is_denied else 0.0)
    if not is_certain:
        strength = min(strength, constants.doubt)
    return Clash(f"said of {', '.join(found.shown)} in one and denied in the other", strength)


def _only_differs(both: Both) -> bool:
    """*Only while it is stopped* is *not while it runs*."""
    readings = (both.first, both.second)
    both_conditional = all(any(term.role is Role.CONDITION for term in one.terms) for one in readings)
    return both_conditional and ("only" in both.first.words) is not ("only" in both.second.words)


def _is_said_of_others(both: Both, concept: str) -> bool:
    """Returns True if the notes speak of different things, both of which one note mentions."""
    here = _workers(both.first, concept, {})
    there = _workers(both.second, both.partners[concept], both.back)
    only_here, only_there = here - there, there - here
    if not (only_here and only_there):
        return False
    said_there = {both.back.get(one, one) for one in both.theirs}
    return not only_here.isdisjoint(said_there) or not only_there.isdisjoint(both.ours)


def _workers(reading: ParsedNote, concept: str, names: Mapping[str, str]) -> set[str]:
    """Returns the words next to a concept, at every place."""
    parts = {term.segment for term in reading.terms if term.concept == concept}
    return {
        names.get(one.concept, one.concept)
        for one in reading.terms
        if one.segment in parts
        and one.concept != concept
        and not one.polar
        and (one.weight >= WEIGHT or one.role is Role.REASON)
    }


_TWO = 2


def mixed(both: Both) -> Iterator[Clash]:
    """Compares a concept that one note affirms of one thing and denies of another, where both notes speak of the same
    thing."""
    for reading, groups, others, names, back in (
        (both.first, both.ours, both.second, both.partners, both.back),
        (both.second, both.theirs, both.first, both.back, both.partners),
    ):
        for concept, group in groups.items():
            if not group.polar or len(group.signs - {0}) < _TWO or concept not in names:
                continue
            for term in others.terms:
                if term.concept != names[concept] or not term.sign:
                    continue
                company = {back.get(one, one) for one in _company(others, term)}
                said = [one for one in reading.terms if one.concept == concept and one.sign]
                shared = sorted(
                    ((len(_company(reading, one) & company), at) for at, one in enumerate(said)), reverse=True
                )
                best = said[shared[0][1]]
                is_there = shared[0][0] >= _TWO and shared[0][0] > shared[1][0]
                if is_there and best.sign != term.sign:
                    yield Clash(f"{best.shown} against {term.shown}")
                    return


def _company(reading: ParsedNote, term: Term) -> set[str]:
    return {
        one.concept for one in reading.terms if one.segment == term.segment and not one.polar and one.weight >= WEIGHT
    }


def gone(both: Both, constants: Constants, *, is_certain: bool) -> Iterator[Clash]:
    """Returns a clash of *off* with a note about a running thing that does not mention *on*."""
    for reading, others, names in (
        (both.first, both.theirs, both.partners),
        (both.second, both.ours, both.back),
    ):
        for term in reading.terms:
            is_off = term.concept in ("power", "reach") or (term.concept == "need" and term.shown not in MUST)
            if not is_off or term.sign >= 0 or term.concept in names or term.role is Role.OTHERWISE:
                continue
            company = [names[one] for one in _company(reading, term) if one in names]
            if company and all(others[one].signs == {1} for one in company):
                has_more = any(one not in names.values() and others[one].weight >= POLAR_WEIGHT for one in others)
                strength = constants.denied if is_certain and not has_more else constants.doubt
                yield Clash(f"{term.shown} in one of them only", strength)
                return
