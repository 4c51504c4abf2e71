"""Comparison of two notes: how much of each the other contains, and where they clash."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from hivelore.core.values import replace
from hivelore.observations.contradiction.clashes import (
    conceded,
    denied,
    excluded,
    renamed,
    restricted,
    swapped,
    turned,
)
from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.doubts import is_twisted
from hivelore.observations.contradiction.matches import Both, Clash, Group, side_by_side
from hivelore.observations.contradiction.measures import COUNTED, measured
from hivelore.observations.contradiction.parity import Odd, odd, opposites
from hivelore.observations.contradiction.polarity import gone, mixed, polarity
from hivelore.observations.contradiction.quantities import VERSION
from hivelore.observations.contradiction.statement import ParsedNote, Role


@dataclass(frozen=True, slots=True)
class Comparison:
    first_covered: float
    """Share of the first note that the second contains, 0 to 1, by weight; and the reverse."""
    second_covered: float
    first_alone: float
    """Weight of terms that only the first note contains in its main clauses."""
    second_alone: float
    clashes: tuple[Clash, ...]
    agreeing: tuple[str, ...]
    """Equal quantities, as written."""
    quantities_alone: tuple[int, int]
    is_partly_counted: bool
    """True if one note has another count, port or version in addition to one that agrees."""
    shared: float
    """Weight of common terms."""
    only: tuple[str, ...]
    """Words that only one note contains."""


def compare(
    first: ParsedNote, second: ParsedNote, constants: Constants, service: frozenset[str] = frozenset()
) -> Comparison:
    """``service``: the concepts that name it; a note may leave them out."""
    both = side_by_side(first, second, constants, service)
    agreeing, left, measures = measured(first, second, constants)
    is_partly_counted = bool(agreeing) and any(one.dimension in COUNTED for side in left for one in side)
    twisted = is_partly_counted or is_twisted(both, agrees=bool(agreeing))
    denial = odd(both)
    clashes = [*measures, *_clashes(both, denial, constants, agrees=bool(agreeing), twisted=twisted)]
    only = _alone(both)
    here, there = _weight(only[0]), _weight(only[1])
    clashes += renamed(*only, constants)
    clashes += excluded(*only)
    here, there = here - _weight(only[0]), there - _weight(only[1])
    first_alone, second_alone = _main(only[0]), _main(only[1])
    if denial.concepts and denial.share >= constants.odd_share:
        is_certain = not twisted and len(agreeing) < _MANY
        clashes.append(_odd(denial, sorted((first_alone, second_alone)), constants, is_certain=is_certain))
    shared = sum(both.ours[one].weight for one in both.partners)
    return Comparison(
        first_covered=_share(shared, both.ours, here),
        second_covered=_share(sum(both.theirs[one].weight for one in both.back), both.theirs, there),
        first_alone=first_alone,
        second_alone=second_alone,
        clashes=tuple(_of_two_versions(clashes, constants)),
        agreeing=agreeing,
        quantities_alone=(len(left[0]), len(left[1])),
        is_partly_counted=is_partly_counted,
        shared=shared,
        only=tuple(one.shown for side in only for one in side),
    )


_MANY = 2


def _of_two_versions(clashes: list[Clash], constants: Constants) -> list[Clash]:
    """Broken in 2.3, fixed in 2.4: where the versions differ, too, both may well be so."""
    of_versions = [one for one in clashes if one.is_measure and one.why.startswith(VERSION)]
    if not of_versions or all(one.is_measure for one in clashes):
        return clashes
    return [replace(one, strength=min(one.strength, constants.doubt)) for one in clashes]


def _clashes(both: Both, denial: Odd, constants: Constants, *, agrees: bool, twisted: bool) -> Iterator[Clash]:
    yield from polarity(both, denial, constants, agrees=agrees, is_twisted=twisted)
    yield from turned(both.first.orders, both.second.orders, "comes before", both.partners)
    yield from turned(both.first.flows, both.second.flows, "goes to", both.partners)
    yield from swapped(both)
    yield from mixed(both)
    yield from gone(both, constants, is_certain=bool(denial.concepts) and not twisted)
    yield from denied(both)
    yield from conceded(both)
    yield from restricted(both)


def _alone(both: Both) -> tuple[list[Group], list[Group]]:
    """Returns the weight of words in one note only, without opposites, which clash instead."""
    ours, theirs = both.alone()
    opposed = opposites([one.concept for one in ours], [one.concept for one in theirs])
    others = set(opposed.values())
    return [one for one in ours if one.concept not in opposed], [one for one in theirs if one.concept not in others]


def _odd(denial: Odd, alone: list[float], constants: Constants, *, is_certain: bool) -> Clash:
    """Everything that both notes state is denied in one of them. A word in one note only may be an unknown denial."""
    is_certain = is_certain and alone[0] < constants.odd_alone and alone[1] < constants.odd_more
    strength = constants.clash if is_certain else constants.doubt
    return Clash(f"{', '.join(sorted(denial.concepts))} denied in one of them", strength)


def _weight(groups: Collection[Group]) -> float:
    return sum(one.weight for one in groups)


def _share(weight: float, groups: Mapping[str, Group], without: float) -> float:
    """Returns the covered share. ``without``: weight of words that replace others."""
    whole = sum(group.weight for group in groups.values()) - without
    return weight / whole if whole else 1.0


def _main(groups: Collection[Group]) -> float:
    return sum(group.weight for group in groups if Role.MAIN in group.roles or Role.CONDITION in group.roles)
