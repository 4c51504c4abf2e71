"""Passages that could not be embedded are tried again with growing pauses."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hivelore.embeddings.queue import FIRST_RETRY_PAUSE, LONGEST_RETRY_PAUSE, retry_pause


@given(st.integers(0, 1_000_000))
def test_pauses_grow_up_to_the_longest(failures: int) -> None:
    assert FIRST_RETRY_PAUSE <= retry_pause(failures) <= retry_pause(failures + 1) <= LONGEST_RETRY_PAUSE


def test_a_temporary_refusal_costs_minutes_and_a_lasting_one_a_request_a_day() -> None:
    assert [retry_pause(failures) for failures in (1, 2, 3)] == [
        timedelta(seconds=30),
        timedelta(minutes=2),
        timedelta(minutes=8),
    ]
    assert retry_pause(20) == timedelta(days=1)
