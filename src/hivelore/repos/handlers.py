"""Answers the operations of repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.memories.normalizer import to_utc
from hivelore.repos.model import RepoItem, RepoPage, RepoSection
from hivelore.repos.operations import AddRepo, ListRepos, NamedRepo, ReportClone, UpdateRepo
from hivelore.repos.service import CloneState, RepoSettings

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_repos(app: Application, request: ListRepos, call: Call) -> RepoPage:
    return app.repos.page(
        call.viewer, request.after, request.limit, auto_clone=request.auto_clone, deadline=call.deadline
    )


def get_repo(app: Application, request: NamedRepo, call: Call) -> RepoItem:
    return app.repos.get(request.repo, call.viewer, call.deadline)


def get_repo_section(app: Application, request: NamedRepo, call: Call) -> RepoSection:
    return app.repos.section(request.repo, call.viewer, call.deadline)


def add_repo(app: Application, request: AddRepo, call: Call) -> RepoItem:
    given = RepoSettings(
        name=request.name,
        url=request.url,
        default_branch=request.default_branch,
        guidelines=request.guidelines,
        auto_clone=request.auto_clone,
    )
    return app.repos.add(given, call.viewer, call.deadline)


def update_repo(app: Application, request: UpdateRepo, call: Call) -> RepoItem:
    given = RepoSettings(
        name=request.name,
        url=request.url,
        default_branch=request.default_branch,
        guidelines=request.guidelines,
        auto_clone=request.auto_clone,
    )
    return app.repos.update(request.repo, given, call.viewer, call.deadline)


def remove_repo(app: Application, request: NamedRepo, call: Call) -> None:
    app.repos.remove(request.repo, call.viewer, call.deadline)


def report_clone(app: Application, request: ReportClone, call: Call) -> RepoItem:
    committed_at = to_utc(request.committed_at, "committedAt")
    assert committed_at is not None
    state = CloneState(
        url=request.url,
        clone_path=request.clone_path,
        branch=request.branch,
        commit=request.commit,
        committed_at=committed_at,
        clone_commit=request.clone_commit,
        file=request.file,
        content=request.content,
        size=request.size,
        replaces=request.replaces,
    )
    return app.repos.report(request.repo, state, call.viewer, call.deadline)
