"""Cursors of pages."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.paging import cursor_of, cut_page, position_of
from hivelore.errors import Invalid

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


@given(at=st.datetimes(timezones=st.just(UTC)), key=st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_cursor_names_its_position_without_characters_to_escape(at: datetime, key: str) -> None:
    cursor = cursor_of(at, key)
    assert position_of(cursor) == (at, key)
    assert not set(cursor) & set("+&?#/ =%") - {"%"}


def test_cursors_are_in_utc() -> None:
    assert cursor_of(AT.astimezone(timezone(timedelta(hours=2))), "a") == "2026-01-31T12:00:00Z~a"


def test_a_page_has_a_cursor_only_if_more_follows() -> None:
    assert cut_page("abc", 2, lambda key: (AT, key)) == (("a", "b"), cursor_of(AT, "b"))
    assert cut_page("ab", 2, lambda key: (AT, key)) == (("a", "b"), None)
    assert cut_page("", 2, lambda key: (AT, key)) == ((), None)


@pytest.mark.parametrize(
    "cursor", ["", "~", "x~y", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z~", "2026-01-31T12:00:00~a"]
)
def test_other_texts_are_refused(cursor: str) -> None:
    with pytest.raises(Invalid, match="next"):
        position_of(cursor)
