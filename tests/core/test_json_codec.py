"""Requests and answers as JSON: accepted input, and the errors for other input."""

import json
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from hivelore.core.values import DayOrInstant, Instant, NotJson, Request, Value, convert, decode, from_text, validated
from hivelore.errors import Invalid

SECRET = "sk-live-9f8e7d6c5b4a3f2e1d0c"


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Request, frozen=True):
    color: Color = Color.RED
    size: Literal["small", "large"] = "small"


class Order(Request, frozen=True):
    article: str
    limit: Annotated[int, Meta(ge=1, le=9)] = 5
    weight: float | None = None
    is_gift: bool = False
    ids: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    by_name: dict[str, Part] = {}
    at: Instant | None = None
    since: DayOrInstant | None = None
    note: Annotated[str, Meta(max_length=5)] | None = None


class Receipt(Value, frozen=True):
    number: int


def refused(**given: Any) -> Invalid:
    with pytest.raises(Invalid) as error:
        convert(Order, {"article": "tea", **given})
    return error.value


def test_text_that_is_not_json_is_refused() -> None:
    for text in (b"{", b"nothing", b'{"article": "\xff"}', b'{"limit": NaN}'):
        with pytest.raises(NotJson):
            decode(Order, text)
    with pytest.raises(NotJson):
        decode(dict[str, Any], b'{"article": ' + b"[" * 100_000)


def test_arguments_of_a_url_are_read_from_text() -> None:
    given = {"article": "tea", "limit": "3", "weight": "1.5", "isGift": "true", "ids": ["1", "2"]}
    assert from_text(Order, given) == Order("tea", 3, 1.5, True, ("1", "2"))
    assert from_text(Order, {"article": "7", "at": "2026-01-31T12:00:00Z"}) == Order(
        "7", at=datetime(2026, 1, 31, 12, tzinfo=UTC)
    )
    for wrong in ({"limit": "many"}, {"limit": "10"}, {"isGift": "perhaps"}, {"at": "12"}):
        with pytest.raises(Invalid) as error:
            from_text(Order, {"article": "tea", **wrong})
        assert error.value.field in wrong


@pytest.mark.parametrize(
    ("given", "field", "text"),
    [
        ({"limit": 10}, "limit", "limit must be 1 to 9."),
        ({"limit": "3"}, "limit", "limit must be 1 to 9."),
        ({"isGift": 1}, "isGift", "isGift must be true or false, not a whole number."),
        ({"weight": "1"}, "weight", "weight must be a number or null, not a text."),
        ({"at": "tomorrow"}, "at", "at must be a time like 2026-01-31T12:00:00Z."),
        ({"at": "2026-01-31T12:00:00"}, "at", "at needs a time zone, like 2026-01-31T12:00:00Z."),
        ({"note": "too long"}, "note", "note must have at most 5 characters."),
        ({"parts": [{"color": SECRET}]}, "parts[0].color", "parts[0].color must be one of red, blue."),
        ({"parts": [{}, {"size": SECRET}]}, "parts[1].size", "parts[1].size must be one of small, large."),
        ({"byName": {SECRET: {"color": 1}}}, "byName[...].color", "byName[...].color must be one of red, blue."),
        ({"limt": 3}, "limt", "Unknown field 'limt'. Did you mean 'limit'?"),
        ({"parts": [{"colour": "red"}]}, "parts[0].colour", "Unknown field 'colour'. Did you mean 'color'?"),
        (
            {SECRET: 1},
            "body",
            "Unknown field. Known are: article, limit, weight, isGift, ids, parts, byName, at, since, note.",
        ),
    ],
)
def test_an_error_names_the_field_and_what_it_takes(given: dict[str, Any], field: str, text: str) -> None:
    error = refused(**given)
    assert (error.field, str(error)) == (field, text)


def test_an_error_repeats_no_value_and_no_name_that_may_be_a_secret() -> None:
    for given in (
        {"article": [SECRET]},
        {"parts": [{"color": SECRET}]},
        {"at": SECRET},
        {SECRET: SECRET},
        {"parts": [{SECRET: 1}]},
        {"x" * 5_000: 1},
    ):
        error = refused(**given)
        assert SECRET not in f"{error} {error.field}"
        assert len(str(error)) < 200


def test_a_missing_field_is_named() -> None:
    with pytest.raises(Invalid, match=r"^article is required\.$") as error:
        convert(Order, {})
    assert error.value.field == "article"
    with pytest.raises(Invalid, match=r"^body must be an object, not a list\.$"):
        decode(Order, b"[1]")


def test_a_request_made_in_python_passes_the_same_checks() -> None:
    order = Order("tea", ids=("1",), at=datetime(2026, 1, 31, 12, tzinfo=UTC))
    assert validated(order) == order
    wrong: Any
    for wrong in (Order("\ud800"), Order("tea", limit=0), Order(7), Order(datetime.now(UTC)), Order("tea", at="soon")):  # type: ignore[arg-type]
        with pytest.raises(Invalid):
            validated(wrong)


def test_an_answer_may_have_fields_of_a_newer_service() -> None:
    assert decode(Receipt, b'{"number": 1, "color": "red"}') == Receipt(1)


class Schedule(Request, frozen=True):
    orders: tuple[Order, ...]


@pytest.mark.parametrize("text", ["2026-01-31T12:00Z", "2026-01-31 12:00+00:00", "2026-01-31T12Z", "20260131T120000Z"])
def test_times_need_not_be_complete(text: str) -> None:
    order = {"article": "tea", "at": text}
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert convert(Order, order).at == at
    assert from_text(Order, order).at == at
    many = json.dumps({"orders": [order, {"article": "soap"}, order]}).encode()
    assert [one.at for one in decode(Schedule, many).orders] == [at, None, at]


@pytest.mark.parametrize("text", ["tomorrow", "2026-01-31", "2026-01-31T12:00", ""])
def test_a_text_that_is_no_time_with_a_zone_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as error:
        decode(Schedule, json.dumps({"orders": [{"article": "tea", "at": text}]}).encode())
    assert error.value.field == "orders[0].at"


def test_a_date_is_the_start_of_that_day_where_a_field_takes_days() -> None:
    start = datetime(2026, 1, 31, tzinfo=UTC)
    order = {"article": "tea", "since": "2026-01-31"}
    assert convert(Order, order).since == from_text(Order, order).since == start
    many = json.dumps({"orders": [order, {"article": "soap"}, order]}).encode()
    assert [one.since for one in decode(Schedule, many).orders] == [start, None, start]
    day: Any
    for day in (date(2026, 1, 31), "2026-01-31", start):
        assert validated(Order("tea", since=day)).since == start
    assert convert(Order, {"article": "tea", "since": "2026-01-31T12Z"}).since == start + timedelta(hours=12)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("soon", "must be a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z."),
        ("2026-02-30", "must be a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z."),
        ("2026-01-31T12:00", "needs a time zone, like 2026-01-31T12:00:00Z."),
        (7, "must be a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z or null, not a whole number."),
    ],
)
def test_what_is_no_day_and_no_time_is_refused(given: Any, text: str) -> None:
    error = refused(since=given)
    assert (error.field, str(error)) == ("since", f"since {text}")


def test_a_date_is_refused_where_a_field_takes_a_time() -> None:
    day: Any = date(2026, 1, 31)
    with pytest.raises(Invalid, match=r"^at must be a time like"):
        validated(Order("tea", at=day))
