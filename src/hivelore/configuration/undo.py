"""Reverts batches that changed configuration entries."""

from collections.abc import Sequence

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.configuration.decisions import permit_change
from hivelore.configuration.entry_changes import EntryChange, EntryWriter, current_version, record_audit
from hivelore.configuration.model import ConfigChange
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.memories.model import Action
from hivelore.storage.ports import Transaction


class ConfigUndo:
    def __init__(self, journal: ChangeJournal, writer: EntryWriter, clock: Clock) -> None:
        self._journal = journal
        self._writer = writer
        self._clock = clock

    def revert(
        self, tx: Transaction, batch: Batch, viewer: Viewer, reason: Clean | None
    ) -> tuple[Batch | None, Sequence[EntryChange]]:
        """Makes the versions before a batch current again, and returns the batch of the undo and the changes, for
        ``finish``. An entry that is a secret again has no version in clear any more, so that a redo leaves it one.
        Raises Conflict if an entry was changed since or the version before was erased, and Forbidden."""
        changes = tx.config_changes(batch.id)
        if batch.undone_at is not None:
            raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
        if len(changes) < batch.changes:
            raise Conflict(f"Batch {batch.id} cannot be undone: its configuration entry was deleted permanently.")
        done = [self._revert_entry(tx, one, viewer) for one in changes]
        by = self._journal.new_batch(
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

    def finish(self, changes: Sequence[EntryChange]) -> Sequence[str]:
        """Does after the transaction what belongs to the changes. Returns why lines of files could not be written."""
        return self._writer.finish(changes)

    def _revert_entry(self, tx: Transaction, change: ConfigChange, viewer: Viewer) -> EntryChange:
        entry = tx.config_entry(change.entry)
        before = None if change.before is None else tx.config_version(change.entry, change.before)
        if entry is None or (change.before is not None and (before is None or before.is_erased)):
            raise Conflict("The previous value was erased and cannot be restored. Set the entry again.")
        after = current_version(tx, entry)
        permit_change(viewer, entry, after, before)
        if entry.version != change.after:
            raise Conflict(f"{entry.key} was changed since then. Undo the later changes first ('hivelore batches').")
        now = self._clock.now()
        done = self._writer.put(tx, replace(entry, version=change.before, updated_at=now), after, before)
        record_audit(tx, viewer, Action.UNDONE, entry, now)
        return done
