"""Parts of changes of repositories that several services share."""

from datetime import datetime

from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.text import Clean
from hivelore.memories.model import Action, MemoryId
from hivelore.repos.model import Repo
from hivelore.storage.ports import Transaction

CLAIM = b"repositories"
"""What transactions claim that write repositories or reports, so that none of them misses another one."""


def is_elsewhere(before: Repo, after: Repo) -> bool:
    """Returns True if reports about one of them say nothing about the other: it has another URL or branch."""
    return (before.url, before.default_branch) != (after.url, after.default_branch)


def record_audit(tx: Transaction, viewer: Viewer, action: Action, repo: Repo, at: datetime) -> None:
    """Records a change in the audit trail, where the id of the repository stands in place of that of a memory."""
    detail = Clean(f"repository {repo.name}")
    tx.record_audit(AuditEntry.by_viewer(viewer, action, MemoryId(repo.id), at, detail))
