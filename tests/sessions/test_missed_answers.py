"""Counts of answers that reached no agent."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hivelore.sessions.missed_answers import (
    DAYS,
    MissedAnswers,
    MissReason,
    add_miss,
    read_counts,
    sum_misses,
    write_counts,
)

TODAY = date(2026, 3, 1)
misses = st.tuples(
    st.integers(0, 2 * DAYS), st.sampled_from(["claude-code", "codex", "cursor"]), st.sampled_from(MissReason)
)


@given(st.lists(misses))
def test_the_misses_of_the_last_days_are_counted(found: list[tuple[int, str, MissReason]]) -> None:
    counts = read_counts(None)
    for ago, program, reason in sorted(found, reverse=True):
        counts = read_counts(write_counts(add_miss(counts, program, reason, TODAY - timedelta(days=ago))))
    recent = [(program, reason) for ago, program, reason in found if ago < DAYS]
    sums = {(one.program, reason): one.by_reason[reason] for one in sum_misses(counts, TODAY) for reason in MissReason}
    assert {each: count for each, count in sums.items() if count} == {each: recent.count(each) for each in recent}
    assert len(counts) <= DAYS


def test_programs_are_in_order_and_old_days_are_left_out() -> None:
    counts = add_miss({"2026-02-01": {"gemini": {"down": 4}}}, "codex", MissReason.LATE, TODAY)
    counts = add_miss(add_miss(counts, "claude-code", MissReason.DOWN, TODAY), "codex", MissReason.LATE, TODAY)
    assert sum_misses(counts, TODAY) == (
        MissedAnswers(program="claude-code", down=1),
        MissedAnswers(program="codex", late=2),
    )
    assert sum_misses(counts, TODAY + timedelta(days=DAYS)) == ()
