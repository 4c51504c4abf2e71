"""Undo: reverts a batch, by its id or by the id of a memory (N07, N14)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from hivelore.changes.journal import ChangeJournal, previous_digest, state_digest
from hivelore.changes.model import (
    ABSENT,
    Batch,
    BatchDetail,
    BatchFilter,
    BatchId,
    BatchKind,
    BatchPage,
    ChangedEntry,
    ChangedMemory,
    ChangedProfile,
    ChangedRepo,
    Preimage,
    UndoResult,
)
from hivelore.changes.restore import restore
from hivelore.configuration.entry_changes import EntryChange
from hivelore.configuration.undo import ConfigUndo
from hivelore.core.access import Effect, Permission, may_affect, visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, NotFound
from hivelore.identity import profile_undo
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from hivelore.memories.normalizer import Normalizer
from hivelore.repos import undo as repos_undo
from hivelore.search.model import EVERYTHING, Filter
from hivelore.setup_scripts import undo as setup_script_undo
from hivelore.storage.ports import MemoryStore, Transaction, View

_PAGE_SIZE = 20
_EXPLANATION = "It may have been forgotten, or be older than HIVELORE_UNDO_DAYS."


class UndoService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        journal: ChangeJournal,
        normalizer: Normalizer,
        lead_sees: LeadSees,
        clock: Clock,
        written: Callable[[], None],
        config_undo: ConfigUndo,
        agents_changed: Callable[[], None],
    ) -> None:
        """``written`` is called after every change that may leave passages without vectors, ``agents_changed`` after a
        change of profiles, which contain the names of agents."""
        self._store = store
        self._index_writer = index_writer
        self._journal = journal
        self._normalizer = normalizer
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written
        self._config_undo = config_undo
        self._agents_changed = agents_changed

    def page(
        self,
        viewer: Viewer,
        after: tuple[datetime, BatchId] | None,
        limit: int,
        *,
        memory: MemoryId | None = None,
        deadline: float | None = None,
    ) -> BatchPage:
        """Returns batches, newest first: of one memory, or all that the viewer may see."""
        where = replace(self._visible_batches(viewer), memory=memory)
        with self._store.read(deadline, sees=where.seen) as view:
            found = view.batches(where, after, limit + 1)
        page, cursor = cut_page(found, limit, lambda batch: (batch.at, batch.id))
        return BatchPage(batches=page, next=cursor)

    def resolve(self, text: str, viewer: Viewer) -> BatchId:
        """Returns the id of the batch that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several visible batches begin with them."""

        def find_ids(prefix: str, limit: int) -> list[BatchId]:
            where = replace(self._visible_batches(viewer), prefix=prefix)
            with self._store.read(sees=where.seen) as view:
                return [batch.id for batch in view.batches(where, None, limit)]

        return BatchId(resolve_id(text, find_ids, "batch"))

    def detail(self, batch: BatchId, viewer: Viewer) -> BatchDetail:
        """Returns a batch with what it changed, as long as that is journaled."""
        with self._store.read(sees=self._visible_batches(viewer).seen) as view:
            known = self._get_visible(view, batch, viewer)
            parts = view.preimages(batch)
            seen = Filter(visibility=self._visible_batches(viewer).seen)
            now = view.memories_of([one.key for one in parts if one.before is None], seen)
            entries = [view.config_entry(one.entry) for one in view.config_changes(batch)]
            changed = [one.before or one.after for one in view.repo_changes(batch)]
            profiles = tuple(
                ChangedProfile(agent=one.agent, before=one.before, after=one.after)
                for one in view.profile_changes(batch)
            )
        touched = [ChangedMemory(id=one.memory, name=_display_name(one, now.get(one.key))) for one in parts]
        configured = [ChangedEntry(id=one.id, scope=one.place.scope, key=one.key) for one in entries if one is not None]
        repos = [ChangedRepo(id=one.id, name=one.name) for one in changed if one is not None]
        return BatchDetail(
            batch=known, memories=tuple(touched), entries=tuple(configured), repos=tuple(repos), profiles=profiles
        )

    def undo(
        self, which: str, viewer: Viewer, *, reason: str | None = None, deadline: float | None = None
    ) -> UndoResult:
        """Reverts a batch, or the last change of a memory, completely or not at all. Of a purge, permanently deleted
        memories are skipped. The beginning of an id is enough, as for ``resolve``. Raises Conflict if a memory was
        changed since, the batch was already reverted, or the journal no longer has the previous states."""
        why = self._normalizer.field(reason, "reason")
        reverted: list[EntryChange] = []

        def undo_batch(tx: Transaction) -> UndoResult:
            batch, only = self._resolve_target(tx, which, viewer)
            if batch.kind is BatchKind.CONFIGURED or tx.config_changes(batch.id):
                by, reverted[:] = self._config_undo.revert(tx, batch, viewer, why)
                entries = tuple(one.entry.id for one in reverted)
                after = self._mark_undone(tx, batch, viewer)
                return UndoResult(batch=after, by=None if by is None else by.id, memories=(), entries=entries)
            if batch.kind is BatchKind.REGISTERED or tx.repo_changes(batch.id):
                by, repos, warnings = repos_undo.revert(tx, self._journal, self._clock, batch, viewer, why)
                after = self._mark_undone(tx, batch, viewer)
                done_by = None if by is None else by.id
                return UndoResult(batch=after, by=done_by, memories=(), repos=tuple(repos), warnings=tuple(warnings))
            if batch.script is not None:
                by = setup_script_undo.revert(tx, self._journal, self._clock, batch, viewer, why)
                after = self._mark_undone(tx, batch, viewer)
                return UndoResult(batch=after, by=None if by is None else by.id, memories=())
            if tx.profile_changes(batch.id):
                return self._restore_profiles(tx, batch, viewer, why)
            parts, forgotten = _stored_preimages(tx, batch, only)
            changed = _select_restorable(tx, batch.kind, parts)
            self._check_permission(tx, changed, viewer)
            return replace(self._restore(tx, batch, changed, viewer, why), forgotten=forgotten)

        done = self._store.write(undo_batch, deadline)
        self._written()
        if done.profiles:
            self._agents_changed()
        return replace(done, warnings=(*done.warnings, *self._config_undo.finish(reverted)))

    def drop(self, batch: BatchId, viewer: Viewer) -> None:
        """Permanently removes the journal of a batch, so that it can no longer be undone."""

        def drop_previous_states(tx: Transaction) -> None:
            self._get_visible(tx, batch, viewer)
            tx.drop_batch(batch)

        self._store.write(drop_previous_states)
        self._store.purge_log()  # If a reader blocks this, the next call completes it.

    # steps

    def _restore(
        self, tx: Transaction, batch: Batch, parts: Sequence[Preimage], viewer: Viewer, why: Clean | None
    ) -> UndoResult:
        by, now = self._journal.new_batch_id(), self._clock.now()
        reopen = batch.kind is BatchKind.DECIDED
        self._journal.record(
            tx,
            BatchKind.UNDONE,
            viewer,
            lambda: restore(tx, self._index_writer, parts, reopen=reopen),
            reason=why,
            batch=by,
            undoes=batch.id,
        )
        if batch.kind is BatchKind.REJUDGED:
            tx.keep([one.key for one in parts])
        for one in parts:
            detail = Clean(f"{batch.kind}: batch {batch.id}")
            tx.record_audit(AuditEntry.by_viewer(viewer, Action.UNDONE, one.memory, now, detail))
        is_whole = not _changed_preimages(tx, batch.kind, tx.preimages(batch.id))
        after = self._mark_undone(tx, batch, viewer, is_whole=is_whole)
        return UndoResult(
            batch=after, by=None if tx.batch(by) is None else by, memories=tuple(one.memory for one in parts)
        )

    def _restore_profiles(self, tx: Transaction, batch: Batch, viewer: Viewer, why: Clean | None) -> UndoResult:
        by, agents = profile_undo.revert(tx, self._journal, batch, viewer, self._lead_sees, why)
        after = self._mark_undone(tx, batch, viewer)
        return UndoResult(batch=after, by=None if by is None else by.id, memories=(), profiles=tuple(agents))

    def _mark_undone(self, tx: Transaction, batch: Batch, viewer: Viewer, *, is_whole: bool = True) -> Batch:
        """Stores that a batch was reverted, if completely, and that the batch which it reverted counts again."""
        after = replace(batch, undone_at=self._clock.now(), undone_by=viewer.agent) if is_whole else batch
        tx.put_batch(after)
        if batch.undoes is not None and (original := tx.batch(batch.undoes)) is not None:
            tx.put_batch(replace(original, undone_at=None, undone_by=None))
        return after

    def _resolve_target(self, tx: Transaction, which: str, viewer: Viewer) -> tuple[Batch, MemoryId | None]:
        """Returns the batch, and the only memory to restore if the batch is a purge."""
        where = self._visible_batches(viewer)

        def find_ids(prefix: str, limit: int) -> list[str]:
            batches = [batch.id for batch in tx.batches(replace(where, prefix=prefix), None, limit)]
            return [*batches, *tx.changed_ids_from(prefix, where, limit)]

        name = resolve_id(which, find_ids, "id")
        batch = tx.batch(BatchId(name))
        if batch is not None and where.admits(batch):
            return batch, None
        of_it = replace(where, memory=MemoryId(name), undone=False)
        after: tuple[datetime, BatchId] | None = None
        while page := tx.batches(of_it, after, _PAGE_SIZE):
            for one in page:
                if one.kind is not BatchKind.UNDONE:
                    return one, MemoryId(name) if one.kind is BatchKind.PURGED else None
            after = page[-1].at, page[-1].id
        raise _not_undoable(which)

    def _get_visible(self, view: View, batch: BatchId, viewer: Viewer) -> Batch:
        known = view.batch(batch)
        if known is None or not self._visible_batches(viewer).admits(known):
            raise _not_undoable(batch)
        return known

    def _visible_batches(self, viewer: Viewer) -> BatchFilter:
        if viewer.role is Role.WORKER:
            raise Forbidden("Only operators and leads may list and undo changes. Ask one.")
        return BatchFilter(seen=visible_to(viewer, self._lead_sees))

    def _check_permission(self, tx: Transaction, parts: Sequence[Preimage], viewer: Viewer) -> None:
        now = tx.memories_of([one.key for one in parts], EVERYTHING)
        before = [one.before.whole.memory for one in parts if one.before is not None]
        for memory in (*before, *now.values()):
            if may_affect(viewer, Effect.EDIT, memory) is not Permission.ALLOWED:
                raise Forbidden(f"You may not change memory {memory.id}: only an operator may undo this.")
        for one in parts:
            there = now.get(one.key)
            if one.before is not None and there is not None:
                _permit_scope(viewer, one.before.whole.memory.scope, there)


def _permit_scope(viewer: Viewer, before: Scope, memory: Memory) -> None:
    """Raises Forbidden if the undo would share a memory that requires a review."""
    effect = Effect.PROMOTE if before is Scope.SWARM else Effect.DEMOTE
    if before is not memory.scope and may_affect(viewer, effect, memory) is not Permission.ALLOWED:
        raise Forbidden(f"You may not {effect} memory {memory.id}: only an operator may undo this.")


def _stored_preimages(tx: Transaction, batch: Batch, only: MemoryId | None) -> tuple[Sequence[Preimage], int]:
    """Returns the pre-images to restore, and the number of memories without one."""
    if batch.undone_at is not None:
        at = batch.undone_at.isoformat(timespec="seconds")
        raise Conflict(
            f"Batch {batch.id} was already undone at {at}. To redo the change, undo the batch of that undo: find it "
            "with 'hivelore batches' (GET /api/batches)."
        )
    parts = tx.preimages(batch.id)
    if only is not None:
        return [one for one in parts if one.memory == only], 0
    forgotten = batch.changes - len(parts)
    if forgotten and (batch.kind is not BatchKind.PURGED or not parts):
        raise Conflict(
            f"Batch {batch.id} cannot be undone: {forgotten} of its {batch.changes} memories were forgotten "
            "permanently. Edit the others by hand ('hivelore history ID' shows their versions)."
        )
    return parts, forgotten


def _select_restorable(tx: Transaction, kind: BatchKind, parts: Sequence[Preimage]) -> Sequence[Preimage]:
    """Returns the memories that differ from their previous state. Raises Conflict if one was changed since, or if none
    differs."""
    changed, marks = _changed_preimages(tx, kind, parts), _current_digests(tx, parts)
    wrong = [one for one in changed or parts if marks[one.key] not in (one.after, previous_digest(one.before))]
    wrong += [one for one in changed if marks[one.key] == ABSENT and _changed_before_removal(tx, one)]
    if not changed and not wrong:
        raise Conflict("Nothing to undo: the memories are already as they were before this change.")
    if wrong:
        some = ", ".join(one.memory for one in wrong[:3]) + (" and others" if len(wrong) > 3 else "")
        raise Conflict(
            f"Changed since then: {some}. Undo the later changes first ('hivelore batches --memory ID', "
            "GET /api/batches?memory=ID), or edit by hand."
        )
    return changed


def _changed_before_removal(tx: Transaction, one: Preimage) -> bool:
    """Returns True if a deleted memory was restored, changed and deleted again after this change."""
    last = tx.last_preimage(one.memory)
    return last is not None and previous_digest(last.before) != previous_digest(one.before)


def _changed_preimages(tx: Transaction, kind: BatchKind, parts: Sequence[Preimage]) -> list[Preimage]:
    """Returns the pre-images that differ from the current state. Purged memories that exist again are skipped."""
    marks = _current_digests(tx, parts)
    back = {one.key for one in parts if kind is BatchKind.PURGED and one.after == ABSENT and marks[one.key] != ABSENT}
    return [one for one in parts if one.key not in back and marks[one.key] != previous_digest(one.before)]


def _current_digests(tx: Transaction, parts: Sequence[Preimage]) -> dict[int, str]:
    keys = [one.key for one in parts]
    now, observations = tx.memories_of(keys, EVERYTHING), tx.observations_of(keys)
    return {key: state_digest(now.get(key), observations.get(key, ())) for key in keys}


def _display_name(one: Preimage, now: Memory | None) -> str:
    memory = now if one.before is None else one.before.whole.memory
    return "" if memory is None else memory.name


def _not_undoable(which: str) -> NotFound:
    return NotFound(
        f"No change {which[:60]!r} that can be undone. {_EXPLANATION} 'hivelore batches' (GET /api/batches) lists "
        "the changes that can be undone."
    )
