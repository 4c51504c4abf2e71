"""Time spans named in a query: examples by hand, and laws."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.dates import EARLIEST, Span, closeness, date_spans

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
"""A Wednesday."""

instants = st.datetimes(timezones=st.just(UTC))
_WORDS = """
    in on since before after until between and from to last this the may March 3rd 12 May, 2025 2025-02-31 Q2 q4
    two weeks ago week yesterday Monday sat a few days 999 years hours of 30 February migration deploy
    next coming year past summer fall weekend minutes twenty-five - 31.12.2025 13/01/2025 10/2025
"""
words = st.sampled_from(_WORDS.split())
questions = st.lists(words, max_size=12).map(" ".join) | st.text(max_size=60)


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "stop"),
    [
        ("what did we deploy last Tuesday?", day(2026, 3, 17), day(2026, 3, 18)),
        ("the deploy on Wednesday", day(2026, 3, 18), day(2026, 3, 19)),
        ("the deploy last wed", day(2026, 3, 11), day(2026, 3, 12)),
        ("yesterday's deploy", day(2026, 3, 17), day(2026, 3, 18)),
        ("the day before yesterday", day(2026, 3, 16), day(2026, 3, 17)),
        ("this morning", day(2026, 3, 18), day(2026, 3, 19)),
        ("last night", day(2026, 3, 17), day(2026, 3, 18)),
        ("what broke in May?", day(2025, 5, 1), day(2025, 6, 1)),
        ("what broke in march", day(2026, 3, 1), day(2026, 4, 1)),
        ("February's numbers", day(2026, 2, 1), day(2026, 3, 1)),
        ("at the beginning of May 2024", day(2024, 5, 1), day(2024, 6, 1)),
        ("on 3 March", day(2026, 3, 3), day(2026, 3, 4)),
        ("on 3 April", day(2025, 4, 3), day(2025, 4, 4)),
        ("May 3rd, 2025", day(2025, 5, 3), day(2025, 5, 4)),
        ("the 1st of Dec. 2025", day(2025, 12, 1), day(2025, 12, 2)),
        ("what was decided 2025-03-01?", day(2025, 3, 1), day(2025, 3, 2)),
        ("was wurde 2025/3/1 beschlossen", day(2025, 3, 1), day(2025, 3, 2)),
        ("2025-03-01T12:00:00Z", day(2025, 3, 1), day(2025, 3, 2)),
        ("costs of 2025-02", day(2025, 2, 1), day(2025, 3, 1)),
        ("last week", day(2026, 3, 9), day(2026, 3, 16)),
        ("this week", day(2026, 3, 16), day(2026, 3, 23)),
        ("last weekend", day(2026, 3, 14), day(2026, 3, 16)),
        ("last month", day(2026, 2, 1), day(2026, 3, 1)),
        ("previous quarter", day(2025, 10, 1), day(2026, 1, 1)),
        ("last year", day(2025, 1, 1), day(2026, 1, 1)),
        ("in 2024", day(2024, 1, 1), day(2025, 1, 1)),
        ("Q2 2024", day(2024, 4, 1), day(2024, 7, 1)),
        ("in Q4", day(2025, 10, 1), day(2026, 1, 1)),
        ("two days ago", day(2026, 3, 16), day(2026, 3, 17)),
        ("3 hours ago", day(2026, 3, 18), day(2026, 3, 19)),
        ("before June", EARLIEST, day(2025, 6, 1)),
        ("by 10 July 2025", EARLIEST, day(2025, 7, 11)),
        ("since Monday", day(2026, 3, 16), NOW),
        ("after 1 March", day(2026, 3, 2), NOW),
        ("between March and April", day(2025, 3, 1), day(2025, 5, 1)),
        ("from November to January", day(2025, 11, 1), day(2026, 2, 1)),
        ("from 3 May to 7 May 2025", day(2025, 5, 3), day(2025, 5, 8)),
        ("between August 11 and August 15 2023", day(2023, 8, 11), day(2023, 8, 16)),
        ("2025-03-01 - 2025-03-05", day(2025, 3, 1), day(2025, 3, 6)),
        ("the week before 16 November 2023", day(2023, 11, 9), day(2023, 11, 16)),
        ("two days after May 3, 2025", day(2025, 5, 4), day(2025, 5, 6)),
        ("Monday last week", day(2026, 3, 9), day(2026, 3, 10)),
        ("last week's Friday", day(2026, 3, 13), day(2026, 3, 14)),
        ("Sunday the week before last", day(2026, 3, 8), day(2026, 3, 9)),
        ("the cat sat last week", day(2026, 3, 9), day(2026, 3, 16)),
        ("this Monday", day(2026, 3, 16), day(2026, 3, 17)),
        ("the week before last", day(2026, 3, 2), day(2026, 3, 9)),
        ("the week before last Tuesday", day(2026, 3, 10), day(2026, 3, 17)),
        ("the month before last", day(2026, 1, 1), day(2026, 2, 1)),
        ("the weekend before last", day(2026, 3, 7), day(2026, 3, 9)),
        ("this past weekend", day(2026, 3, 14), day(2026, 3, 16)),
        ("in May last year", day(2025, 5, 1), day(2025, 6, 1)),
        ("on 3 March this year", day(2026, 3, 3), day(2026, 3, 4)),
        ("June-August 2025", day(2025, 6, 1), day(2025, 9, 1)),
        ("Jun-Sep 2025", day(2025, 6, 1), day(2025, 10, 1)),
        ("June to August 2025", day(2025, 6, 1), day(2025, 9, 1)),
        ("November to January", day(2025, 11, 1), day(2026, 2, 1)),
        ("June 3 - August 5 2025", day(2025, 6, 3), day(2025, 8, 6)),
        ("from Thursday to Monday", day(2026, 3, 12), day(2026, 3, 17)),
        ("from Monday to Sunday", day(2026, 3, 9), day(2026, 3, 16)),
        ("was am 31.12.2025 geschah", day(2025, 12, 31), day(2026, 1, 1)),
        ("it broke on 1.2.2025.", day(2025, 2, 1), day(2025, 2, 2)),
        ("31/12/2025", day(2025, 12, 31), day(2026, 1, 1)),
        ("12/31/2025", day(2025, 12, 31), day(2026, 1, 1)),
        ("31-12-2025", day(2025, 12, 31), day(2026, 1, 1)),
        ("05/05/2025", day(2025, 5, 5), day(2025, 5, 6)),
        ("10/2025", day(2025, 10, 1), day(2025, 11, 1)),
        ("since 3/2025", day(2025, 3, 1), NOW),
        ("last summer", day(2025, 6, 1), day(2025, 9, 1)),
        ("last winter", day(2025, 12, 1), day(2026, 3, 1)),
        ("this spring", day(2026, 3, 1), day(2026, 6, 1)),
        ("last spring", day(2025, 3, 1), day(2025, 6, 1)),
        ("fall 2024", day(2024, 9, 1), day(2024, 12, 1)),
        ("fifteen days ago", day(2026, 3, 3), day(2026, 3, 4)),
        ("twenty-five days ago", day(2026, 2, 21), day(2026, 2, 22)),
        ("30 minutes ago", day(2026, 3, 18), day(2026, 3, 19)),
    ],
)
def test_a_date_in_words_is_a_span(question: str, start: datetime, stop: datetime) -> None:
    (span,) = date_spans(question, NOW)
    assert (span.start, span.stop) == (start, stop)


@pytest.mark.parametrize(
    ("question", "around", "width"),
    [
        ("two weeks ago", NOW - timedelta(weeks=2), timedelta(weeks=1)),
        ("a month ago", NOW - timedelta(days=30), timedelta(days=30)),
        ("past two weeks", NOW - timedelta(weeks=1), timedelta(weeks=2)),
        ("in the last 3 days", NOW - timedelta(days=1.5), timedelta(days=3)),
    ],
)
def test_a_relative_time_is_a_span_around_it(question: str, around: datetime, width: timedelta) -> None:
    (span,) = date_spans(question, NOW)
    assert abs((span.start + (span.stop - span.start) / 2) - around) < timedelta(seconds=1)
    assert abs((span.stop - span.start) - width) < timedelta(seconds=1)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "it may march on",
        "may I use it, and how may 3 workers share it?",
        "how do I march through may 3 times",
        "before the migration",
        "since the last release",
        "after the last deploy",
        "the last day of the sprint",
        "get the last record",
        "date of last modification",
        "every Monday",
        "on Mondays",
        "the sat solver in the sun",
        "dec and jan are fields",
        "port 2024",
        "after 2000 rows",
        "in 2048 bytes",
        "in 2024 releases",
        "gpt-4-2025-03-01",
        "version 2025.03.01",
        "10.0.2025.1",
        "31 June",
        "2025-02-30",
        "tomorrow",
        "next week",
        "on 3 March 2030",
        "in 5 days",
        "within two weeks",
        "3.10 on 8:30",
        "next Tuesday",
        "by next  Friday",
        "this Friday",
        "the coming Monday",
        "Friday next week",
        "next week on Friday",
        "next May",
        "next March 3rd",
        "in May next year",
        "next year in May",
        "next summer",
        "this summer",
        "03/01/2025",
        "03-01-2025",
        "31/31/2025",
        "13/2025",
        "version 10.1.2025.3",
        "10/2025/03",
        "beans in Spring",
        "did it fall on the way",
        "a last minute fix",
        "1.5 days ago",
        "two hundred days ago",
    ],
)
def test_other_words_and_future_dates_have_no_span(question: str) -> None:
    assert date_spans(question, NOW) == ()


def test_each_date_of_a_query_has_its_span() -> None:
    found = date_spans("yesterday and in May 2024", NOW)
    assert [span.start for span in found] == [day(2026, 3, 17), day(2024, 5, 1)]


def test_very_distant_dates_raise_nothing() -> None:
    for now in (EARLIEST, datetime.max.replace(tzinfo=UTC)):
        for text in (
            "999 years after yesterday",
            "999 years before today",
            "last winter",
            "Monday the week before last",
        ):
            assert all(span.start <= now for span in date_spans(text, now))


def test_a_date_with_a_year_is_surest_and_a_bare_year_least_sure() -> None:
    with_year, without, bare = (date_spans(text, NOW)[0].sure for text in ("in May 2024", "in May", "in 2024"))
    assert with_year > without > bare > 0.0


def test_dates_far_down_in_pasted_text_are_ignored() -> None:
    assert date_spans("x " * 2_000 + "yesterday", NOW) == ()


@given(
    st.sampled_from(["next", "coming", "the following", "every"]),
    st.sampled_from(["Tuesday", "May", "May 3rd"]),
    instants,
)
def test_next_dates_have_no_span(which: str, date: str, now: datetime) -> None:
    assert date_spans(f"what happens {which} {date}", now) == ()


@given(questions, instants)
def test_spans_are_valid_for_every_query_and_time(question: str, now: datetime) -> None:
    for span in date_spans(question, now):
        assert span.start < span.stop
        assert span.start <= now
        assert 0.0 < span.sure <= 1.0


@pytest.mark.parametrize("question", ["YESTERDAY", "Last Tuesday", "In mAY", "May 3", "3 March", "march 3rd"])
def test_case_matters_only_for_ambiguous_words(question: str) -> None:
    assert len(date_spans(question, NOW)) == 1


@given(instants, instants, st.timedeltas(timedelta(hours=1), timedelta(days=400)))
def test_closeness_is_one_within_a_span_and_falls_with_the_distance(
    at: datetime, start: datetime, length: timedelta
) -> None:
    if start > datetime.max.replace(tzinfo=UTC) - length - timedelta(days=2):
        return
    span = Span(start, start + length, 1.0)
    here = closeness(at, span)
    assert 0.0 <= here <= 1.0
    assert (here == 1.0) == (span.start <= at < span.stop) or abs(at - span.stop) < timedelta(microseconds=1)
    if at >= span.stop and at < datetime.max.replace(tzinfo=UTC) - timedelta(days=2):
        assert closeness(at + timedelta(days=1), span) <= here


def test_closeness_halves_after_a_day_next_to_a_day_and_after_two_weeks_next_to_a_year() -> None:
    assert closeness(day(2026, 3, 2), Span(day(2026, 3, 3), day(2026, 3, 4), 1.0)) == pytest.approx(0.5)
    assert closeness(day(2026, 1, 15), Span(day(2025, 1, 1), day(2026, 1, 1), 1.0)) == pytest.approx(0.5)
