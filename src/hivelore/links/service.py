"""Links of a memory: shows them, rejects wrong ones and restores them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import Effect, Permission, may_affect, visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, NotFound
from hivelore.links.chains import MOST_LATEST, follow_updates
from hivelore.links.decisions import choose_later, stated_at
from hivelore.links.model import LaterStatement, LinkedMemory, LinkPage, StoredLink
from hivelore.links.validity import has_ended, removal_of_end
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.service import MemoryService
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.observations.confidence import Lifecycle, is_active
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction, View


class LinkService:
    def __init__(
        self,
        store: MemoryStore,
        clock: Clock,
        lead_sees: LeadSees,
        lifecycle: Lifecycle,
        memory_service: MemoryService,
        journal: ChangeJournal,
    ) -> None:
        self._store = store
        self._memory_service = memory_service
        self._journal = journal
        self._lifecycle = lifecycle
        self._clock = clock
        self._lead_sees = lead_sees

    def links(self, memory: MemoryId, viewer: Viewer, deadline: float | None = None) -> LinkPage:
        """Returns the links of a memory to memories that the viewer may see, rejected ones included, the latest judged
        first."""
        seen = visible_to(viewer, self._lead_sees)
        with self._store.read(deadline, sees=seen) as view:
            stored = self._get_visible(view, memory, viewer)
            found = view.links_of([stored.key])
            ends = {end for one in found for end in (one.source, one.target)} - {stored.key}
            others = view.memories_of(ends, Filter(visibility=seen))
        linked = list[LinkedMemory]()
        for one in found:
            other = others.get(one.target if one.source == stored.key else one.source)
            if other is not None:
                linked.append(LinkedMemory(link=one.link, other=other.id, name=other.name, stated_at=other.holds_since))
        return LinkPage(links=tuple(linked))

    def later_statements(
        self,
        memories: Sequence[Memory],
        viewer: Viewer,
        deadline: float | None = None,
        *,
        certainty: float | None = None,
    ) -> Mapping[MemoryId, LaterStatement]:
        """Returns, by memory, the latest one that updates it, among those that hold and that the viewer may see. If
        there is none, the one that most certainly may update it, with at least this ``certainty``, or the latest that
        updates that one; None: doubts do not count. Private memories of others are left out, also for leads and
        operators: the result is injected."""
        seen = replace(visible_to(viewer, self._lead_sees), others=False)
        now = self._clock.now()
        where = Filter(visibility=seen, superseded=False, live_at=now)
        with self._store.read(deadline, sees=seen) as view:
            keys = list(view.keys_of({one.id for one in memories}).values())
            doubts: Mapping[DocumentKey, Sequence[DocumentKey]] = (
                {} if certainty is None else view.doubts_of(keys, certainty, now)
            )
            doubtful = dict.fromkeys(one for some in doubts.values() for one in some)
            followed = follow_updates([*keys, *doubtful], partial(view.updates_of, at=now))
            updates = {key: [one.key for one in some[:MOST_LATEST]] for key, some in followed.items()}
            linked = view.memories_of([key for key in keys if key in updates or key in doubts], Filter(visibility=seen))
            newer = view.memories_of({*doubtful, *(one for some in updates.values() for one in some)}, where)
            newer = {key: one for key, one in newer.items() if self._holds(one)}
            dates = _read_dates(view, {**linked, **newer})
        latest = dict[MemoryId, LaterStatement]()
        for key, memory in linked.items():
            choices = [[LaterStatement(newer[one], dates[one]) for one in updates.get(key, ()) if one in newer]]
            for doubt in doubts.get(key, ()):
                ends = [one for one in (doubt, *updates.get(doubt, ())) if one in newer]
                choices.append([LaterStatement(newer[one], dates[one], is_certain=False) for one in ends])
            later = choose_later(memory.id, dates[key], choices)
            if later is not None:
                latest[memory.id] = later
        return latest

    def _holds(self, memory: Memory) -> bool:
        """Returns False for operational memories that were contradicted or decayed."""
        known = memory.operational
        return known is None or is_active(known, self._clock.now(), self._lifecycle)

    def reject(self, memory: MemoryId, other: MemoryId, viewer: Viewer, deadline: float | None = None) -> LinkPage:
        """Rejects the links between two memories: they no longer count, and the judge does not make them again.
        Raises NotFound without a link, Forbidden if the viewer may change neither memory, or only the later one and the
        update has ended the earlier one: who decided that may change both."""

        def reject_links(tx: Transaction) -> None:
            self.reject_within(tx, memory, other, viewer)

        self._store.write(reject_links, deadline)
        return self.links(memory, viewer, deadline)

    def reject_within(self, tx: Transaction, memory: MemoryId, other: MemoryId, viewer: Viewer) -> None:
        """Rejects as ``reject`` within a transaction. The valid time that an update ended is restored."""
        found, ends = self._links_between(tx, memory, other, viewer)
        if not any(_may_change(viewer, one) for one in ends):
            raise Forbidden("You may change neither of these memories: their owner, a lead or an operator may.")
        self._mark(tx, found, self._clock.now(), viewer)
        for newer, older in (ends, ends[::-1]):
            target, history = older.memory.id, tx.history(newer.key)
            if newer.memory.supersedes == target and has_ended(history, target):
                _check_may_change_earlier(viewer, older)
                self._restore_validity(tx, newer, removal_of_end(target, newer.memory, history), viewer)

    def _restore_validity(self, tx: Transaction, newer: Stored, removal: Edit, viewer: Viewer) -> None:
        """Removes the end that an update made. Whoever may reject the link may do that, too."""
        change = self._memory_service.prepare_edit(removal)
        by = replace(viewer, role=Role.OPERATOR)
        self._journal.record(
            tx,
            BatchKind.EDITED,
            viewer,
            lambda: self._memory_service.place(tx, newer, change, by),
            reason=change.reason,
        )

    def restore(self, memory: MemoryId, other: MemoryId, viewer: Viewer, deadline: float | None = None) -> LinkPage:
        """Lets rejected links between two memories count again. Raises as ``reject``, but Forbidden also for a viewer
        who may change only the later of the two."""

        def restore_links(tx: Transaction) -> None:
            found, ends = self._links_between(tx, memory, other, viewer)
            targets = {one.target for one in found}
            for one in ends:
                if one.key in targets:
                    _check_may_change_earlier(viewer, one)
            self._mark(tx, found, None, viewer)

        self._store.write(restore_links, deadline)
        return self.links(memory, viewer, deadline)

    def _mark(self, tx: Transaction, found: Sequence[StoredLink], at: datetime | None, viewer: Viewer) -> None:
        for one in found:
            if (one.link.rejected_at is None) == (at is None):
                continue
            link = replace(one.link, rejected_at=at, rejected_by=None if at is None else viewer.agent)
            tx.put_link(replace(one, link=link))
            verb = "restored" if at is None else "rejected"
            detail = Clean(f"link {verb}: {link.source} {link.kind} {link.target}")
            for end in (link.source, link.target):
                tx.record_audit(AuditEntry.by_viewer(viewer, Action.EDITED, end, self._clock.now(), detail))

    def _links_between(
        self, tx: Transaction, memory: MemoryId, other: MemoryId, viewer: Viewer
    ) -> tuple[Sequence[StoredLink], tuple[Stored, Stored]]:
        ends = self._get_visible(tx, memory, viewer), self._get_visible(tx, other, viewer)
        keys = {one.key for one in ends}
        found = [one for one in tx.links_of([ends[0].key]) if {one.source, one.target} == keys]
        if not found:
            raise NotFound(
                f"No link between {memory} and {other}. 'hivelore links {memory}' (GET /api/memory/{memory}/links) "
                "lists the links of a memory."
            )
        return found, ends

    def _get_visible(self, view: View, memory: MemoryId, viewer: Viewer) -> Stored:
        stored = view.get(memory)
        seen = visible_to(viewer, self._lead_sees)
        if stored is None or not seen.admits(stored.memory.owner, stored.memory.scope):
            raise NotFound(f"No memory {memory!r} that you may see. It may have been forgotten.")
        return stored


def _read_dates(view: View, memories: Mapping[DocumentKey, Memory]) -> Mapping[DocumentKey, datetime]:
    histories = view.histories([key for key, one in memories.items() if one.version > 1])
    return {key: stated_at(one, histories.get(key, ())) for key, one in memories.items()}


def _may_change(viewer: Viewer, stored: Stored) -> bool:
    return may_affect(viewer, Effect.EDIT, stored.memory) is Permission.ALLOWED


def _check_may_change_earlier(viewer: Viewer, earlier: Stored) -> None:
    if not _may_change(viewer, earlier):
        raise Forbidden("You may not change the earlier of these memories: its owner, a lead or an operator may.")
