"""Reverts batches that changed repositories."""

from collections.abc import Sequence

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Forbidden
from hivelore.memories.model import Action
from hivelore.repos.authority import may_change
from hivelore.repos.model import MAX_REPOS, Repo, RepoChange, RepoId
from hivelore.repos.repo_changes import CLAIM, is_elsewhere, record_audit
from hivelore.storage.ports import Transaction


def revert(
    tx: Transaction, journal: ChangeJournal, clock: Clock, batch: Batch, viewer: Viewer, reason: Clean | None
) -> tuple[Batch | None, Sequence[RepoId], Sequence[str]]:
    """Restores the repositories of a batch. Returns the batch of the undo, their ids, and what is not restored. Raises
    Conflict if one was changed since or its name is taken, and Forbidden."""
    if not may_change(viewer):
        raise Forbidden("Only a lead or an operator may undo changes of repositories. Ask one.")
    if batch.undone_at is not None:
        raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
    tx.claim(CLAIM)
    changes = tx.repo_changes(batch.id)
    warnings: list[str] = []
    for one in changes:
        if _revert_repo(tx, one):
            name = _name(one.before)
            warnings.append(f"Reports about clones of {name} are not restored. 'hivelore repo sync' makes new ones.")
        shown = one.before or one.after
        if shown is not None:
            record_audit(tx, viewer, Action.UNDONE, shown, clock.now())
    by = journal.new_batch(
        BatchKind.UNDONE, viewer, changes=len(changes), is_private=batch.is_private, reason=reason, undoes=batch.id
    )
    if by is not None:
        tx.put_batch(by)
        tx.put_repo_changes(by.id, [RepoChange(one.repo, one.after, one.before) for one in changes])
    return by, [one.repo for one in changes], warnings


def _revert_repo(tx: Transaction, change: RepoChange) -> bool:
    """Returns True if the change or the undo dropped the reports about its clones."""
    now = tx.repo(change.repo)
    if now != change.after:
        raise Conflict(
            f"{_name(now or change.after)} was changed since then. Undo the later changes first ('hivelore batches')."
        )
    if change.before is None:
        tx.drop_repo(change.repo)
        return False
    other = tx.repo_named(change.before.name)
    if other is not None and other.id != change.repo:
        raise Conflict(f"Another repository has the name {change.before.name} now. Rename that first.")
    if now is None and tx.repo_count() >= MAX_REPOS:
        raise Conflict(f"There are {MAX_REPOS:,} repositories. Remove one first.")
    is_gone = now is None or is_elsewhere(now, change.before)
    if is_gone and now is not None:
        tx.drop_repo_reports(change.repo)
    tx.put_repo(change.before)
    return is_gone


def _name(repo: Repo | None) -> str:
    return "The repository" if repo is None else repo.name
