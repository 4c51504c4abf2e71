"""Quantities in a note: how much of what, in one unit each, however they are written.

Seconds for spans of time, bytes for sizes. What recurs is a span, too: every 6 hours, four times a day.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hivelore.policies.truth.pieces import Kind, Piece
from hivelore.policies.truth.units import (
    ABOUT,
    DAILY_WORDS,
    DAY,
    ERROR_WORDS,
    EVERY,
    HALF,
    MEASURES,
    MEGA_WORDS,
    MONTHS,
    PER,
    PORT_WORDS,
    RECUR,
    SIZES,
    SPANS,
    TIMES,
    VERSION_WORDS,
    WEEKDAYS,
    WORDS,
)
from hivelore.policies.truth.words import words_of

SPAN, SIZE, PERCENT, COUNT, THROUGHPUT = "span", "size", "percent", "count", "throughput"
PORT, VERSION, CODE, DATE, CLOCK, WEEKDAY, RATE = (
    "port",
    "version",
    "code",
    "date",
    "time of day",
    "day of the week",
    "rate",
)


class Quantity(NamedTuple):
    dimension: str
    value: float | str
    about: bool
    shown: str
    at: int
    """Which piece of the text it is."""
    noun: str = ""
    """What is counted."""


_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)(.*)", re.DOTALL)
_NAMED_PORT = re.compile(r":?(\d{2,5})(?:/(?:tcp|udp))?")
_NO_NOUN = words_of("from at by that which is in on to can may has and or")
_AFTER_ONE_TIME = frozenset(("", ".", ",", ";", "after", "before", "more"))
_A_FEW = {"couple": 2.0, "few": 3.0, "paar": 3.0}
_TO = words_of("to and or bis und à a y 到")
_CODES = words_of("400 401 403 404 405 408 409 413 422 429 500 501 502 503 504")
_FIRST_CODE, _LAST_CODE = 400, 599
_NOON = 12
_BEFORE_SPANS = words_of(
    """
    take takes took taking last lasts about around for in within after of by to than every once half and with at
    every least most until before is are was needs need nearly almost roughly over under up
    """
)


class _Reader:
    """Walks once over the pieces of a text."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._words = {piece.text for piece in pieces}
        self.found: list[Quantity] = []
        self.taken: set[int] = set()

    def _text(self, at: int) -> str:
        return self._pieces[at].text if 0 <= at < len(self._pieces) else ""

    def _kind(self, at: int) -> Kind | None:
        return self._pieces[at].kind if 0 <= at < len(self._pieces) else None

    def _take(self, dimension: str, value: float | str, first: int, after: int, noun: str = "") -> int:
        shown = " ".join(piece.text for piece in self._pieces[first:after])
        about = any(self._text(at) in ABOUT or self._text(at) == "~" for at in range(max(0, first - 3), first))
        self.found.append(Quantity(dimension, value, about, shown, first, noun))
        said_about = [at for at in range(max(0, first - 3), first) if self._text(at) in ABOUT]
        self.taken.update(said_about, range(first, after))
        return after

    def read(self) -> None:
        at = 0
        while at < len(self._pieces):
            at = self._step(at)

    def _step(self, at: int) -> int:
        kind, text = self._pieces[at]
        if kind is Kind.DATE:
            return self._take(DATE, text, at, at + 1)
        if kind is Kind.TIME:
            return self._clock(at)
        if kind is Kind.NUMBER:
            return self._number(at)
        if kind is Kind.NAME:
            return self._name(at)
        if kind is not Kind.WORD:
            return at + 1
        if text in EVERY:
            return self._take(SPAN, EVERY[text], at, at + 1)
        if text in WEEKDAYS:
            return self._take(WEEKDAY, WEEKDAYS[text], at, at + 1)
        if text in ("midnight", "noon"):
            return self._take(CLOCK, "00:00" if text == "midnight" else "12:00", at, at + 1)
        if text in MONTHS and self._kind(at + 1) is Kind.NUMBER:
            return self._date(at, at + 1)
        return self._worded(at)

    def _name(self, at: int) -> int:
        text = self._text(at)
        if port := _NAMED_PORT.fullmatch(text):
            return self._take(PORT, port[1], at, at + 1)
        bare = text.removeprefix("v")
        if bare and bare[0].isdigit() and bare.replace(".", "").isdigit():
            return self._take(VERSION, bare, at, at + 1)
        return at + 1

    def _clock(self, at: int) -> int:
        hour, minute = (int(part) for part in self._text(at).split(":")[:2])
        after = at + 1
        if self._text(after) in ("pm", "am"):
            hour = hour % _NOON + (_NOON if self._text(after) == "pm" else 0)
            after += 1
        return self._take(CLOCK, f"{hour:02}:{minute:02}", at, after)

    def _number(self, at: int) -> int:
        match = _NUMBER.fullmatch(self._text(at))
        digits, unit = (match[1], match[2]) if match else (self._text(at), "")
        value = _value(digits)
        after = at + 1
        if unit in ("st", "nd", "rd", "th") and self._text(after) in MONTHS:
            return self._date(after, at)
        if not unit and self._text(after) in MONTHS:
            return self._date(after, at)
        if [self._text(one) for one in range(after, after + 3)] == ["and", "a", "half"]:
            value, after = value + 0.5, after + 3
        if not unit and self._text(after) in _TO and self._has_unit(after + 1):
            return self._range(at, value, after + 1)
        if not unit and self._text(after).endswith("/s"):
            name = self._text(after).removesuffix("/s")
            dimension, factor = MEASURES.get(name, (THROUGHPUT, SIZES.get(name, 0.0)))
            if factor:
                return self._take(dimension, value * factor, at, after + 1)
        if not unit and self._kind(after) is Kind.WORD and self._is_unit(self._text(after)):
            unit, after = self._text(after), after + 1
        if unit in ("am", "pm", "uhr") or self._text(after) in ("am", "pm", "uhr", "o"):
            return self._hour(at, value, unit or self._text(after), after if unit else after + 1)
        return self._measured(at, value, digits, unit, after)

    def _has_unit(self, at: int) -> bool:
        match = _NUMBER.fullmatch(self._text(at)) if self._kind(at) is Kind.NUMBER else None
        return bool(match and (match[2] or self._is_unit(self._text(at + 1))))

    def _range(self, at: int, least: float, second: int) -> int:
        """25 to 30 seconds: about the middle."""
        found = len(self.found)
        after = self._number(second)
        if len(self.found) > found and self.found[-1].dimension in (SPAN, SIZE, PERCENT):
            most = self.found.pop()
            match = _NUMBER.fullmatch(self._text(second))
            factor = float(most.value) / (_value(match[1]) or 1.0) if match else 1.0
            self._take(most.dimension, (least * factor + float(most.value)) / 2, at, after)
            self.found[-1] = self.found[-1]._replace(about=True)
            return after
        return self._take(COUNT, least, at, at + 1)

    def _is_unit(self, word: str) -> bool:
        return (
            word in SPANS
            or word in MEASURES
            or (word in SIZES and len(word) > 1)
            or word in ("percent", "prozent", "%")
        )

    def _measured(self, at: int, value: float, digits: str, unit: str, after: int) -> int:
        if unit in ("%", "percent", "prozent"):
            return self._take(PERCENT, value, at, after)
        if unit == "m":
            unit = "mb" if self._words & MEGA_WORDS or self._near_name_of_size(at) else "min"
        if unit == "s" and digits in _CODES and after == at + 1:
            return self._take(CODE, digits, at, after)
        if unit in MEASURES:
            dimension, factor = MEASURES[unit]
            return self._take(dimension, value * factor, at, after + self._per_second(after))
        if unit in SPANS:
            return self._span(at, value * SPANS[unit], after)
        if unit == "k" and self._kind(after) is Kind.WORD and not self._near_name_of_size(at):
            return self._counted(at, value * 1000, after)
        if unit in SIZES:
            return self._size(at, value * SIZES[unit], after)
        if unit:
            return at + 1
        return self._bare(at, value, digits, after)

    def _bare(self, at: int, value: float, digits: str, after: int) -> int:
        """A number without a unit."""
        if self._text(at - 1) in VERSION_WORDS:
            return self._take(VERSION, digits, at, after)
        if self._is_port(at):
            return self._take(PORT, digits, at, after)
        if "." in digits:
            return self._take(VERSION, digits, at, after)
        if digits in _CODES - {"400", "500"} and self._kind(after) is not Kind.WORD:
            return self._take(CODE, digits, at, after)
        around = {self._text(one) for one in (*range(max(0, at - 3), at), after)}
        if _FIRST_CODE <= value <= _LAST_CODE and "," not in digits and around & (ERROR_WORDS | {"s"}):
            return self._take(CODE, digits, at, after)
        return self._counted(at, value, after)

    def _size(self, at: int, value: float, after: int) -> int:
        """With the time that it is for: 20 MB a second."""
        if self._per_second(after):
            return self._take(THROUGHPUT, value, at, after + self._per_second(after))
        if self._text(after) in PER and self._text(after + 1) in SPANS:
            return self._take(SIZE, value, at, after + 2)
        return self._take(SIZE, value, at, after)

    def _per_second(self, at: int) -> int:
        """How many pieces *per second* has here, if it stands here."""
        if self._text(at) == "/s":
            return 1
        return 2 * (self._text(at) in PER and SPANS.get(self._text(at + 1)) == 1.0)

    def _near_name_of_size(self, at: int) -> bool:
        return any("size" in self._text(one) or "mem" in self._text(one) for one in range(max(0, at - 3), at))

    def _is_port(self, at: int) -> bool:
        around = {self._text(one) for one in range(max(0, at - 6), at)} | {self._text(at + 1)}
        if self._text(at - 1) == ":":
            return True
        return bool(around & PORT_WORDS) or bool(self._words & PORT_WORDS)

    def _span(self, at: int, seconds: float, after: int) -> int:
        """With what is added to it: 1 h 30 min, a minute and a half."""
        following = [self._text(one) for one in range(after, after + 3)]
        if following == ["and", "a", "half"]:
            return self._take(SPAN, seconds * 1.5, at, after + 3)
        if self._kind(after) is Kind.NUMBER:
            more = _NUMBER.fullmatch(self._text(after))
            unit = more[2] if more else ""
            if more and unit in SPANS and SPANS[unit] * _value(more[1]) < seconds:
                return self._take(SPAN, seconds + SPANS[unit] * _value(more[1]), at, after + 1)
        return self._take(SPAN, seconds, at, after)

    def _counted(self, at: int, value: float, after: int) -> int:
        """A number of something, or of times in a span: four times a day is every six hours."""
        noun = self._text(after) if self._kind(after) is Kind.WORD else ""
        end = after + 1 if noun else after
        if self._text(end) in PER and self._text(end + 1) in SPANS and value:
            unit = SPANS[self._text(end + 1)]
            if noun in TIMES:
                return self._take(SPAN, unit / value, at, end + 2)
            return self._take(RATE, value / unit, at, end + 2, noun)
        if noun == "req" and self._text(end) in SPANS:
            return self._take(RATE, value / SPANS[self._text(end)], at, end + 1, noun)
        return self._take(COUNT, value, at, after, "" if noun in TIMES else noun)

    def _hour(self, at: int, value: float, said: str, after: int) -> int:
        hour = int(value) % 24
        if said == "pm":
            hour = hour % _NOON + _NOON
        if said == "am":
            hour %= _NOON
        return self._take(CLOCK, f"{hour:02}:{round(value % 1 * 60):02}", at, after)

    def _date(self, month: int, day: int) -> int:
        number = _NUMBER.fullmatch(self._text(day))
        after = max(month, day) + 1
        if self._kind(after) is Kind.MARK:
            after += 1
        year = self._text(after) if self._kind(after) is Kind.NUMBER and len(self._text(after)) == 4 else ""
        said = f"{int(float(number[1].replace(',', '.'))) if number else 0:02}"
        date = f"{MONTHS[self._text(month)]:02}-{said}"
        return self._take(
            DATE, f"{year}-{date}" if year else date, min(month, day), after + 1 if year else max(month, day) + 1
        )

    def _worded(self, at: int) -> int:
        text, following = self._text(at), self._text(at + 1)
        if text in ("once", "twice") and following in PER and self._text(at + 2) in SPANS:
            times = 1 if text == "once" else 2
            return self._take(SPAN, SPANS[self._text(at + 2)] / times, at, at + 3)
        if text == "once" and self._text(at - 1) != "at" and following in _AFTER_ONE_TIME:
            return self._take(COUNT, 1.0, at, at + 1)
        if text == "twice":
            return self._take(COUNT, 2.0, at, at + 1)
        if text in HALF:
            after = at + 2 if following in WORDS or following in ("of",) else at + 1
            if self._text(after) in SPANS:
                first = at - 1 if self._text(at - 1) in WORDS else at
                return self._take(SPAN, SPANS[self._text(after)] / 2, first, after + 1)
            return at + 1
        if text in ("quarter", "quarters"):
            after = at + 2 if following == "of" else at + 1
            after += self._text(after) in WORDS
            if self._text(after) in SPANS:
                quarters = WORDS.get(self._text(at - 1), 1.0)
                return self._take(SPAN, quarters * SPANS[self._text(after)] / 4, at, after + 1)
            return at + 1
        if text in _A_FEW and self._is_unit(following):
            return self._take(SPAN, _A_FEW[text] * SPANS.get(following, 1.0), at, at + 2)
        if text in RECUR and following in SPANS:
            return self._take(SPAN, SPANS[following], at, at + 2)
        if text in RECUR and following == "night":
            return self._take(SPAN, DAY, at, at + 2)
        return self._number_word(at)

    def _is_rate(self, at: int) -> bool:
        """Six readings of the meter a minute: a number of something earlier, and no word that a span follows."""
        last = self.found[-1] if self.found else None
        if last is None or last.dimension != COUNT or self._text(at - 1) in _BEFORE_SPANS:
            return False
        between = range(last.at + 1, at)
        return len(between) > 1 and all(self._kind(one) in (Kind.WORD, Kind.NAME) for one in between)

    def _at_hour(self, at: int) -> int:
        """Each night at three."""
        value = WORDS[self._text(at)]
        is_hour = 1 <= value <= _NOON and self._text(at - 1) == "at" and self._kind(at + 1) in (None, Kind.MARK)
        return self._hour(at, value, "am", at + 1) if is_hour and self._words & DAILY_WORDS else 0

    def _number_word(self, at: int) -> int:
        text, following = self._text(at), self._text(at + 1)
        if text not in WORDS:
            return at + 1
        if after := self._at_hour(at):
            return after
        if text in ("a", "an") and following in SPANS and at - 1 in self.taken:
            # 200 MB a day: what is measured is the size.
            self.taken.update((at, at + 1))
            return at + 2
        if text in ("a", "an") and following in SPANS and self._is_rate(at):
            count = self.found.pop()
            return self._take(RATE, float(count.value) / SPANS[following], at, at + 2)
        if (following in SPANS and len(following) > 1) or (following in SPANS and not following.isascii()):
            return self._span(at, WORDS[text] * SPANS[following], at + 2)
        if following in ("percent", "prozent"):
            return self._take(PERCENT, WORDS[text], at, at + 2)
        if following in SIZES and len(following) > 1:
            return self._take(SIZE, WORDS[text] * SIZES[following], at, at + 2)
        if following == "o":
            return self._hour(at, WORDS[text], "", at + 2)
        if (WORDS[text] > 1 or (text == "one" and following not in _NO_NOUN)) and self._kind(at + 1) is Kind.WORD:
            return self._counted(at, WORDS[text], at + 1)
        return at + 1


def _value(digits: str) -> float:
    if "," in digits:
        whole, _, part = digits.partition(",")
        digits = digits.replace(",", "") if len(part) >= 3 else f"{whole}.{part}"
    return float(digits[:30])


def quantities(pieces: Sequence[Piece]) -> tuple[list[Quantity], set[int]]:
    """In order, and which of the pieces they are made of."""
    reader = _Reader(pieces)
    reader.read()
    return reader.found, reader.taken
