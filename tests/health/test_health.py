"""When a failure counts as a problem, and how long a failing worker pauses."""

from hypothesis import given
from hypothesis import strategies as some

from hivelore.health import state

SECONDS = some.floats(0.0, 1e6)


@given(SECONDS, SECONDS)
def test_a_single_failure_is_no_problem_and_a_repeated_one_is(began: float, more: float) -> None:
    assert not state.is_confirmed(began, began)
    assert state.is_confirmed(began, began + state.CONFIRMED + 0.01 + more)


@given(SECONDS, SECONDS, SECONDS)
def test_a_lasting_problem_stays_lasting_and_was_confirmed_before(began: float, now: float, later: float) -> None:
    if state.is_lasting(began, now):
        assert state.is_lasting(began, now + later)
        assert state.is_confirmed(began, now)


@given(some.integers(1, 10_000))
def test_pauses_of_a_worker_grow_up_to_one_minute(failures: int) -> None:
    assert (
        state.FIRST_PAUSE <= state.restart_pause(failures) <= state.restart_pause(failures + 1) <= state.LONGEST_PAUSE
    )


@given(some.integers(0, 100))
def test_a_worker_is_stuck_after_some_unexpected_failures_in_a_row(failures: int) -> None:
    assert state.is_stuck(failures) is (failures >= state.STUCK)
