"""Reverts batches that changed configuration entries."""

from collections.abc import Sequence

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.configuration.decisions import may_change
from hivelore.configuration.entry_changes import current_version, put_current, record_audit
from hivelore.configuration.model import ConfigChange, ConfigEntry, ConfigVersion
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden
from hivelore.memories.model import Action
from hivelore.storage.ports import Transaction

Reverted = tuple[ConfigEntry, ConfigVersion | None, ConfigVersion | None]
"""An entry, and its current versions before and after the undo."""


def revert(
    tx: Transaction, journal: ChangeJournal, clock: Clock, batch: Batch, viewer: Viewer, reason: Clean | None
) -> tuple[Batch | None, Sequence[Reverted]]:
    """Makes the versions before a batch current again, and returns the batch of the undo and the entries. Raises
    Conflict if an entry was changed since or the version before was erased, and Forbidden."""
    changes = tx.config_changes(batch.id)
    if batch.undone_at is not None:
        raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
    if len(changes) < batch.changes:
        raise Conflict(f"Batch {batch.id} cannot be undone: its configuration entry was deleted permanently.")
    done = [_revert_entry(tx, clock, one, viewer) for one in changes]
    by = journal.new_batch(
        BatchKind.UNDONE,
        viewer,
        changes=len(changes),
        is_private=batch.is_private,
        reason=reason,
        undoes=batch.id,
    )
    if by is not None:
        tx.put_batch(by)
        tx.put_config_changes(by.id, [ConfigChange(one.entry, one.after, one.before) for one in changes])
    return by, done


def _revert_entry(tx: Transaction, clock: Clock, change: ConfigChange, viewer: Viewer) -> Reverted:
    entry = tx.config_entry(change.entry)
    before = None if change.before is None else tx.config_version(change.entry, change.before)
    if entry is None or (change.before is not None and (before is None or _is_erased(before))):
        raise Conflict("The previous value was erased and cannot be restored. Set the entry again.")
    if not may_change(viewer, entry.place):
        raise Forbidden(f"You may not change {entry.key} in {entry.place.scope} scope: only an operator may undo this.")
    if entry.version != change.after:
        raise Conflict(f"{entry.key} was changed since then. Undo the later changes first ('hivelore batches').")
    now = clock.now()
    after = current_version(tx, entry)
    put_current(tx, replace(entry, version=change.before, updated_at=now), after, before)
    record_audit(tx, viewer, Action.UNDONE, entry, now)
    return entry, after, before


def _is_erased(version: ConfigVersion) -> bool:
    return version.is_secret and version.sealed is None
