"""Reports of agents about their clones: which report counts, and which is out of date."""

from datetime import datetime, timedelta

from hivelore.repos.model import RepoReport, Staleness


def is_newer(known: RepoReport | None, fresh: RepoReport, replaces: str | None) -> bool:
    """Returns True if a report may take the place of the known one.

    Its commit is a later one, or its sender knew the commit that it replaces (``replaces``) before it asked the remote
    repository, whose history may have been rewritten. So a slow machine does not bring back an earlier state.
    """
    if known is None or known.commit == fresh.commit or known.commit == replaces:
        return True
    return fresh.committed_at > known.committed_at


def report_for(shared: RepoReport | None, own: RepoReport | None) -> RepoReport | None:
    """Returns the report that a worker sees: its own, unless there is one of a lead or operator with a later commit
    that was not known when its own was accepted."""
    if shared is None or own is None:
        return own or shared
    is_own = own.shared_commit == shared.commit or own.committed_at >= shared.committed_at
    return own if is_own else shared


def staleness(report: RepoReport, now: datetime, most: timedelta) -> Staleness | None:
    """Returns why the instructions in a report may be out of date; ``most``: how long they count, zero for ever."""
    if report.clone_commit != report.commit:
        return Staleness.MOVED
    return Staleness.OLD if timedelta() < most < now - report.at else None
