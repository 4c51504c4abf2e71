"""Short ids: the shortest beginning of an id that no other one shares."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.id_prefix import LEAST_PREFIX, id_made_at, shortest_prefix
from hivelore.core.ids import uuid7
from support.clocks import START

ids = st.text("01", min_size=36, max_size=36)
instants = st.integers(0, 10**9).map(lambda number: START + timedelta(milliseconds=number))


@given(ids, st.lists(ids))
def test_a_short_id_is_the_shortest_beginning_that_no_other_id_shares(one: str, others: list[str]) -> None:
    others = [other for other in others if other != one]
    short = shortest_prefix(one, [one, *others])
    assert one.startswith(short)
    assert len(short) >= LEAST_PREFIX
    assert not any(other.startswith(short) for other in others)
    assert len(short) == LEAST_PREFIX or any(other.startswith(short[:-1]) for other in others)


def test_a_short_id_does_not_end_with_a_hyphen() -> None:
    assert shortest_prefix("01a00000-0000", [], 9) == "01a00000"


@given(instants, instants)
def test_no_id_that_is_made_later_begins_like_a_short_id(made: datetime, later: datetime) -> None:
    made, later = min(made, later), max(made, later) + timedelta(milliseconds=1)
    short = shortest_prefix(uuid7(made), [id_made_at(later)])
    assert not uuid7(later).startswith(short)
