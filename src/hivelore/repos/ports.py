"""Ports of repositories."""

from collections.abc import Collection, Sequence
from typing import Protocol

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport

ReportKey = tuple[RepoId, AgentId | None]
"""The repository and the owner of a report."""


class RepoReads(Protocol):
    """Repositories, the reports about their clones, and the changes that can be undone."""

    def repo(self, repo: RepoId) -> Repo | None: ...

    def repo_named(self, name: str) -> Repo | None:
        """Returns the repository with a name, in any case of its letters."""
        ...

    def repos(self, after: str, limit: int, *, auto_clone: bool = False, has_texts: bool = True) -> Sequence[Repo]:
        """Returns a page of repositories by the lower-case form of their names. The first page begins after an empty
        name. ``auto_clone``: only those that every machine clones; ``has_texts``: with their guidelines."""
        ...

    def repo_count(self) -> int: ...

    def repo_ids_from(self, prefix: str, limit: int) -> Sequence[RepoId]:
        """Returns the ids that begin with a prefix, in order. The prefix is not empty."""
        ...

    def repo_reports(
        self, repos: Collection[RepoId], owner: AgentId | None, *, has_texts: bool = True
    ) -> Sequence[RepoReport]:
        """Returns the shared reports about repositories, and those of an owner, by repository and owner, shared ones
        first. ``has_texts``: with the content of files."""
        ...

    def repo_reports_after(self, after: ReportKey, limit: int) -> Sequence[RepoReport]:
        """Returns a page of all reports by repository and owner, shared ones first. The first page begins after an
        empty id."""
        ...

    def repo_changes(self, batch: BatchId) -> Sequence[RepoChange]:
        """Returns the changes of a batch, by repository."""
        ...


class RepoWrites(Protocol):
    """Repositories, the reports about their clones, and the changes that can be undone."""

    def put_repo(self, repo: Repo) -> None:
        """Inserts or replaces a repository. Raises Conflict if another one has the name."""
        ...

    def drop_repo(self, repo: RepoId) -> None:
        """Deletes a repository and the reports about it; its changes stay. Dropping twice is allowed."""
        ...

    def put_repo_report(self, report: RepoReport) -> None:
        """Inserts or replaces the report of an owner."""
        ...

    def drop_repo_report(self, repo: RepoId, owner: AgentId | None) -> None:
        """Deletes the report of an owner. Dropping twice is allowed."""
        ...

    def drop_repo_reports(self, repo: RepoId) -> None:
        """Deletes all reports about a repository."""
        ...

    def put_repo_changes(self, batch: BatchId, changes: Sequence[RepoChange]) -> None:
        """Adds changes to a batch, which ``drop_batch`` deletes with it."""
        ...
