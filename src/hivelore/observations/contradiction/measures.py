"""Quantities of two notes: which agree, and which contradict each other."""

from hivelore.core.values import replace
from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.matches import Clash
from hivelore.observations.contradiction.quantities import (
    CLOCK,
    CODE,
    COUNT,
    PERCENT,
    PORT,
    RATE,
    SIZE,
    SPAN,
    VERSION,
    Quantity,
)
from hivelore.observations.contradiction.statement import DENIAL, ParsedNote, Role
from hivelore.observations.contradiction.words import MEANINGS, stems


def measured(
    older: ParsedNote, newer: ParsedNote, constants: Constants
) -> tuple[tuple[str, ...], tuple[list[Quantity], list[Quantity]], list[Clash]]:
    """Returns the quantities that agree, those in one note only, and the contradictions."""
    left = list(newer.quantities)
    unmatched: list[Quantity] = []
    agreeing: list[str] = []
    for one in older.quantities:
        same = next((other for other in left if _agree(one, other, constants)), None)
        if same is None and one.dimension == COUNT and not any(_comparable(one, other) for other in left):
            same = next((other for other in left if other.dimension == COUNT and other.value == one.value), None)
        if same is None:
            unmatched.append(one)
        else:
            left.remove(same)
            agreeing.append(f"{one.shown} = {same.shown}")
    unmatched = _but_for_what_is_said_twice(unmatched, older, constants)
    left = _but_for_what_is_said_twice(left, newer, constants)
    clashes: list[Clash] = []
    too_much = ("too" in older.words) is not ("too" in newer.words)
    denied, others = _denied_places(older), _denied_places(newer)
    for one in list(unmatched):
        other = next((other for other in left if one.dimension == other.dimension and _comparable(one, other)), None)
        if other is not None:
            unmatched.remove(one)
            left.remove(other)
            near = _near(one, other, constants) or too_much or (one.at in denied) is not (other.at in others)
            clashes.append(
                Clash(f"{one.dimension} {one.shown} against {other.shown}", constants.doubt if near else 1.0, True)
            )
    if len({clash.why.split()[0] for clash in clashes}) > 1:
        # Where quantities of two kinds differ, the two are rather about two cases.
        clashes = [replace(clash, strength=constants.doubt) for clash in clashes]
    return tuple(agreeing), (unmatched, left), clashes


def _but_for_what_is_said_twice(alone: list[Quantity], reading: ParsedNote, constants: Constants) -> list[Quantity]:
    """Drops a quantity that the other note has in another form: four times a minute, each 15 seconds."""
    places = {one.at for one in alone}
    matched = [one for one in reading.quantities if one.at not in places]
    return [one for one in alone if not any(_agree(one, other, constants) for other in matched)]


def denies_count(older: ParsedNote, newer: ParsedNote) -> bool:
    """Returns True for *not two of them*, which may be only one."""
    return _denies_count(older, newer) or _denies_count(newer, older)


def _denies_count(reading: ParsedNote, other: ParsedNote) -> bool:
    denied = _denied_parts(reading)
    counts = {
        one.value
        for one, at in zip(reading.quantities, reading.places, strict=True)
        if one.dimension == COUNT and at in denied
    }
    others = {one.value for one in other.quantities if one.dimension == COUNT}
    return bool(counts) and bool(others) and counts.isdisjoint(others)


def _denied_places(reading: ParsedNote) -> set[int]:
    parts = _denied_parts(reading)
    return {one.at for one, part in zip(reading.quantities, reading.places, strict=True) if part in parts}


def _denied_parts(reading: ParsedNote) -> set[int]:
    return {one.segment for one in reading.denials if one.concept == DENIAL and one.role is not Role.OTHERWISE}


COUNTED = (COUNT, PORT, VERSION, CLOCK)


def _comparable(one: Quantity, other: Quantity) -> bool:
    if {one.dimension, other.dimension} == {RATE, SPAN}:
        return True
    if {one.dimension, other.dimension} == {COUNT, SIZE}:
        return (one if one.dimension == SIZE else other).shown.endswith("k")  # 10k may be ten thousand of anything
    if one.dimension != other.dimension:
        return False
    if one.dimension == COUNT:
        return not one.noun or not other.noun or _concept(one.noun) == _concept(other.noun)
    return True


def _concept(noun: str) -> str:
    meaning = MEANINGS.get(stems(noun))
    return meaning.concept if meaning else "".join(stems(noun))


def _agree(one: Quantity, other: Quantity, constants: Constants) -> bool:
    if not _comparable(one, other):
        return False
    if isinstance(one.value, str) or isinstance(other.value, str):
        return _same_text(str(one.value), str(other.value))
    return _apart(one, other) <= (constants.about if one.about or other.about else _exact(one, constants))


def _exact(one: Quantity, constants: Constants) -> float:
    return {SPAN: constants.same_span, SIZE: constants.same_size}.get(one.dimension, 0.0)


def _same_text(one: str, other: str) -> bool:
    """A date without a year is every year's."""
    return (
        one == other
        or (len(one) > len(other) == 5 and one.endswith(other))
        or (len(other) > len(one) == 5 and other.endswith(one))
    )


def _apart(one: Quantity, other: Quantity) -> float:
    """Returns the difference as a share of the smaller quantity."""
    first, second = abs(float(one.value)), abs(float(other.value))
    if one.dimension != other.dimension:
        # Six times a minute is every ten seconds.
        first, second = (_turned(value, by) for value, by in ((first, one), (second, other)))
    least, most = sorted((first, second))
    if least == most:
        return 0.0
    return (most - least) / least if least else float("inf")


def _turned(value: float, of: Quantity) -> float:
    return 1.0 / value if of.dimension == RATE and value else value


def _near(one: Quantity, other: Quantity, constants: Constants) -> bool:
    """Too near to each other to say that they differ, and too far to say that they agree."""
    if isinstance(one.value, str) or isinstance(other.value, str) or one.dimension in (COUNT, CODE, RATE, PERCENT):
        return False
    return _apart(one, other) <= constants.surely_other
