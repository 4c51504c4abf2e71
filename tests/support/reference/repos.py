"""Repositories of the reference store."""

from collections.abc import Collection, Sequence

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.repos.ports import ReportKey
from hivelore.repos.rules import name_key
from support.reference.state import State


class ReposView:
    """The part of ``storage.ports.View`` that reads repositories."""

    state: State

    def repo(self, repo: RepoId) -> Repo | None:
        return self.state.repos.get(repo)

    def repo_named(self, name: str) -> Repo | None:
        return next((one for one in self.state.repos.values() if name_key(one.name) == name_key(name)), None)

    def repos(self, after: str, limit: int, *, auto_clone: bool = False, has_texts: bool = True) -> Sequence[Repo]:
        behind = (one for one in self.state.repos.values() if name_key(one.name) > after)
        found = (one for one in behind if one.auto_clone or not auto_clone)
        page = sorted(found, key=lambda one: name_key(one.name))[:limit]
        return page if has_texts else [replace(one, guidelines=None) for one in page]

    def repo_count(self) -> int:
        return len(self.state.repos)

    def repo_ids_from(self, prefix: str, limit: int) -> Sequence[RepoId]:
        return sorted(one for one in self.state.repos if one.startswith(prefix))[:limit]

    def repo_reports(
        self, repos: Collection[RepoId], owner: AgentId | None, *, has_texts: bool = True
    ) -> Sequence[RepoReport]:
        found = (one for one in self.state.repo_reports.values() if one.repo in repos and one.owner in (None, owner))
        return [one if has_texts else replace(one, content=None) for one in sorted(found, key=_place)]

    def repo_reports_after(self, after: ReportKey, limit: int) -> Sequence[RepoReport]:
        behind = (one for one in self.state.repo_reports.values() if _place(one) > (after[0], after[1] or ""))
        return sorted(behind, key=_place)[:limit]

    def repo_changes(self, batch: BatchId) -> Sequence[RepoChange]:
        known = self.state.batches.get(batch)
        return [] if known is None else sorted(known.repo_changes, key=lambda one: one.repo)


def _place(report: RepoReport) -> tuple[RepoId, str]:
    return report.repo, report.owner or ""


def put(state: State, repo: Repo) -> State:
    for one in state.repos.values():
        if name_key(one.name) == name_key(repo.name) and one.id != repo.id:
            raise Conflict(f"Another repository has the name {repo.name}.")
    return replace(state, repos=state.repos.put(repo.id, repo))


def put_report(state: State, report: RepoReport) -> State:
    return replace(state, repo_reports=state.repo_reports.put((report.repo, report.owner), report))


def without_report(state: State, repo: RepoId, owner: AgentId | None) -> State:
    return replace(state, repo_reports=state.repo_reports.drop((repo, owner)))


def without_reports(state: State, repo: RepoId) -> State:
    kept = state.repo_reports
    for key in list(kept):
        if key[0] == repo:
            kept = kept.drop(key)
    return replace(state, repo_reports=kept)


def without(state: State, repo: RepoId) -> State:
    return replace(without_reports(state, repo), repos=state.repos.drop(repo))


def with_changes(state: State, batch: BatchId, changes: Sequence[RepoChange]) -> State:
    known = state.batches[batch]
    new = {one.repo for one in changes}
    before = tuple(one for one in known.repo_changes if one.repo not in new)
    return replace(state, batches=state.batches.put(batch, replace(known, repo_changes=(*before, *changes))))
