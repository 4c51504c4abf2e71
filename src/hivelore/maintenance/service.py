"""Maintenance: what has expired goes, what says the same is put to review, indexes and files are put in order (N14).

A preview tells exactly what would happen and writes nothing. What goes can be taken back for a while.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchId, BatchKind
from hivelore.core.agents import Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.progress import Progress
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Forbidden, Invalid
from hivelore.indexing.model import DocumentKey, Stored
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.duplicates import Duplicates, Pair
from hivelore.maintenance.model import DuplicateGroup, Expired, MaintenancePlan, MaintenanceResult
from hivelore.maintenance.purge_limits import check_purge_size, unconfirmed_purge_limit
from hivelore.memories.model import Action
from hivelore.memories.temporal import adjacent_facts
from hivelore.memories.whole_reader import in_batches
from hivelore.review.model import ProposalKind
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import EVERYTHING, Filter
from hivelore.storage.ports import MemoryStore, Transaction, View

MAX_EXAMPLES = 1_000
"""Of those that are to go, so many are shown."""
_PURGE_BATCH = 200
"""Memories that go in one unit of work."""


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
        """``share``: of all memories, how much may go without somebody saying how many."""
        self._store = store
        self._index_writer = index_writer
        self._journal = journal
        self._proposal_queue = proposal_queue
        self._duplicates = duplicates
        self._index_rebuild = index_rebuild
        self._share = share
        self._clock = clock

    def preview(self, wish: MaintenancePlan, viewer: Viewer, progress: Progress | None = None) -> MaintenanceResult:
        """What would be done. Nothing is written."""
        check_plan(wish, viewer)
        return self._survey(wish, viewer, progress or Progress())[0]

    def apply(
        self, wish: MaintenancePlan, viewer: Viewer, yes_delete: int | None = None, progress: Progress | None = None
    ) -> MaintenanceResult:
        """Do it. ``yes_delete``: how many are to go, exactly. Raises Conflict where that is another number, or where it
        is not said and more than the share would go; then nothing is done. Where it is stopped by ``progress``, what
        was done until then stays, in one batch."""
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
            room = self._proposal_queue.remaining_capacity(view, viewer) if wish.merge else 0
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
        gone = 0
        for some in in_batches(doomed, _PURGE_BATCH):
            gone += self._store.write(lambda tx, some=some: self._purge_some(tx, some, viewer, batch))
            progress.advance(len(some))
        return gone

    def _purge_some(self, tx: Transaction, keys: Sequence[DocumentKey], viewer: Viewer, batch: BatchId) -> int:
        """Without those that were renewed meanwhile."""
        now = self._clock.now()
        there = tx.memories_of(keys, _expired_at(now))
        detail = Clean(f"expired: batch {batch}")

        def work() -> None:
            for key, memory in there.items():
                self._index_writer.forget(tx, _reread(tx, Stored(key, memory)))
                entry = AuditEntry(
                    at=now,
                    actor=viewer.agent,
                    interface=viewer.interface,
                    action=Action.FORGOTTEN,
                    memory=memory.id,
                    detail=detail,
                )
                tx.record_audit(entry)

        self._journal.record(tx, BatchKind.PURGED, viewer, work, reason=Clean("expired"), batch=batch)
        return len(there)

    def _propose(self, tx: Transaction, pair: Pair, viewer: Viewer) -> bool:
        """Whether it is in the inbox: not where one of them was changed meanwhile, or too much waits there."""
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
        raise Forbidden("Only an operator does maintenance. Use the operator's key.")


def check_plan(wish: MaintenancePlan, viewer: Viewer, yes_delete: int | None = None) -> None:
    """Raises Forbidden or Invalid for what is never done, whatever the store has."""
    require_operator(viewer)
    if wish.is_empty:
        raise Invalid("Say what is to be done: purgeExpired, merge, reindex or vacuum.", field="purgeExpired")
    if yes_delete is not None and not wish.purge_expired:
        raise Invalid("There is a number to delete only with a purge (purgeExpired).", field="yesDelete")


def _expired_at(now: datetime) -> Filter:
    return Filter(visibility=EVERYTHING.visibility, expired_at=now)


class _Predecessors(NamedTuple):
    """What a memory that goes leaves to those that took its own place."""

    named: DocumentKey | None = None
    of_topic: DocumentKey | None = None


def _removable(view: View, keys: Sequence[DocumentKey]) -> list[DocumentKey]:
    """Without those that alone stand in the place of what stays, which would hold again without them."""
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
    """None: it has to stay. What came before it and goes is in ``going`` already."""
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
    """As it is now that others, to which it was linked, are gone."""
    return tx.get(stored.memory.id) or stored


def _examples(view: View, keys: Sequence[DocumentKey]) -> tuple[Expired, ...]:
    memories = (
        memory for some in in_batches(keys, _PURGE_BATCH) for memory in view.memories_of(some, EVERYTHING).values()
    )
    found = [Expired(id=one.id, name=one.name, expired_at=one.expires_at) for one in memories if one.expires_at]
    return tuple(sorted(found, key=lambda one: (one.expired_at, one.id))[:MAX_EXAMPLES])
