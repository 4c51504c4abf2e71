"""Numbers that are written in several words: two and a half, twenty-five, ten thousand, three quarters of."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hivelore.observations.contradiction.pieces import Kind, Piece
from hivelore.observations.contradiction.units import FRACTIONS, HALF, PARTS_ALONE, SCALES, SPANS, WORDS


class Numeral(NamedTuple):
    value: float
    after: int
    """The following piece."""


NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)(.*)", re.DOTALL)
"""Digits with attached letters."""
_FIRST_TEN, _HUNDRED, _THOUSAND = 20.0, 100.0, 1_000.0
_GROUP = "000"
_MOST = 1e15
"""Nobody counts on from here; *million* over and over is no number."""


def digits_value(digits: str) -> float:
    """Returns the value of digits with a comma or a point: 10,000, 1,5, 2.5."""
    if "," in digits:
        whole, _, part = digits.partition(",")
        digits = digits.replace(",", "") if len(part) >= 3 else f"{whole}.{part}"
    return float(digits[:30])


def counted_on(pieces: Sequence[Piece], value: float, after: int) -> Numeral:
    """Returns the number extended by the pieces from ``after``: thousand five hundred, and a half, 000."""
    if _text(pieces, after) == _GROUP:
        value, after = value * _THOUSAND, after + 1
    whole, rest, least = 0.0, value, _MOST
    while scale := SCALES.get(_text(pieces, after)):
        if scale < _THOUSAND and rest < _THOUSAND:
            rest *= scale
        elif scale < least:
            whole, rest, least = whole + rest * scale, 0.0, scale
        else:
            break
        rest, after = _added(pieces, rest, after + 1, below=scale)
    value = whole + rest
    if [_text(pieces, at) for at in (after, after + 1)] == ["and", "a"] and _text(pieces, after + 2) in FRACTIONS:
        return Numeral(value + FRACTIONS[_text(pieces, after + 2)], after + 3)
    return Numeral(value, after)


def in_words(pieces: Sequence[Piece], at: int) -> Numeral | None:
    """Returns the number that begins with this word."""
    value = WORDS.get(_text(pieces, at))
    if value is None:
        return None
    return counted_on(pieces, *_added(pieces, value, at + 1, below=_ten(value)))


def _ten(value: float) -> float:
    """Returns a numeral that may be added to a number: twenty *five*, hundred *fifty*."""
    return 10.0 if value % 10 == 0 and _FIRST_TEN <= value < _HUNDRED else value if value == _HUNDRED else 0.0


def _added(pieces: Sequence[Piece], value: float, after: int, below: float) -> Numeral:
    """Twenty *five*, a hundred *and fifty*, a thousand *twenty-five*."""
    at = after + 1 if below >= _HUNDRED and _text(pieces, after) == "and" else after
    word = _text(pieces, at)
    more = WORDS.get(word, 0.0)
    if not 1 <= more < below or below == SCALES["dozen"] or word in _ARTICLES:
        return Numeral(value, after)
    return _added(pieces, value + more, at + 1, below=_ten(more))


_ARTICLES = frozenset(("a", "an", "un", "une", "una", "ein", "eine", "einer"))


def number_at(pieces: Sequence[Piece], at: int) -> Numeral | None:
    """Returns a number in digits or words, without its unit."""
    if _kind(pieces, at) is not Kind.NUMBER:
        return in_words(pieces, at)
    match = NUMBER.fullmatch(_text(pieces, at))
    return Numeral(digits_value(match[1]), at + 1) if match else None


def unit_of(pieces: Sequence[Piece], at: int, after: int) -> tuple[str, int]:
    """Returns the possible unit of the number from ``at`` to ``after``, and the following piece."""
    match = NUMBER.fullmatch(_text(pieces, at))
    return (match[2], after) if match and match[2] else (_text(pieces, after), after + 1)


def share_of(pieces: Sequence[Piece], at: int) -> Numeral | None:
    """The part of a whole that begins here, and where the whole stands: half an hour, a third of the disk."""
    number = in_words(pieces, at)
    times, after = number or Numeral(1.0, at)
    part = _text(pieces, after)
    if part not in FRACTIONS or (number is None and part not in PARTS_ALONE):
        return None
    after += 1
    if _text(pieces, after) == "of":
        after += 1
    elif part not in HALF and _text(pieces, after) not in SPANS:
        return None
    return Numeral(times * FRACTIONS[part], after)


def _text(pieces: Sequence[Piece], at: int) -> str:
    return pieces[at].text if 0 <= at < len(pieces) else ""


def _kind(pieces: Sequence[Piece], at: int) -> Kind | None:
    return pieces[at].kind if 0 <= at < len(pieces) else None
