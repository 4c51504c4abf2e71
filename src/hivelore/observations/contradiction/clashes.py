"""Contradictions of two notes by an order, by another name, or between one thing and all."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.doubts import excepts, word_denials
from hivelore.observations.contradiction.matches import Both, Clash, Group
from hivelore.observations.contradiction.statement import DENIAL, DENIAL_WITHOUT, Order, ParsedNote
from hivelore.observations.contradiction.words import EXCLUSIVE, ONLY


def denied(both: Both) -> Iterator[Clash]:
    """Each note affirms what the other denies."""
    older, newer = both.first, both.second
    ours = {term.concept for term in older.terms if term.sign > 0}
    theirs = {term.concept for term in newer.terms if term.sign > 0}
    here, there = older.denied & theirs - newer.denied, newer.denied & ours - older.denied
    if here and there:
        yield Clash(f"not {', '.join(sorted(here))} against not {', '.join(sorted(there))}")


_MANY = 2


def conceded(both: Both) -> Iterator[Clash]:
    """Returns an *even if* clash, in either order: the condition that the other note requires or forbids makes no
    difference."""
    for one, other in both.either_way():
        if any(term.concept == "need" and term.sign < 0 for term in other.terms):
            continue
        has_claim = bool(other.orders or other.denials) or _demands(other)
        if one.concedes and not other.concedes and len(word_denials(other)) < _MANY and has_claim:
            yield Clash("in one of them it makes no difference")
            return
        if one.unrelates and not other.unrelates:
            yield Clash("in one of them that is not why")
            return


def _demands(reading: ParsedNote) -> bool:
    return "only" in reading.words or any(term.concept == "need" and term.sign > 0 for term in reading.terms)


def restricted(both: Both) -> Iterator[Clash]:
    """Only this one, and all of them."""
    if any(excepts(one) or word_denials(one) for one in (both.first, both.second)):
        return
    for one, other in both.either_way():
        if ONLY.isdisjoint(one.words) or not ONLY.isdisjoint(other.words):
            continue
        names = both.partners if one is both.first else both.back
        alike = {names[said] for said in one.after_only if said in names} & other.after_all
        if alike:
            yield Clash(f"only against all: {', '.join(sorted(alike))}")
            return


def renamed(ours: list[Group], theirs: list[Group], constants: Constants) -> list[Clash]:
    """A name in the place of another one of its kind. Both are taken out: they are what clashes."""
    names, others = ([one for one in side if one.is_name] for side in (ours, theirs))
    if len(names) != 1 or len(others) != 1 or _shape(names[0].shown) != _shape(others[0].shown):
        return []
    ours.remove(names[0])
    theirs.remove(others[0])
    more = sum(one.weight for side in (ours, theirs) for one in side if one.signs != {-1})
    return [Clash(f"{names[0].shown} against {others[0].shown}", 1.0 if more < _LITTLE else constants.doubt)]


_LITTLE = 0.7


def excluded(ours: list[Group], theirs: list[Group]) -> Iterator[Clash]:
    """One thing in the place of another, where a service has one of them."""
    for group in list(ours):
        kind = next((one for one in EXCLUSIVE if group.concept in one), None)
        other = next((one for one in theirs if kind and one.concept in kind), None)
        if other is not None:
            ours.remove(group)
            theirs.remove(other)
            yield Clash(f"{group.shown} against {other.shown}")


def _shape(name: str) -> str:
    """Returns the kind of a name: its first character that is neither a letter nor a digit."""
    return next((sign for sign in name if not sign.isalnum() and sign not in "_-"), "")


def turned(ours: Sequence[Order], theirs: Sequence[Order], how: str, partners: Mapping[str, str]) -> Iterator[Clash]:
    for one in ours:
        earlier = {partners.get(concept, "") for concept in one.earlier}
        later = {partners.get(concept, "") for concept in one.later}
        for other in theirs:
            straight = len(earlier & other.earlier) + len(later & other.later)
            cross = (earlier & other.later) | (later & other.earlier)
            is_open = not (one.earlier and one.later and other.earlier and other.later)
            if (
                (cross and not straight)
                or (is_open and len(cross) > straight)
                or (earlier & other.later and later & other.earlier)
            ):
                yield Clash(f"what {how} what: {', '.join(sorted(cross))}")
                return


def swapped(both: Both) -> Iterator[Clash]:
    """Two things that have changed places: what was said of one is said of the other."""
    kinds, others = ([one.concept for one in side.denials] for side in (both.first, both.second))
    with_denials = sorted(kinds) == sorted(others)
    ours = _companies(both.first, both.partners, with_denials=with_denials)
    theirs = _companies(both.second, {one: one for one in both.back}, with_denials=with_denials)
    shared = [one for one in ours if one in theirs and one not in (DENIAL, DENIAL_WITHOUT)]
    for one, other in combinations(shared, 2):
        if ours[one] & {other} or theirs[one] & {other}:
            continue
        straight = (ours[one] & theirs[one]) | (ours[other] & theirs[other])
        cross = (ours[one] & theirs[other]) | (ours[other] & theirs[one])
        if len(cross) > len(straight) and (ours[one] & theirs[other]) and (ours[other] & theirs[one]):
            yield Clash(f"{one} and {other} have changed places")
            return


def _companies(reading: ParsedNote, names: Mapping[str, str], *, with_denials: bool) -> dict[str, frozenset[str]]:
    """Returns, for each item, the other items of its part of the sentence. Only items in one part count."""
    parts: dict[int, set[str]] = {}
    for term in reading.terms:
        if term.concept in names:
            sign = "" if term.sign >= 0 else "not "
            parts.setdefault(term.segment, set()).add(sign + names[term.concept])
    for quantity, place in zip(reading.quantities, reading.places, strict=True):
        parts.setdefault(place, set()).add(f"{quantity.dimension} {quantity.value}")
    for denial in reading.denials if with_denials else ():
        if denial.segment in parts and denial.concept in (DENIAL, DENIAL_WITHOUT):
            parts[denial.segment].add(denial.concept)
    often = [item for items in parts.values() for item in items]
    once = {item for item in often if often.count(item) == 1}
    return {item: frozenset((items & once) - {item}) for items in parts.values() for item in items & once}
