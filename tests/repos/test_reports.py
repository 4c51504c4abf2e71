"""Reports of agents about their clones."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.repos.model import RepoReport, Staleness
from hivelore.repos.reports import is_newer, report_for, staleness
from support.memories import instant
from support.repos import a_report, commit


def _report(number: int, minutes: int) -> RepoReport:
    return a_report(commit=commit(number), clone_commit=commit(number), committed_at=instant(minutes))


reports = st.builds(_report, st.integers(0, 3), st.integers(0, 5))
WEEK = timedelta(days=7)


def test_the_first_report_counts() -> None:
    assert is_newer(None, a_report(), None)


@given(known=reports, fresh=reports)
def test_a_later_commit_counts_and_an_earlier_one_does_not(known: RepoReport, fresh: RepoReport) -> None:
    expected = known.commit == fresh.commit or fresh.committed_at > known.committed_at
    assert is_newer(known, fresh, None) is expected


@given(known=reports, fresh=reports)
def test_who_knew_the_last_commit_may_report_any(known: RepoReport, fresh: RepoReport) -> None:
    assert is_newer(known, fresh, known.commit)


@given(one=reports, other=reports)
def test_two_machines_do_not_replace_each_others_commits_in_turn(one: RepoReport, other: RepoReport) -> None:
    if one.commit != other.commit:
        assert not (is_newer(one, other, None) and is_newer(other, one, None))


@given(shared=st.none() | reports, own=st.none() | reports)
def test_a_worker_sees_the_later_of_its_own_and_the_shared_report(
    shared: RepoReport | None, own: RepoReport | None
) -> None:
    seen = report_for(shared, own)
    there = [one for one in (shared, own) if one is not None]
    assert (seen is None) is (not there)
    if seen is not None:
        assert seen in there
        assert all(seen.committed_at >= one.committed_at for one in there)


@given(shared=reports, own=reports)
def test_a_worker_sees_its_report_while_the_one_whose_place_it_took_is_there(
    shared: RepoReport, own: RepoReport
) -> None:
    own = replace(own, shared_commit=shared.commit)
    assert report_for(shared, own) is own


def test_instructions_are_stale_if_the_clone_moved_or_time_passed() -> None:
    report = a_report(at=instant(0))
    assert staleness(report, instant(1), WEEK) is None
    assert staleness(report, report.at + WEEK, WEEK) is None
    assert staleness(report, report.at + WEEK + timedelta(seconds=1), WEEK) is Staleness.OLD
    assert staleness(report, report.at + 1_000 * WEEK, timedelta()) is None
    moved = replace(report, clone_commit=commit(9))
    assert staleness(moved, instant(1), WEEK) is Staleness.MOVED
