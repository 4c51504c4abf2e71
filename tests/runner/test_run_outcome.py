"""What becomes of a task when its run ends."""

import signal
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.runner.model import LEAST_COST, RunLimits
from hivelore.runner.outcome import (
    Abandoned,
    Completed,
    Exit,
    Failed,
    HandedBack,
    Outcome,
    StopReason,
    decide_outcome,
)
from hivelore.runner.stream_events import RunState

BEGUN = RunState(session="s", last_text="I found the bug.")
ANSWERED = RunState(session="s", last_text="Done.", answer="Done.")
BROKEN = RunState(session="s", last_text="Hm.", failure="The model is overloaded.")


def test_d60_an_answer_completes_a_task() -> None:
    assert decide_outcome(ANSWERED, Exit(code=0)) == Completed("Done.")


@pytest.mark.parametrize("code", [1, 143, -signal.SIGKILL, -signal.SIGSEGV])
@pytest.mark.parametrize("stopped", [None, StopReason.SHUTDOWN, StopReason.TIME, StopReason.DISK_FULL])
def test_an_answer_counts_however_the_program_ended_after_it(code: int, stopped: StopReason | None) -> None:
    assert decide_outcome(ANSWERED, Exit(code=code, stopped=stopped)) == Completed("Done.")


@pytest.mark.parametrize(
    ("state", "ended", "kind", "words"),
    [
        (BROKEN, Exit(code=1), Failed, "The model is overloaded."),
        (BEGUN, Exit(code=3, complaint="segfault"), Failed, "exit code 3. segfault"),
        (BEGUN, Exit(code=0), Failed, "without an answer"),
        (BEGUN, Exit(code=-signal.SIGKILL), Failed, "ended by SIGKILL"),
        (RunState(), Exit(code=None, complaint="No such file"), HandedBack, "could not be started: No such file"),
        (RunState(unreadable=7), Exit(code=0), HandedBack, "before a session began"),
        (BEGUN, Exit(code=143, stopped=StopReason.SHUTDOWN), HandedBack, "asked to stop"),
        (BEGUN, Exit(code=-9, stopped=StopReason.TIME), Failed, "time limit"),
        (BEGUN, Exit(code=-9, stopped=StopReason.LEASE_LOST), Abandoned, "lease"),
        (ANSWERED, Exit(code=0, stopped=StopReason.CANCELLED), Abandoned, "cancelled"),
    ],
)
def test_other_ends(state: RunState, ended: Exit, kind: type[Outcome], words: str) -> None:
    outcome = decide_outcome(state, ended)
    assert isinstance(outcome, kind)
    assert not isinstance(outcome, Completed)
    assert words in outcome.reason


def test_only_a_program_that_began_no_session_is_a_fault_of_this_machine() -> None:
    assert decide_outcome(RunState(), Exit(code=127)) == HandedBack(
        "The agent program ended with exit code 127 before a session began. It said nothing.", "", is_fault_here=True
    )
    assert not getattr(decide_outcome(BEGUN, Exit(code=-9)), "is_fault_here", None)


def test_a_limit_is_not_tried_again() -> None:
    assert decide_outcome(BEGUN, Exit(code=-15, stopped=StopReason.TIME)) == Failed(
        "The time limit of the task has passed.", "I found the bug.", is_final=True
    )


STATES = st.builds(
    RunState, session=st.none() | st.just("s"), last_text=st.text(), answer=st.none() | st.text(), failure=st.none()
)
EXITS = st.builds(
    Exit, code=st.none() | st.integers(-64, 255), stopped=st.none() | st.sampled_from(StopReason), complaint=st.text()
)


@given(STATES, EXITS)
def test_a_task_that_is_no_longer_ours_is_never_completed_or_failed(state: RunState, ended: Exit) -> None:
    outcome = decide_outcome(state, ended)
    lost = ended.stopped in (StopReason.LEASE_LOST, StopReason.PAUSED, StopReason.CANCELLED)
    assert isinstance(outcome, Abandoned) == lost


@given(STATES, EXITS)
def test_a_stop_without_an_answer_keeps_the_progress(state: RunState, ended: Exit) -> None:
    outcome = decide_outcome(state, ended)
    if not isinstance(outcome, Completed):
        assert outcome.progress == state.last_text.replace("\0", "")
        assert outcome.reason


@given(st.floats(0.01, 1000), st.floats(0, 1000), st.floats(0, 1000))
def test_the_limit_of_costs_is_shared_by_all_attempts(most: float, first: float, second: float) -> None:
    limits = RunLimits(time=timedelta(hours=1), cost_usd=most)
    left = limits.after(first + second)
    assert (left is None) == (most - (first + second) < LEAST_COST)
    if left is not None:
        assert left.time == limits.time
        assert left.cost_usd == most - (first + second)
        assert limits.after(first) is not None


def test_without_a_limit_of_costs_none_is_reached() -> None:
    assert RunLimits().after(10**6) == RunLimits()
