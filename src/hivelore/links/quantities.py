"""Durations, sizes and percentages in a text."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hivelore.core.text import in_one_line

READ = 2_000
"""Characters of a statement that are read."""

_UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "毫秒"), ("time", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sekunde", "sekunden", "秒"), ("time", 1.0)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten", "分钟"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunde", "stunden", "小时"), ("time", 3_600.0)),
    **dict.fromkeys(("d", "day", "days", "tag", "tage", "tagen", "天"), ("time", 86_400.0)),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "周"), ("time", 604_800.0)),
    **dict.fromkeys(("byte", "bytes"), ("size", 1.0)),
    **dict.fromkeys(("kb", "kib"), ("size", 1_024.0)),
    **dict.fromkeys(("mb", "mib", "megabyte", "megabytes"), ("size", 1_024.0**2)),
    **dict.fromkeys(("gb", "gib", "gigabyte", "gigabytes"), ("size", 1_024.0**3)),
    **dict.fromkeys(("tb", "tib", "terabyte", "terabytes"), ("size", 1_024.0**4)),
    **dict.fromkeys(("%", "percent", "prozent"), ("percent", 1.0)),
}
_COUNTING = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_COUNTING, 1)}}
_NUMBER = rf"(?!\d{{1,3}}\.\d{{3}}(?!\d))\d{{1,12}}(?:,\d{{3}}){{0,3}}(?:\.\d{{1,6}})?|(?:{'|'.join(_WORDS)})(?=\s)"
"""Not ``1.500``, which is fifteen hundred in German."""
_UNIT = "|".join(sorted((re.escape(unit) for unit in _UNITS), key=len, reverse=True))
_ABOUT = r"(?:(?:about|around|roughly|approx\.?|approximately|ca\.?|circa|etwa|rund|~|约|大约)\s?)?"
_QUANTITY = re.compile(rf"(?<![\w.,:/-]){_ABOUT}({_NUMBER})\s?({_UNIT})(?![\w/])(?!-\w)", re.IGNORECASE | re.ASCII)
_PLACE = "\0"


class Quantity(NamedTuple):
    shown: str
    kind: str
    """``time``, ``size`` or ``percent``."""
    value: float
    """In seconds, bytes or percent."""


def quantities(text: str) -> Sequence[Quantity]:
    return [_quantity(found) for found in _QUANTITY.finditer(text[:READ])]


def without_quantities(text: str) -> tuple[str, Sequence[Quantity]]:
    """Returns the text in lower case, with a mark in place of each quantity, and the quantities."""
    line = in_one_line(text).casefold().rstrip(".!")
    if len(line) > READ:
        return line, ()
    return _QUANTITY.sub(_PLACE, line), quantities(line)


def _quantity(found: re.Match[str]) -> Quantity:
    kind, factor = _UNITS[found[2].lower()]
    number = found[1].lower().replace(",", "")
    value = float(_WORDS[number]) if number in _WORDS else float(number)
    return Quantity(found[0], kind, value * factor)
