"""Dates in queries: spans of time for "last Friday", "in March 2026", "since the day before yesterday"."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

_SURE, LIKELY, _VAGUE = 1.0, 0.8, 0.5
_HALF_A_YEAR = timedelta(weeks=26)
_OLDEST_YEAR = 30
"""A number alone is a year if it lies at most this many years back."""

MONTHS: Sequence[str] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS: Sequence[str] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_SEASONS: Sequence[str] = ["spring", "summer", "autumn", "winter"]
_TO_NINETEEN = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_WORDS = _TO_NINETEEN.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_COUNTS = (
    {word: number for number, word in enumerate(_WORDS, 1)}
    | {word: 10 * number for number, word in enumerate(_TENS, 2)}
    | {"a": 1, "an": 1, "couple": 2, "few": 3}
)
UNITS = {
    "minute": DAY / 1440,
    "hour": DAY / 24,
    "day": DAY,
    "week": 7 * DAY,
    "fortnight": 14 * DAY,
    "month": 30 * DAY,
    "year": 365 * DAY,
}

MONTH_NAME = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONTH = rf"(?P<month>{MONTH_NAME})\b\.?"
_WEEKDAY_NAME = (
    "(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_WEEKDAY = rf"(?P<weekday>{_WEEKDAY_NAME})\b"
_WEEK = r"(?:the\s+)?(?P<week>(?:last|previous|this|next)\s+week|week\s+before\s+last)\b"
_PERIOD = r"(?P<period>week(?:end)?|month|quarter|year)"
_DAY = r"(?P<day>\d{1,2})(?P<ordinal>st|nd|rd|th)?\b(?![:.]\d)"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b(?![.:-]\d)"
_OF_YEAR = rf"(?:,?\s+(?:of\s+)?(?:{_YEAR}|(?P<whose>last|previous|this|next)\s+year\b))?"
COUNT = (
    rf"(?:(?<!\d[.,])(?P<count>\d{{1,3}}|(?:{'|'.join(_TENS)})[\s-]+(?:{'|'.join(_WORDS[:9])})|{'|'.join(_COUNTS)})"
    r"\s+(?:of\s+)?)"
)
UNIT = rf"(?P<unit>{'|'.join(UNITS)})s?"


@dataclass(frozen=True, slots=True)
class Span:
    """From ``start`` to before ``stop``, UTC. ``sure``: the probability that the query means it, above 0 to 1."""

    start: datetime
    stop: datetime
    sure: float


def back(at: datetime, length: timedelta) -> datetime:
    return at - length if at - EARLIEST > length else EARLIEST


def number_of(word: str | None) -> int:
    word = (word or "a").lower()
    return int(word) if word.isdigit() else sum(_COUNTS[part] for part in re.split(r"[\s-]+", word))


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _month_after(start: datetime, months: int) -> datetime:
    """Returns the first day of the month that is ``months`` later, or earlier if negative."""
    years, month = divmod(start.month - 1 + months, 12)
    return datetime(start.year + years, month + 1, 1, tzinfo=UTC)


def _months(start: datetime, months: int, sure: float) -> Span:
    return Span(start, _month_after(start, months), sure)


def _begun(match: re.Match[str], now: datetime, month: int, day: int = 1) -> datetime:
    """Returns the day in the named year, or its latest occurrence that has begun."""
    year = _year_named(match, now)
    start = datetime(year or now.year, month, day, tzinfo=UTC)
    return datetime(now.year - 1, month, day, tzinfo=UTC) if year is None and start > now else start


def _year_named(match: re.Match[str], now: datetime) -> int | None:
    parts = match.groupdict()
    if whose := parts.get("whose"):
        return now.year + {"this": 0, "next": 1}.get(whose.lower(), -1)
    return int(parts["year"]) if parts.get("year") else None


def _surety(match: re.Match[str]) -> float:
    return _SURE if match["year"] or match.groupdict().get("whose") else LIKELY


def _day(match: re.Match[str], now: datetime) -> Span:
    start = _begun(match, now, _month_number(match["month"]), int(match["day"]))
    return Span(start, start + DAY, _surety(match))


def _digits(match: re.Match[str], now: datetime) -> Span:
    """Resolves 31.1.2026, 31/1/2026 and 1/31/2026. With dots the day comes first; otherwise only a number above 12
    distinguishes it from the month."""
    first, second = int(match["first"]), int(match["second"])
    if match["mark"] != "." and first <= 12 and second <= 12 and first != second:
        raise ValueError(match[0])
    day, month = (second, first) if match["mark"] != "." and second > 12 else (first, second)
    start = _begun(match, now, month, day)
    return Span(start, start + DAY, _SURE)


def _month(match: re.Match[str], now: datetime) -> Span:
    return _months(_begun(match, now, _month_number(match["month"])), 1, _surety(match))


def _month_number(name: str) -> int:
    return int(name) if name.isdigit() else MONTHS.index(name[:3].lower()) + 1


def _quarter(match: re.Match[str], now: datetime) -> Span:
    return _months(_begun(match, now, 3 * int(match["quarter"]) - 2), 3, _surety(match))


def _season(match: re.Match[str], now: datetime) -> Span:
    """Resolves seasons of the northern hemisphere. "Last" is one that has ended; "this" one may have ended recently."""
    which, season = (match["which"] or "").lower(), match["season"].lower()
    start = _begun(match, now, 3 + 3 * _SEASONS.index("autumn" if season == "fall" else season))
    span = _months(start, 3, _VAGUE)
    lies_ahead = which == "this" and now - span.stop > _HALF_A_YEAR
    if lies_ahead or not (which or match["year"]):
        raise ValueError(match[0])
    return _months(_month_after(start, -12), 3, _VAGUE) if which not in ("", "this") and span.stop > now else span


def _year(match: re.Match[str], now: datetime) -> Span:
    year = int(match["year"])
    if not now.year - _OLDEST_YEAR <= year <= now.year:
        raise ValueError(year)
    return _months(datetime(year, 1, 1, tzinfo=UTC), 12, _VAGUE)


def weekday(match: re.Match[str], now: datetime) -> Span:
    today, which = _midnight(now), (match.groupdict().get("which") or "").lower()
    monday, number = today - today.weekday() * DAY, WEEKDAYS.index(match["weekday"][:3].lower())
    week = "this" if which == "this" else match.groupdict().get("week")
    if week:
        start = monday + (number - 7 * _ago_of(week)) * DAY
        return Span(start, start + DAY, _SURE)
    days = (today.weekday() - number) % 7
    start = today - (days or 7 if which else days) * DAY
    return Span(start, start + DAY, LIKELY)


def _ago_of(which: str) -> int:
    """Returns how many periods back "this", "last" or "before last" is."""
    which = which.lower()
    return 2 if "before" in which else {"this": 0, "next": -1}.get(which.split()[0], 1)


def _named(match: re.Match[str], now: datetime) -> Span:
    today, name = _midnight(now), match["named"].lower()
    if name == "today" or name.startswith("this"):
        return Span(today, today + DAY, _VAGUE if name == "today" else _SURE)
    days = 2 if name.startswith("the day before") else 1
    return Span(today - days * DAY, today - (days - 1) * DAY, _SURE)


def _calendar(match: re.Match[str], now: datetime) -> Span:
    """Resolves this, the last and the one before last week, weekend, month, quarter or year."""
    today, ago = _midnight(now), _ago_of(match["which"])
    monday = today - today.weekday() * DAY
    match match["period"].lower():
        case "week":
            return Span(monday - 7 * ago * DAY, monday - 7 * (ago - 1) * DAY, _SURE)
        case "weekend":
            return Span(monday + (5 - 7 * ago) * DAY, monday + 7 * (1 - ago) * DAY, _SURE)
        case "month":
            return _months(_month_after(today, -ago), 1, _SURE)
        case "quarter":
            return _months(_month_after(today, -((today.month - 1) % 3) - 3 * ago), 3, _SURE)
        case _:
            return _months(datetime(today.year - ago, 1, 1, tzinfo=UTC), 12, _SURE)


def _latest(match: re.Match[str], now: datetime) -> Span:
    return Span(back(now, number_of(match["count"]) * UNITS[match["unit"].lower()]), now + timedelta.resolution, _SURE)


def _ago(match: re.Match[str], now: datetime) -> Span:
    """Resolves "3 days ago" to a day, and longer units to one unit around that time."""
    unit, count = UNITS[match["unit"].lower()], number_of(match["count"])
    if unit <= DAY:
        start = _midnight(back(now, count * unit))
        return Span(start, start + DAY, _SURE)
    middle = back(now, count * unit)
    return Span(back(middle, unit / 2), middle + unit / 2, LIKELY)


Resolver = Callable[[re.Match[str], datetime], Span]
"""Returns the span that a match means. Raises ValueError or OverflowError if it is no date."""
FORMS: tuple[tuple[re.Pattern[str], Resolver], ...] = tuple(
    (re.compile(pattern, re.I | re.A), resolve)
    for pattern, resolve in (
        (r"(?<![\w./-])(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)(?![\d/-])", _day),
        (
            r"(?<![\w./-])(?P<first>\d\d?)(?P<mark>[./-])(?P<second>\d\d?)(?P=mark)(?P<year>(?:19|20)\d\d)"
            r"(?![\w/-]|\.\d)",
            _digits,
        ),
        (r"(?<![\w./-])(?P<month>0?[1-9]|1[0-2])/(?P<year>(?:19|20)\d\d)(?![\w/-]|\.\d)", _month),
        (rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_OF_YEAR}", _day),
        (rf"\b{_MONTH}\s+{_DAY}{_OF_YEAR}", _day),
        (r"(?<![\w./-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w/-])", _month),
        (rf"\b(?:(?P<which>last|past|this)\s+)?{_MONTH}{_OF_YEAR}", _month),
        (rf"\bq(?P<quarter>[1-4])\b(?:[\s,-]*(?:of\s+)?{_YEAR})?", _quarter),
        (
            rf"\b(?:(?P<which>last|past|previous|this)\s+)?(?P<season>{'|'.join(_SEASONS)}|fall)\b(?:\s+(?:of\s+)?{_YEAR})?",
            _season,
        ),
        (rf"(?<![\w./-]){_YEAR}(?!\s+\w+s\b)", _year),
        (
            rf"\b(?:(?P<which>last|past|previous|this)\s+)?{_WEEKDAY}(?!\s+(?:before|after)\b)"
            rf"(?:(?<=day),?\s+(?:of\s+)?{_WEEK})?",
            weekday,
        ),
        (rf"\b(?P<week>(?:last|previous|this)\s+week)(?:['’]s|\s+on|,)?\s+{_WEEKDAY}(?<=day)", weekday),
        (
            r"\b(?P<named>today|(?:the\s+day\s+before\s+)?yesterday|last\s+night|this\s+(?:morning|afternoon|evening))\b",
            _named,
        ),
        (rf"\b(?P<which>last|previous|this|past(?=\s+weekend))\s+{_PERIOD}\b(?!\s+of\b)", _calendar),
        (
            rf"\b{_PERIOD}\s+(?P<which>before\s+last)\b"
            rf"(?!\s+(?:{_WEEKDAY_NAME}|{MONTH_NAME}|week(?:end)?|month|quarter|year|night)\b)",
            _calendar,
        ),
        (rf"\b(?:last|past|previous)\s+(?!minute\b){COUNT}?{UNIT}\b(?!\s+of\b)", _latest),
        (rf"\b(?:a\s+)?{COUNT}{UNIT}\s+ago\b", _ago),
    )
)


READ = 2_000
"""Characters of a query that are searched. Dates in a pasted log are not what the query asks for."""
_LATEST = datetime.max.replace(tzinfo=UTC)

_SOFTNESS = (DAY, timedelta(days=14))
_AT_TIMES = frozenset(("may", "march", *MONTHS, "sept", *WEEKDAYS, "tues", "thur", "thurs"))
"""Names of dates that are also other words."""
_LEAD = re.compile(r"\b(?:in|on|since|before|after|until|till|by|during|from|between|of|early|late|mid)[\s-]+\Z", re.I)
_NOT_THEN = re.compile(
    r"\b(?:next|(?:up)?coming|following|every|each)\s+(?:(?:week|month|year)\s+(?:(?:in|on)\s+)?)?\Z", re.I
)
"""Text before a date in the future or a recurring one: "next", "every"."""
_OPENING = re.compile(r"\b(?:between|from)\s+(?:the\s+)?\Z", re.I)
_TO = re.compile(r"\s*(?:and|to|until|till|through|-|–)\s*(?:the\s+)?", re.I)
_UP_TO = re.compile(r"\s*(?:to|through|-|–)\s*", re.I)
_TO_A_MONTH = re.compile(rf"\s*[-–]\s*{MONTH_NAME}\b", re.I)
_RELATION = re.compile(
    rf"\b(?:(?:{COUNT}|the\s+)?{UNIT}\s+)?(?P<relation>since|after|before|until|till|by)\s+(?:the\s+)?"
    r"(?:(?:start|beginning|end|middle)\s+of\s+)?\Z",
    re.I,
)
_BEFORE_IT = 40
"""Characters before a date that are searched for words such as "since"."""


def closeness(at: datetime, span: Span) -> float:
    """Returns 1 within the span. Outside it halves with each quarter of the length of the span, at least a day and at
    most two weeks, because people misremember."""
    if span.start <= at < span.stop:
        return 1.0
    away = span.start - at if at < span.start else at - span.stop
    least, most = _SOFTNESS
    return 2.0 ** -(away / min(max((span.stop - span.start) / 4, least), most))


def date_spans(query: str, now: datetime) -> tuple[Span, ...]:
    """Returns the time spans that a query names, in order, without those in the future."""
    text = query[:READ]
    dates = _dates(text, now)
    found: list[Span] = []
    while dates:
        date = dates.pop(0)
        if dates and _is_range(text, date, dates[0]):
            found.append(_joined(date, dates.pop(0)))
        else:
            found.append(_related(text[max(date.begin - _BEFORE_IT, 0) : date.begin], date.span, now))
    return tuple(span for span in found if span.start < span.stop and span.start <= now)


@dataclass(frozen=True, slots=True)
class _Date:
    """A date in a text. ``opens``: it may be the first of two dates joined by "to" or "and"."""

    begin: int
    end: int
    span: Span
    opens: bool
    form: Resolver


def _dates(text: str, now: datetime) -> list[_Date]:
    dates: list[_Date] = []
    for match, resolve in _matches(text):
        lead = text[max(match.start() - _BEFORE_IT, 0) : match.start()]
        if _NOT_THEN.search(lead):
            continue
        follows = bool(dates) and dates[-1].opens and _TO.fullmatch(text, dates[-1].end, match.start()) is not None
        if follows or _LEAD.search(lead) or not _is_doubtful(match) or _TO_A_MONTH.match(text, match.end()):
            try:
                span = resolve(match, now)
            except (OverflowError, ValueError):
                continue
            opens = _OPENING.search(lead) is not None or match[0][0].isdigit()
            dates.append(_Date(match.start(), match.end(), span, opens, resolve))
    return dates


def _is_range(text: str, date: _Date, other: _Date) -> bool:
    """Returns True if the text means the time from one date to the other, as in "June-August"."""
    if date.opens:
        return _TO.fullmatch(text, date.end, other.begin) is not None
    return date.form is other.form and _UP_TO.fullmatch(text, date.end, other.begin) is not None


def _matches(text: str) -> Iterator[tuple[re.Match[str], Resolver]]:
    """Yields matches of dates, in order and without overlap."""
    found = [(match, resolve) for pattern, resolve in FORMS for match in pattern.finditer(text)]
    found.sort(key=lambda one: (one[0].start(), -one[0].end()))
    end = 0
    for match, resolve in found:
        if match.start() >= end:
            end = match.end()
            yield match, resolve


def _is_doubtful(match: re.Match[str]) -> bool:
    """Returns True for a match that is a date only after a word such as "in", as with "may" or a number alone."""
    parts = match.groupdict()
    word = parts.get("month") or parts.get("weekday")
    if word is None or any(parts.get(one) for one in ("year", "whose", "which", "week")):
        return parts.keys() == {"year"}
    if parts.get("day"):
        return word in ("may", "march", "mar") and not parts.get("ordinal")
    return word.lower() in _AT_TIMES


def _joined(first: _Date, last: _Date) -> Span:
    """Returns the span from one date to another. "August 11 to August 15 2023" names the year once, "November to March"
    not at all."""
    start, end = first.span.start, last.span
    if start > end.start and last.form is weekday:
        start = back(start, 7 * DAY)
    elif start > end.start and (start.month, start.day) != (2, 29):
        start = start.replace(year=end.start.year)
        if start > end.start:
            start = start.replace(year=max(end.start.year - 1, 1))
    return Span(start, end.stop, min(first.span.sure, end.sure))


def _related(lead: str, span: Span, now: datetime) -> Span:
    """Applies "since", "before" or "a week after" to the date that follows."""
    match = _RELATION.search(lead)
    if match is None:
        return span
    relation, unit = match["relation"].lower(), match["unit"]
    if unit is not None and relation in ("before", "after"):
        length = number_of(match["count"]) * UNITS[unit.lower()]
        if relation == "before":
            return Span(back(span.start, length), span.start, span.sure)
        return Span(span.stop, span.stop + min(length, _LATEST - span.stop), span.sure)
    match relation:
        case "since":
            return Span(span.start, max(now, span.stop), span.sure)
        case "after":
            return Span(span.stop, max(now, span.stop), span.sure)
        case "before":
            return Span(EARLIEST, span.start, span.sure * LIKELY)
        case _:
            return Span(EARLIEST, span.stop, span.sure * LIKELY)
