"""Values of repositories."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from msgspec import UNSET, UnsetType

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names

RepoId = NewType("RepoId", str)
"""A UUID (version 7) in its lower-case text form."""
DEFAULT_BRANCH = "main"
"""The branch of a repository that was never cloned and names none."""
TEXT_BYTES = 65_536
"""Most bytes of guidelines, and of the instructions that are stored of a repository."""
MAX_REPOS = 1_000
FILES = ("CLAUDE.md", "AGENTS.md")
"""Files with instructions for agents; the first one that a repository has counts."""


class Repo(Value, frozen=True, kw_only=True):
    """A registered repository, as operators and leads describe it."""

    id: RepoId
    name: Clean
    url: Clean
    default_branch: Clean | None = None
    """None: the one that the remote repository names."""
    guidelines: Clean | None = None
    auto_clone: bool = True
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoReport:
    """What an agent found in its clone."""

    repo: RepoId
    owner: AgentId | None
    """The worker that alone sees this report; None: a report of a lead or an operator, which all see."""
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    at: datetime
    clone_path: Clean
    branch: Clean
    commit: str
    """The newest known commit of the branch, from which ``content`` was read."""
    committed_at: datetime
    clone_commit: str
    """The commit that is checked out."""
    file: Clean | None = None
    """The path of the instructions; None: the repository has none."""
    content: Clean | None = None
    size: int = 0
    """Bytes of the file. ``content`` has at most the first 65,536."""
    shared_commit: str | None = None
    """The commit of the shared report when a worker's report took its place for the worker."""


@dataclass(frozen=True, slots=True)
class RepoChange:
    """The effect of a batch on one repository. None: it was not registered."""

    repo: RepoId
    before: Repo | None
    after: Repo | None


class Staleness(StrEnum):
    """Why the stored instructions of a repository may be out of date."""

    MOVED = "moved"
    """The clone has another commit checked out than the one they were read from."""
    OLD = "old"
    """They were read longer ago than HIVELORE_REPO_STALE_DAYS."""


class RepoItem(
    Value,
    frozen=True,
    kw_only=True,
    rename=json_names(
        content="claudeMdContent",
        file="claudeMdFile",
        commit="claudeMdCommit",
        committed_at="claudeMdCommittedAt",
        size="claudeMdBytes",
        stale="claudeMdStale",
        synced_at="lastSynced",
    ),
):
    """A repository as callers see it. Lists leave out its texts."""

    id: RepoId
    name: Clean
    url: Clean
    default_branch: Clean
    detects_branch: bool
    """True if no branch is registered: the default one is that of the remote repository."""
    auto_clone: bool
    project: str
    """The project of memories that are written in a clone."""
    clone_path: Clean | None
    """The clone of the last report, on the machine of ``syncedBy``."""
    synced_at: datetime | None
    synced_by: AgentId | None
    file: Clean | None
    commit: str | None
    committed_at: datetime | None
    size: int
    stale: Staleness | None
    created_at: datetime
    updated_at: datetime
    guidelines: Clean | UnsetType | None = UNSET
    content: Clean | UnsetType | None = UNSET


class RepoPage(Value, frozen=True, kw_only=True):
    """Repositories by name; ``next`` is the cursor of the following page."""

    repos: tuple[RepoItem, ...]
    next: str | None


class RepoSection(Value, frozen=True, kw_only=True):
    """The part of an agent's prompt about one repository."""

    name: Clean
    text: str
    tokens: int
    stale: Staleness | None
