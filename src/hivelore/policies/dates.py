"""When a question asks about: "last Tuesday", "in May 2025", "two weeks ago" as spans of time.

English, and dates in digits in any language. A month or a weekday without a year is the latest one that has begun,
since memories are of the past. What lies ahead ("tomorrow", "next week", "next Tuesday") is no span. Nor is what is
read differently here and there ("03/01/2025"), or is an event ("before the migration"): a wrong time is worse than
none.

A word that is a date only at times ("may", "march", "sat") counts where something beside it says so: a number, a year,
"in", "since". Days are those of UTC, so whoever means their own is off by some hours; ``closeness`` forgives that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hivelore.policies.date_forms import (
    COUNT,
    DAY,
    EARLIEST,
    FORMS,
    LIKELY,
    MONTH_NAME,
    MONTHS,
    UNIT,
    UNITS,
    WEEKDAYS,
    Resolver,
    Span,
    back,
    number_of,
    weekday,
)

READ = 2_000
"""Characters of a question that are looked at: whoever pastes a log does not ask for its dates."""
_LATEST = datetime.max.replace(tzinfo=UTC)

_SOFTNESS = (DAY, timedelta(days=14))
_AT_TIMES = frozenset(("may", "march", *MONTHS, "sept", *WEEKDAYS, "tues", "thur", "thurs"))
"""Words that are also others."""
_LEAD = re.compile(r"\b(?:in|on|since|before|after|until|till|by|during|from|between|of|early|late|mid)[\s-]+\Z", re.I)
_NOT_THEN = re.compile(
    r"\b(?:next|(?:up)?coming|following|every|each)\s+(?:(?:week|month|year)\s+(?:(?:in|on)\s+)?)?\Z", re.I
)
"""What leads to a date that lies ahead, or is none in particular."""
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
"""Characters that are looked at for what leads to a date."""


def closeness(at: datetime, span: Span) -> float:
    """1 within the span; outside half as much with each quarter of its length, but at least a day and at most two
    weeks: people misremember."""
    if span.start <= at < span.stop:
        return 1.0
    away = span.start - at if at < span.start else at - span.stop
    least, most = _SOFTNESS
    return 2.0 ** -(away / min(max((span.stop - span.start) / 4, least), most))


def spans(question: str, now: datetime) -> tuple[Span, ...]:
    """The spans of time that a question names, in order; none where it names none, or only what is to come."""
    text = question[:READ]
    dates = _dates(text, now)
    found: list[Span] = []
    while dates:
        date = dates.pop(0)
        if dates and _goes_on(text, date, dates[0]):
            found.append(_joined(date, dates.pop(0)))
        else:
            found.append(_related(text[max(date.begin - _BEFORE_IT, 0) : date.begin], date.span, now))
    return tuple(span for span in found if span.start < span.stop and span.start <= now)


@dataclass(frozen=True, slots=True)
class _Date:
    """A date in a text. ``opens``: it may be the first of two, with "to" or "and" between them."""

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


def _goes_on(text: str, date: _Date, other: _Date) -> bool:
    """Whether what is meant is all the time from one date to the other. "June-August" says so by itself."""
    if date.opens:
        return _TO.fullmatch(text, date.end, other.begin) is not None
    return date.form is other.form and _UP_TO.fullmatch(text, date.end, other.begin) is not None


def _matches(text: str) -> Iterator[tuple[re.Match[str], Resolver]]:
    """What looks like a date, in order, none inside of another."""
    found = [(match, resolve) for pattern, resolve in FORMS for match in pattern.finditer(text)]
    found.sort(key=lambda one: (one[0].start(), -one[0].end()))
    end = 0
    for match, resolve in found:
        if match.start() >= end:
            end = match.end()
            yield match, resolve


def _is_doubtful(match: re.Match[str]) -> bool:
    """Whether it is a date only if something before it says so."""
    parts = match.groupdict()
    word = parts.get("month") or parts.get("weekday")
    if word is None or any(parts.get(one) for one in ("year", "whose", "which", "week")):
        return parts.keys() == {"year"}
    if parts.get("day"):
        return word in ("may", "march", "mar") and not parts.get("ordinal")
    return word.lower() in _AT_TIMES


def _joined(first: _Date, last: _Date) -> Span:
    """From one date to another. "August 11 to August 15 2023" names the year once, "November to March" none."""
    start, end = first.span.start, last.span
    if start > end.start and last.form is weekday:
        start = back(start, 7 * DAY)
    elif start > end.start and (start.month, start.day) != (2, 29):
        start = start.replace(year=end.start.year)
        if start > end.start:
            start = start.replace(year=max(end.start.year - 1, 1))
    return Span(start, end.stop, min(first.span.sure, end.sure))


def _related(lead: str, span: Span, now: datetime) -> Span:
    """What "since", "before" or "a week after" makes of the date behind it."""
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
