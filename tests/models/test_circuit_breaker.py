"""A circuit breaker: when it opens, how seldom it probes, when it closes, and who waits how long."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.models.guarded_embedder import (
    FAILURES,
    FIRST_PAUSE,
    FIRST_WAITERS,
    LONGEST_PAUSE,
    SILENCE,
    CircuitBreaker,
    Verdict,
    answered,
    failed,
    patience,
    pause,
    probed,
    verdict,
)

instants = st.floats(0.0, 1e6)
waits = st.floats(0.0, 2 * LONGEST_PAUSE)


def after_failures(count: int, now: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(count):
        breaker = failed(breaker, now, now)
    return breaker


@given(st.integers(0, 3 * FAILURES), instants)
def test_it_opens_after_a_number_of_consecutive_failures(count: int, now: float) -> None:
    breaker = after_failures(count, now)
    assert breaker.is_open == (count >= FAILURES)
    assert verdict(breaker, now) is (Verdict.REFUSE if count >= FAILURES else Verdict.ASK)


@given(st.integers(FAILURES, 40), instants, waits)
def test_it_probes_when_its_pause_is_over_and_not_again_before_the_next(count: int, now: float, waited: float) -> None:
    breaker = after_failures(count, now)
    then = now + waited
    assert (verdict(breaker, then) is Verdict.PROBE) == (then >= breaker.probe_at)
    if then >= breaker.probe_at:
        again = probed(breaker, then)
        assert verdict(again, then) is Verdict.REFUSE
        assert verdict(again, again.probe_at) is Verdict.PROBE


@given(st.integers(0, 10_000))
def test_pauses_grow_to_the_longest(count: int) -> None:
    assert FIRST_PAUSE <= pause(count) <= pause(count + 1) <= LONGEST_PAUSE
    assert pause(10_000) == LONGEST_PAUSE


@given(instants, st.lists(st.floats(0.001, 1e3), max_size=20))
def test_calls_from_before_the_opening_are_ignored(opened: float, earlier: list[float]) -> None:
    breaker = after_failures(FAILURES, opened)
    late = breaker
    for ago in earlier:
        late = failed(late, opened - ago, opened + ago)
    assert late == breaker


@given(instants, st.lists(st.floats(0.001, 1e3), max_size=20))
def test_one_answer_closes_it_and_calls_that_began_before_do_not_open_it_again(
    now: float, earlier: list[float]
) -> None:
    breaker = answered(now)
    for ago in earlier:
        breaker = failed(breaker, now - ago, now + ago)
    assert (breaker, breaker.is_open) == (answered(now), False)
    assert after_failures(FAILURES, now).is_open
    assert failed(breaker, now, now).failures == 1


@given(st.lists(st.tuples(st.floats(0.0, 5.0), st.booleans()), max_size=200))
def test_a_server_that_never_answers_is_asked_seldom(calls: list[tuple[float, bool]]) -> None:
    breaker, now, asked = CircuitBreaker(), 0.0, 0
    for later, fails_at_once in calls:
        now += later
        what = verdict(breaker, now)
        if what is Verdict.REFUSE:
            continue
        asked += 1
        if what is Verdict.PROBE:
            breaker = probed(breaker, now)
        if what is Verdict.ASK or fails_at_once:
            breaker = failed(breaker, now, now)
    assert asked <= FAILURES + 1 + now / FIRST_PAUSE


@given(instants, st.integers(0, 50), instants)
def test_all_but_the_first_give_up_on_a_server_that_is_silent(now: float, earlier: int, silent_since: float) -> None:
    left = patience(now, earlier=earlier, silent_since=silent_since)
    if earlier < FIRST_WAITERS:
        assert left is None
    else:
        assert left is not None
        assert (left <= 0.0) == (now >= silent_since + SILENCE) or abs(left) < 1e-6
