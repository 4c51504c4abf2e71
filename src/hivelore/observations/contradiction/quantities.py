"""Quantities of a note, each in one unit in any spelling.

Spans of time are in seconds, sizes in bytes. A recurrence is a span too: every 6 hours, four times a day.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hivelore.observations.contradiction.numerals import (
    NUMBER,
    counted_on,
    digits_value,
    in_words,
    number_at,
    share_of,
    unit_of,
)
from hivelore.observations.contradiction.pieces import Kind, Piece
from hivelore.observations.contradiction.units import (
    ABOUT,
    AFTER_SPANS,
    BEFORE_SPANS,
    DAILY_WORDS,
    DAY,
    ERROR_WORDS,
    EVERY,
    FRACTIONS,
    HALF,
    IN_ORDER,
    MEASURES,
    MEGA_WORDS,
    MONTHS,
    NO_NOUN,
    OF_WHAT,
    PER,
    PERCENT_WORDS,
    PORT_WORDS,
    RECUR,
    SIZES,
    SPANS,
    TIMES,
    VERSION_WORDS,
    WEEKDAYS,
    WORDS,
)
from hivelore.observations.contradiction.words import words_of

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
    """Index of the piece."""
    noun: str = ""
    """The counted thing."""


_NAMED_PORT = re.compile(r":?(\d{2,5})(?:/(?:tcp|udp))?|(?:tcp|udp)/(\d{2,5})")
_AFTER_ONE_TIME = frozenset(("", ".", ",", ";", "after", "before", "more"))
_A_FEW = {"couple": 2.0, "few": 3.0, "paar": 3.0}
_OTHER_HALVES = HALF - {"half"}
"""Excludes *media of*."""
_TO = words_of("to and or bis und à a y 到")
_CODES = words_of("400 401 403 404 405 408 409 413 422 429 500 501 502 503 504")
_FIRST_CODE, _LAST_CODE = 400, 599
_NOON = 12


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
            return self._take(PORT, port[1] or port[2], at, at + 1)
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
        match = NUMBER.fullmatch(self._text(at))
        digits, unit = (match[1], match[2]) if match else (self._text(at), "")
        value, after = digits_value(digits), at + 1
        if unit in ("st", "nd", "rd", "th") and self._text(after) in MONTHS:
            return self._date(after, at)
        if not unit and self._text(after) in MONTHS:
            return self._date(after, at)
        if not unit:
            value, after = counted_on(self._pieces, value, after)
        if not unit and (end := self._range(at, value, after)):
            return end
        if not unit and self._text(after).endswith("/s"):
            name = self._text(after).removesuffix("/s")
            dimension, factor = MEASURES.get(name, (THROUGHPUT, SIZES.get(name, 0.0)))
            if factor:
                return self._take(dimension, value * factor, at, after + 1)
        if not unit and self._kind(after) is Kind.WORD and self._is_unit(self._text(after)):
            unit, after = self._text(after), after + 1
        if unit in ("am", "pm", "uhr") or self._text(after) in ("am", "pm", "uhr", "o"):
            return self._hour(at, value, unit or self._text(after), after if unit else after + 1)
        if not unit and self._is_hour(at, after, value):
            return self._hour(at, value, "", after)
        if not unit and value != digits_value(digits):
            return self._counted(at, value, after)
        return self._measured(at, value, digits, unit, after)

    def _range(self, at: int, least: float, to: int) -> int:
        """25 to 30 seconds, five to ten minutes: about the middle. Nothing where none stands here."""
        most = number_at(self._pieces, to + 1) if self._text(to) in _TO else None
        if most is None or not most.value:
            return 0
        unit, _ = unit_of(self._pieces, to + 1, most.after)
        if not self._is_unit(unit):
            return 0
        found, taken = len(self.found), set(self.taken)
        after = self._step(to + 1)
        if len(self.found) == found + 1 and self.found[-1].dimension in (SPAN, SIZE, PERCENT):
            measured = self.found.pop()
            factor = float(measured.value) / most.value
            self._take(measured.dimension, (least * factor + float(measured.value)) / 2, at, after)
            self.found[-1] = self.found[-1]._replace(about=True)
            return after
        del self.found[found:]
        self.taken = taken
        return 0

    def _is_unit(self, word: str) -> bool:
        return word in SPANS or word in MEASURES or (word in SIZES and len(word) > 1) or word in PERCENT_WORDS

    def _measured(self, at: int, value: float, digits: str, unit: str, after: int) -> int:
        if unit in PERCENT_WORDS:
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
        """Reads a size with the time that it is for: 20 MB a second."""
        if self._per_second(after):
            return self._take(THROUGHPUT, value, at, after + self._per_second(after))
        if self._text(after) in PER and self._text(after + 1) in SPANS:
            return self._take(SIZE, value, at, after + 2)
        return self._take(SIZE, value, at, after)

    def _per_second(self, at: int) -> int:
        """Returns the number of pieces of *per second* at this place."""
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
        """Reads a span of time with its parts: 1 h 30 min, a minute and a half, an hour and ten minutes."""
        if [self._text(after), self._text(after + 1)] == ["and", "a"] and self._text(after + 2) in FRACTIONS:
            return self._take(SPAN, seconds * (1 + FRACTIONS[self._text(after + 2)]), at, after + 3)
        more, end = self._smaller_span(after + (self._text(after) in ("and", ",")), seconds)
        return self._take(SPAN, seconds + more, at, end or after)

    def _smaller_span(self, at: int, than: float) -> tuple[float, int]:
        """Seconds, and the piece behind it; none where no span of a smaller unit stands here."""
        number = number_at(self._pieces, at)
        if number is None:
            return 0.0, 0
        value, (unit, after) = number.value, unit_of(self._pieces, at, number.after)
        seconds = SPANS.get(unit, 0.0) * value
        return (seconds, after) if 0 < seconds < than else (0.0, 0)

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
        return self._take(CLOCK, f"{hour:02}:{round(value % 1 * 60):02}", at, after + (self._text(after) == "clock"))

    def _date(self, month: int, day: int) -> int:
        number = NUMBER.fullmatch(self._text(day))
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
        if text in HALF and following in EVERY:
            return self._take(SPAN, EVERY[following] / 2, at, at + 2)
        if after := self._share(at):
            return after
        unit = at + 1 + (following == "of")
        if text in _A_FEW and self._text(unit) in SPANS:
            return self._take(SPAN, _A_FEW[text] * SPANS[self._text(unit)], at, unit + 1)
        if text in RECUR and following in SPANS:
            return self._take(SPAN, SPANS[following], at, at + 2)
        if text in RECUR and following == "night":
            return self._take(SPAN, DAY, at, at + 2)
        return self._number_word(at)

    def _is_rate(self, at: int) -> bool:
        """Six readings of the meter a minute: a number of something earlier, and no word that a span follows."""
        last = self.found[-1] if self.found else None
        if last is None or last.dimension != COUNT or self._text(at - 1) in BEFORE_SPANS:
            return False
        between = range(last.at + 1, at)
        return len(between) > 1 and all(self._kind(one) in (Kind.WORD, Kind.NAME) for one in between)

    def _is_hour(self, at: int, after: int, value: float) -> bool:
        """Each night at three."""
        is_alone = self._text(at - 1) == "at" and self._kind(after) in (None, Kind.MARK)
        return is_alone and 0 <= value < 24 and bool(self._words & DAILY_WORDS)

    def _share(self, at: int) -> int:
        """Reads a share: half an hour, a quarter of a gigabyte; a percentage of anything else."""
        part = share_of(self._pieces, at)
        if part is None:
            return 0
        share, whole = part
        unit = whole + (self._text(whole) in WORDS)
        if self._text(unit) in SPANS:
            return self._take(SPAN, share * SPANS[self._text(unit)], at, unit + 1)
        if self._text(unit) in SIZES and len(self._text(unit)) > 1:
            return self._take(SIZE, share * SIZES[self._text(unit)], at, unit + 1)
        is_share = self._text(whole - 1) == "of" or self._text(whole) in OF_WHAT
        if not is_share or self._text(at - 1) in IN_ORDER or self._text(at) in _OTHER_HALVES:
            return 0
        return self._take(PERCENT, 100 * share, at, whole)

    def _is_rank(self, second: int) -> bool:
        """Returns True if this is probably a rank: a second factor, not *a second to start*."""
        of = self._text(second + 1) if self._kind(second + 1) is Kind.WORD else ""
        return bool(of) and of not in AFTER_SPANS

    def _number_word(self, at: int) -> int:
        number = in_words(self._pieces, at)
        if number is None:
            return at + 1
        text, (value, after) = self._text(at), number
        following = self._text(after)
        if end := self._range(at, value, after):
            return end
        if self._is_hour(at, after, value) and 1 <= value <= _NOON:
            return self._hour(at, value, "am", after)
        if text in ("a", "an") and following in SPANS and value == 1 and at - 1 in self.taken:
            # 200 MB a day measures a size.
            self.taken.update((at, at + 1))
            return at + 2
        if text in ("a", "an") and following in SPANS and value == 1 and self._is_rate(at):
            count = self.found.pop()
            return self._take(RATE, float(count.value) / SPANS[following], at, at + 2)
        if following == "second" and value == 1 and self._is_rank(after):
            return after + 1
        if following in SPANS and (len(following) > 1 or not following.isascii()):
            return self._span(at, value * SPANS[following], after + 1)
        if following in PERCENT_WORDS:
            return self._take(PERCENT, value, at, after + 1)
        if following in SIZES and len(following) > 1:
            return self._take(SIZE, value * SIZES[following], at, after + 1)
        if following in ("o", "am", "pm"):
            return self._hour(at, value, following, after + 1)
        is_count = value > 1 or (text == "one" and following not in NO_NOUN)
        if after > at + 1 or (is_count and self._kind(after) is Kind.WORD):
            return self._counted(at, value, after)
        return after


def quantities(pieces: Sequence[Piece]) -> tuple[list[Quantity], set[int]]:
    """Returns the quantities in order, and their pieces."""
    reader = _Reader(pieces)
    reader.read()
    return reader.found, reader.taken
