"""Repositories, the reports about their clones, and their changes in batches."""

from collections.abc import Collection, Sequence

import msgspec

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.repos.model import Repo, RepoChange, RepoId, RepoReport
from hivelore.repos.ports import ReportKey
from hivelore.repos.rules import name_key
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    PLAIN,
    Codec,
    Columns,
    Param,
    SqlReader,
    SqlWriter,
    Table,
    begins_with,
    plain,
)

AUTO_CLONED = " AND auto_clone = 1"
SHARED = ""
"""Stands in the column of the owner of a report that all see."""


def _read_repo(text: str) -> Repo:
    return msgspec.json.decode(text, type=Repo)


def _write_repo(repo: Repo) -> str:
    return msgspec.json.encode(repo).decode()


def _read_owner(owner: str) -> AgentId | None:
    return None if owner == SHARED else AgentId(owner)


def _write_owner(report: RepoReport) -> str:
    return SHARED if report.owner is None else report.owner


_REPO = {
    **plain("id name url default_branch"),
    "auto_clone": FLAG,
    "created_at": INSTANT,
    "updated_at": INSTANT,
}
_REPORT = {
    "repo": PLAIN,
    "owner": Codec(_read_owner, _write_owner, is_whole=True),
    "actor": PLAIN,
    "at": INSTANT,
    **plain("clone_path branch"),
    "commit": PLAIN.named("commit_id"),
    "committed_at": INSTANT,
    **plain("clone_commit file size shared_commit"),
}
REPO = Table(Repo, "repo", "id", "name_key", **_REPO, guidelines=PLAIN)
REPO_REPORT = Table(RepoReport, "repo_report", "repo owner", **_REPORT, content=PLAIN)
REPO_LISTED = Columns(Repo, None, **_REPO)
REPORT_LISTED = Columns(RepoReport, None, **_REPORT)
"""Columns without texts, which are long."""
_SNAPSHOT = Codec(_read_repo, _write_repo)
REPO_CHANGE = Table(
    RepoChange,
    "repo_change",
    "batch repo",
    repo=PLAIN,
    before=_SNAPSHOT.named("repo_before"),
    after=_SNAPSHOT.named("repo_after"),
)


class RepoReader(SqlReader):
    """Implements ``repos.ports.RepoReads``."""

    TABLES = (REPO, REPO_REPORT, REPO_CHANGE)

    def repo(self, repo: RepoId) -> Repo | None:
        return self.read_one(REPO, "repo_by_id", id=repo)

    def repo_named(self, name: str) -> Repo | None:
        return self.read_one(REPO, "repo_by_name", name_key=name_key(name))

    def repos(self, after: str, limit: int, *, auto_clone: bool = False, has_texts: bool = True) -> Sequence[Repo]:
        columns = REPO if has_texts else REPO_LISTED
        statement = self.SQL["repos"].replace("{repo_columns}", columns.listed())
        statement = statement.replace("{repo_filter}", AUTO_CLONED if auto_clone else "")
        return columns.read_all(self.rows(statement, {"after": after, "limit": limit}))

    def repo_count(self) -> int:
        return self.row("repo_count")[0]

    def repo_ids_from(self, prefix: str, limit: int) -> Sequence[RepoId]:
        _, bounds = begins_with("id", prefix)
        return [RepoId(one) for (one,) in self.rows(self.SQL["repo_ids"], {**bounds, "limit": limit})]

    def repo_reports(
        self, repos: Collection[RepoId], owner: AgentId | None, *, has_texts: bool = True
    ) -> Sequence[RepoReport]:
        columns = REPO_REPORT if has_texts else REPORT_LISTED
        params: dict[str, Param] = {"repos": self.array(list(repos)), "owner": SHARED if owner is None else owner}
        return columns.read_all(
            self.rows(self.SQL["repo_reports"].replace("{report_columns}", columns.listed()), params)
        )

    def repo_reports_after(self, after: ReportKey, limit: int) -> Sequence[RepoReport]:
        repo, owner = after
        return self.read_all(
            REPO_REPORT, "repo_reports_after", repo=repo, owner=SHARED if owner is None else owner, limit=limit
        )

    def repo_changes(self, batch: BatchId) -> Sequence[RepoChange]:
        return self.read_all(REPO_CHANGE, "repo_changes", batch=batch)


class RepoWriter(RepoReader, SqlWriter):
    """Implements ``repos.ports.RepoWrites``."""

    def put_repo(self, repo: Repo) -> None:
        with self.savepoint():
            self.run("repo_put", {**REPO.params(repo), "name_key": name_key(repo.name)})

    def drop_repo(self, repo: RepoId) -> None:
        for name in ("repo_reports_drop", "repo_drop"):
            self.run(name, {"repo": repo})

    def put_repo_report(self, report: RepoReport) -> None:
        self.run("repo_report_put", REPO_REPORT.params(report))

    def drop_repo_report(self, repo: RepoId, owner: AgentId | None) -> None:
        self.run("repo_report_drop", {"repo": repo, "owner": SHARED if owner is None else owner})

    def drop_repo_reports(self, repo: RepoId) -> None:
        self.run("repo_reports_drop", {"repo": repo})

    def put_repo_changes(self, batch: BatchId, changes: Sequence[RepoChange]) -> None:
        self.run_each("repo_change_put", [{**REPO_CHANGE.params(one), "batch": batch} for one in changes])
