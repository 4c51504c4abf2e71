"""Quantities in different notations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.observations.contradiction.judge import Verdict, judge
from hivelore.observations.contradiction.pieces import folded, pieces
from hivelore.observations.contradiction.quantities import Quantity, quantities

MINUTE, HOUR = 60.0, 3_600.0
ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def read(text: str) -> list[Quantity]:
    return quantities(pieces(folded(text)))[0]


def in_words(number: int) -> str:
    """Returns a number from 1 to 999,999 in words."""
    if number >= 1_000:
        rest = number % 1_000
        return f"{in_words(number // 1_000)} thousand" + (f" {in_words(rest)}" if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{ONES[number // 100]} hundred" + (f" and {in_words(rest)}" if rest else "")
    if number >= 20:
        return TENS[number // 10 - 2] + (f"-{ONES[number % 10]}" if number % 10 else "")
    return TEENS[number - 10] if number >= 10 else ONES[number]


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("a minute and a half", "span", 1.5 * MINUTE),
        ("two and a half minutes", "span", 2.5 * MINUTE),
        ("half an hour", "span", 0.5 * HOUR),
        ("a quarter of an hour", "span", 0.25 * HOUR),
        ("an hour and a quarter", "span", 1.25 * HOUR),
        ("three quarters of an hour", "span", 0.75 * HOUR),
        ("a tenth of a second", "span", 0.1),
        ("1 h 30 min", "span", 1.5 * HOUR),
        ("1 hour and 30 minutes", "span", 1.5 * HOUR),
        ("an hour and ten minutes", "span", HOUR + 10 * MINUTE),
        ("1m30s", "span", 1.5 * MINUTE),
        ("a fortnight", "span", 14 * 24 * HOUR),
        ("a couple of minutes", "span", 2 * MINUTE),
        ("half-hourly", "span", 0.5 * HOUR),
        ("30-40 s", "span", 35.0),
        ("between 30 and 40 seconds", "span", 35.0),
        ("five to ten minutes", "span", 7.5 * MINUTE),
        ("half a gigabyte", "size", 5e8),
        ("half of memory", "percent", 50.0),
        ("half the memory", "percent", 50.0),
        ("a quarter of the heap", "percent", 25.0),
        ("three quarters of the disk", "percent", 75.0),
        ("one tenth of the requests", "percent", 10.0),
        ("at 2 a.m.", "time of day", "02:00"),
        ("at 2:30pm", "time of day", "14:30"),
        ("at 2 o'clock", "time of day", "02:00"),
        ("every night at 2", "time of day", "02:00"),
        ("each night at three", "time of day", "03:00"),
        ("a dozen retries", "count", 12.0),
        ("10 000 rows", "count", 10_000.0),
        ("10 thousand rows", "count", 10_000.0),
        ("1.5 million rows", "count", 1_500_000.0),
        ("listens on localhost:8096", "port", "8096"),
        ("listens on tcp/8096", "port", "8096"),
        ("listens on 8096/tcp", "port", "8096"),
    ],
)
def test_a_quantity_is_read(text: str, dimension: str, value: float | str) -> None:
    (found,) = [one for one in read(text) if one.value != 86_400.0]
    assert (found.dimension, found.value) == (dimension, value)


@pytest.mark.parametrize(
    "text",
    [
        "in the third hour",
        "the third of May",
        "a third party",
        "the first half of the night",
        "the media of remote servers",
        "a half-open connection",
        "the last quarter of the log",
        "the image registry/app",
    ],
)
def test_other_texts_are_not_read_as_a_share(text: str) -> None:
    assert [one for one in read(text) if one.dimension in ("percent", "span")] == []


@given(st.integers(2, 999_999), st.sampled_from(["rows", "minutes", "percent", "megabytes"]))
def test_a_number_in_words_is_the_number_in_digits(number: int, of: str) -> None:
    (said,), (written,) = read(f"It has {in_words(number)} {of}"), read(f"It has {number} {of}")
    assert (said.dimension, said.value) == (written.dimension, written.value)


@given(st.integers(1, 23), st.integers(0, 59))
def test_times_of_the_12_and_24_hour_clock_are_equal(hour: int, minute: int) -> None:
    half = f"{(hour - 1) % 12 + 1}:{minute:02}"
    for said in (f"{half}{'ap'[hour >= 12]}m", f"{half} {'ap'[hour >= 12]}.m.", f"{half} {'AP'[hour >= 12]}M"):
        assert [one.value for one in read(f"Runs at {said}")] == [f"{hour:02}:{minute:02}"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fails when it has more than 10k rows.", "Fails when it has more than 10,000 rows."),
        ("Buffers are limited to 10k", "Buffers are limited to ten thousand"),
        ("The heap may take half of memory", "The heap may take 50 % of memory"),
        ("Waits two and a half minutes", "Waits 150 s"),
        ("A rebuild takes five to ten minutes", "A rebuild takes 5-10 min"),
    ],
)
def test_equal_quantities_in_different_notations_are_the_same(one: str, other: str) -> None:
    assert judge(one, other, None).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The heap may take half of memory", "The heap may take a quarter of memory"),
        ("Waits two and a half minutes", "Waits half a minute"),
        ("The table has 2.4 billion rows", "The table has 2.4 million rows"),
        ("The backup runs at 2:30pm", "The backup runs at 2:30am"),
    ],
)
def test_different_quantities_in_words_conflict(one: str, other: str) -> None:
    assert judge(one, other, None).verdict is Verdict.CONFLICT


@pytest.mark.parametrize("part", ["million ", "1 to ", "one to ", "half of ", "a quarter of ", "and a half ", "000 "])
def test_a_very_long_number_is_read_fast(part: str) -> None:
    for text in (part * 500, f"two {part * 500}", f"2 {part * 500} am"):
        assert judge(text, "two minutes", None).reasons
