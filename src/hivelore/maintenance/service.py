"""Maintenance: purges expired memories, proposes duplicates for review, rebuilds indexes and vacuums the store (N14).

A preview shows exactly what would happen and writes nothing. A purge can be undone for some time.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchId, BatchKind
from hivelore.core.agents import Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.progress import Progress
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.duplicates import Duplicates, Pair
from hivelore.maintenance.model import DuplicateGroup, Expired, MaintenancePlan, MaintenanceResult
from hivelore.memories.model import Action
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.temporal import adjacent_facts
from hivelore.memories.whole_reader import in_batches
from hivelore.review.model import ProposalKind
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import EVERYTHING, Filter
from hivelore.storage.ports import MemoryStore, Transaction, View

MAX_EXAMPLES = 1_000
"""Maximum memories listed in a preview of a purge."""
_PURGE_BATCH = 200
"""Memories purged per transaction."""


class Maintenance:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        journal: ChangeJournal,
        proposal_queue: ProposalQueue,
        duplicates: Duplicates,
        index_rebuild: IndexRebuild,
        share: float,
        clock: Clock,
    ) -> None:
        """``share``: share of all memories that may be purged without confirming their number."""
        self._store = store
        self._index_writer = index_writer
        self._journal = journal
        self._proposal_queue = proposal_queue
        self._duplicates = duplicates
        self._index_rebuild = index_rebuild
        self._share = share
        self._clock = clock

    def preview(self, wish: MaintenancePlan, viewer: Viewer, progress: Progress | None = None) -> MaintenanceResult:
        """Returns what would be done. Writes nothing."""
        check_plan(wish, viewer)
        return self._survey(wish, viewer, progress or Progress())[0]

    def apply(
        self, wish: MaintenancePlan, viewer: Viewer, yes_delete: int | None = None, progress: Progress | None = None
    ) -> MaintenanceResult:
        """Runs the plan. ``yes_delete``: confirmed number of memories to purge. Raises Conflict, before any change, if
        it differs from the actual number, or if it is missing and the number exceeds the share. If ``progress`` stops
        the run, completed changes stay, in one batch."""
        check_plan(wish, viewer, yes_delete)
        progress = progress or Progress()
        plan, doomed, pairs = self._survey(wish, viewer, progress)
        if wish.purge_expired:
            check_purge_size(plan.expired, plan.memories, self._share, yes_delete)
        batch = self._journal.new_batch_id()
        progress.expect(len(doomed) + len(pairs))
        purged = self._purge(doomed, viewer, batch, progress)
        proposed = 0
        for pair in pairs:
            proposed += self._store.write(lambda tx, pair=pair: self._propose(tx, pair, viewer))
            progress.advance()
        steps: list[tuple[str, bool, Callable[[], None]]] = [
            ("reindex", wish.reindex, self._index_rebuild.request_rebuild),
            ("vacuum", wish.vacuum, self._store.vacuum),
        ]
        done: dict[str, bool] = {}
        for name, wanted, step in steps:
            if wanted:
                progress.check()
                step()
                done[name] = True
        with self._store.read() as view:
            kept = view.batch(batch)
        return replace(
            plan, applied=True, purged=purged, proposed=proposed, batch=None if kept is None else batch, done=done
        )

    # steps

    def _survey(
        self, wish: MaintenancePlan, viewer: Viewer, progress: Progress
    ) -> tuple[MaintenanceResult, Sequence[DocumentKey], Sequence[Pair]]:
        now = self._clock.now()
        with self._store.read() as view:
            total = len(view.matching_keys(EVERYTHING))
            doomed = _removable(view, sorted(view.matching_keys(_expired_at(now)))) if wish.purge_expired else []
            examples = _examples(view, doomed)
            room = self._proposal_queue.remaining(view, ProposalKind.DUPLICATE, viewer) if wish.merge else 0
        pairs = self._duplicates.find(now, room, progress) if room else []
        alike = [
            DuplicateGroup(
                older=one.memory.id, newer=other.memory.id, names=(one.memory.name, other.memory.name), why=why
            )
            for one, other, why in pairs
        ]
        plan = MaintenanceResult(
            applied=False,
            memories=total,
            expired=len(doomed),
            most=unconfirmed_purge_limit(total, self._share),
            examples=examples,
            alike=tuple(alike),
        )
        return plan, doomed, pairs

    def _purge(self, doomed: Sequence[DocumentKey], viewer: Viewer, batch: BatchId, progress: Progress) -> int:
        purged = 0
        for some in in_batches(doomed, _PURGE_BATCH):
            purged += self._store.write(lambda tx, some=some: self._purge_some(tx, some, viewer, batch))
            progress.advance(len(some))
        return purged

    def _purge_some(self, tx: Transaction, keys: Sequence[DocumentKey], viewer: Viewer, batch: BatchId) -> int:
        """Skips memories that were renewed meanwhile."""
        now = self._clock.now()
        there = tx.memories_of(keys, _expired_at(now))
        detail = Clean(f"expired: batch {batch}")

        def forget_expired() -> None:
            for key, memory in there.items():
                self._index_writer.forget(tx, _reread(tx, Stored(key, memory)))
                tx.record_audit(AuditEntry.by_viewer(viewer, Action.FORGOTTEN, memory.id, now, detail))

        self._journal.record(tx, BatchKind.PURGED, viewer, forget_expired, reason=Clean("expired"), batch=batch)
        return len(there)

    def _propose(self, tx: Transaction, pair: Pair, viewer: Viewer) -> bool:
        """Returns False if one of the memories changed meanwhile or the inbox is full."""
        older, newer, why = pair
        stored = [tx.get(one.memory.id) for one in (older, newer)]
        there = [one for one in stored if one is not None]
        if [one.memory.version for one in there] != [older.memory.version, newer.memory.version]:
            return False
        with suppress(Conflict):
            self._proposal_queue.propose(tx, ProposalKind.DUPLICATE, there, viewer, why=Clean(why))
            return True
        return False


def require_operator(viewer: Viewer) -> None:
    if viewer.role is not Role.OPERATOR:
        raise Forbidden("Only an operator may run maintenance. Use the operator's key.")


def check_plan(wish: MaintenancePlan, viewer: Viewer, yes_delete: int | None = None) -> None:
    """Raises Forbidden or Invalid for a plan that is never allowed."""
    require_operator(viewer)
    if wish.is_empty:
        raise Invalid("Choose at least one step: purgeExpired, merge, reindex or vacuum.", field="purgeExpired")
    if yes_delete is not None and not wish.purge_expired:
        raise Invalid("yesDelete requires a purge (purgeExpired).", field="yesDelete")


def _expired_at(now: datetime) -> Filter:
    return Filter(visibility=EVERYTHING.visibility, expired_at=now)


class _Predecessors(NamedTuple):
    """The memories that the successors of a purged memory would follow."""

    named: DocumentKey | None = None
    of_topic: DocumentKey | None = None


def _removable(view: View, keys: Sequence[DocumentKey]) -> list[DocumentKey]:
    """Omits memories whose removal would make a superseded memory valid again."""
    since = {
        key: memory.holds_since
        for some in in_batches(keys, _PURGE_BATCH)
        for key, memory in view.memories_of(some, EVERYTHING).items()
    }
    going: dict[DocumentKey, _Predecessors] = {}
    for some in in_batches(sorted(since, key=lambda key: (since[key], key)), _PURGE_BATCH):
        there = view.memories_of(some, EVERYTHING)
        for key in some:
            places = _predecessors_after_removal(view, Stored(key, there[key]), going)
            if places is not None:
                going[key] = places
    return sorted(going)


def _predecessors_after_removal(
    view: View, stored: Stored, going: Mapping[DocumentKey, _Predecessors]
) -> _Predecessors | None:
    """Returns None if the memory must stay. Its purged predecessors are already in ``going``."""
    memory = stored.memory
    older, newer = adjacent_facts(view, stored)
    replaced = None if memory.supersedes is None else view.get(memory.supersedes)
    named, of_topic = (None if one is None else one.key for one in (replaced, older))
    if named is not None and named in going:
        named = going[named].named
    if of_topic is not None and of_topic in going:
        of_topic = going[of_topic].of_topic
    is_named = named is not None and bool(view.successors_of(memory.id))
    is_followed = newer is not None
    for place, is_taken in ((named, is_named), (of_topic, is_followed)):
        if place is not None and not is_taken and not (named == of_topic and (is_named or is_followed)):
            return None
    return _Predecessors(named, of_topic)


def _reread(tx: Transaction, stored: Stored) -> Stored:
    """Returns the memory after links to purged memories were removed."""
    return tx.get(stored.memory.id) or stored


def _examples(view: View, keys: Sequence[DocumentKey]) -> tuple[Expired, ...]:
    memories = (
        memory for some in in_batches(keys, _PURGE_BATCH) for memory in view.memories_of(some, EVERYTHING).values()
    )
    found = [Expired(id=one.id, name=one.name, expired_at=one.expires_at) for one in memories if one.expires_at]
    return tuple(sorted(found, key=lambda one: (one.expired_at, one.id))[:MAX_EXAMPLES])


def unconfirmed_purge_limit(memories: int, share: float) -> int:
    """Returns how many memories may be purged without confirmation. The share is exact: 0.29 of 100 is 29."""
    return int(memories * Decimal(str(share)))


def check_purge_size(doomed: int, memories: int, share: float, said: int | None) -> None:
    """Raises Conflict if the confirmed number differs, or if the limit is exceeded without one."""
    if said is not None and said != doomed:
        raise Conflict(
            f"{said} deletions were confirmed, but {doomed} would be deleted. Nothing was done. Check the "
            f"preview, then confirm with --yes-delete {doomed} (yesDelete)."
        )
    if said is None and doomed > unconfirmed_purge_limit(memories, share):
        raise Conflict(
            f"{doomed} of {memories} memories would be deleted, more than {share:.2%} (HIVELORE_PURGE_SHARE). Nothing "
            f"was done. Check the preview, then confirm with --yes-delete {doomed} (yesDelete)."
        )
