"""The review inbox: lists proposals and applies decisions (B06, X19, N07)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import (
    Effect,
    Permission,
    is_audited_read,
    may_affect,
    may_decide,
    memory_for_viewer,
    proposals_visible_to,
)
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from hivelore.feedback.recall_log import WriteBehindBuffer
from hivelore.feedback.recent_use import times_given
from hivelore.indexing.writer import IndexWriter
from hivelore.links.decisions import stated_at
from hivelore.links.model import LinkKind
from hivelore.links.service import LinkService
from hivelore.links.validity import ending, may_end
from hivelore.maintenance.merge import as_reinforcements, merge
from hivelore.memories.edits import PreparedEdit
from hivelore.memories.model import Action
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.memories.stored import Stored
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.curation import CurationService, PreparedChange
from hivelore.observations.model import Observation, ObservationKind
from hivelore.observations.naming import Naming
from hivelore.observations.records import add_observations
from hivelore.review.harm import LATELY, harm
from hivelore.review.model import (
    DECISIONS,
    Decision,
    DecisionRecord,
    Proposal,
    ProposalDetail,
    ProposalFilter,
    ProposalId,
    ProposalKind,
    ProposalPage,
    Wanted,
)
from hivelore.review.proposal_list import ListPosition, cut_list, group_by_memory
from hivelore.review.proposals import audit_entries
from hivelore.search.model import EVERYTHING
from hivelore.setup_scripts.decisions import may_see
from hivelore.setup_scripts.service import SetupScripts
from hivelore.storage.ports import MemoryStore, Transaction, View

READ_AT_ONCE = 500
"""Proposals read by one statement."""
MERGEABLE_KINDS = (ProposalKind.CONTRADICTION,)


@dataclass(frozen=True, slots=True)
class _Case:
    """A proposal that is being decided, within one transaction."""

    proposal: Proposal
    memories: Sequence[Stored]
    """Current versions, in the order of the proposal."""
    how: Decision
    """Never rejected, because a rejection changes no memory."""
    prepared: PreparedEdit | PreparedChange | None
    """The requested change of the only memory. None: no change, or a deletion."""
    viewer: Viewer
    now: datetime


class ReviewInbox:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        journal: ChangeJournal,
        memory_service: MemoryService,
        curation: CurationService,
        links: LinkService,
        setup_scripts: SetupScripts,
        normalizer: Normalizer,
        naming: Naming,
        write_buffer: WriteBehindBuffer,
        lifecycle: Lifecycle,
        lead_sees: LeadSees,
        clock: Clock,
        written: Callable[[], None],
    ) -> None:
        """``written`` is called after every decision that may leave passages without vectors."""
        self._store = store
        self._index_writer = index_writer
        self._journal = journal
        self._memory_service = memory_service
        self._curation = curation
        self._links = links
        self._setup_scripts = setup_scripts
        self._normalizer = normalizer
        self._naming = naming
        self._write_buffer = write_buffer
        self._lifecycle = lifecycle
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written
        self._handlers: dict[ProposalKind, Callable[[Transaction, _Case], None]] = {
            ProposalKind.CONTRADICTION: self._contradiction,
            ProposalKind.SHARING: self._apply_wanted,
            ProposalKind.OPERATIONAL: self._apply_wanted,
            ProposalKind.DUPLICATE: self._duplicate,
            ProposalKind.SUPERSESSION: self._supersession,
            ProposalKind.UPDATE: self._update,
            ProposalKind.SUBJECT: self._subject,
            ProposalKind.SETUP_SCRIPT: self._setup_script,
        }

    def page(
        self,
        viewer: Viewer,
        after: tuple[datetime, ProposalId] | None,
        limit: int,
        *,
        is_open: bool | None = None,
        kind: ProposalKind | None = None,
        deadline: float | None = None,
    ) -> ProposalPage:
        """Returns proposals that the viewer may see, newest first, then by id."""
        where = replace(proposals_visible_to(viewer, self._lead_sees), open=is_open, kind=kind)
        with self._store.read(deadline, sees=where.seen) as view:
            found = view.proposals(where, after, limit + 1)
            page, cursor = cut_page(found, limit, lambda proposal: (proposal.at, proposal.id))
            memories = [stored.memory for one in page for stored in _memories(view, one)]
        names = {memory.id: memory.name for memory in memories}
        return ProposalPage(
            proposals=page,
            next=cursor,
            names=names,
        )

    def page_by_harm(
        self,
        viewer: Viewer,
        after: ListPosition,
        limit: int,
        *,
        kind: ProposalKind | None = None,
        deadline: float | None = None,
    ) -> ProposalPage:
        """Returns open proposals that the viewer may see, the most harmful first, with those about the same memory
        together (``review.harm``, ``review.proposal_list``)."""
        where = replace(proposals_visible_to(viewer, self._lead_sees), open=True, kind=kind)
        now = self._clock.now()
        with self._store.read(deadline, sees=where.seen) as view:
            proposals = _read_all(view, where)
            keys = view.keys_of({each.memory for one in proposals for each in one.memories})
            memories = {one.id: one for one in view.memories_of(keys.values(), EVERYTHING).values()}
            usage = times_given(view, keys, now - LATELY)
        harms = [(one, harm(one, [memories[each.memory] for each in one.memories], usage, now)) for one in proposals]
        ranked, groups = group_by_memory(harms)
        page, position = cut_list(ranked, after, limit)
        return ProposalPage(
            proposals=tuple(page),
            next=None if position is None else position.cursor(),
            names={each.memory: memories[each.memory].name for one in page for each in one.memories},
            groups={one.id: groups[one.id] for one in page if one.id in groups},
        )

    def resolve(self, text: str, viewer: Viewer) -> ProposalId:
        """Returns the id of the proposal that a caller means: the whole id, or at least eight characters of its
        beginning. Raises Invalid if several visible proposals begin with them."""

        def find_ids(prefix: str, limit: int) -> list[ProposalId]:
            where = replace(proposals_visible_to(viewer, self._lead_sees), prefix=prefix)
            with self._store.read(sees=where.seen) as view:
                return [proposal.id for proposal in view.proposals(where, None, limit)]

        return ProposalId(resolve_id(text, find_ids, "proposal"))

    def detail(self, proposal: ProposalId, viewer: Viewer) -> ProposalDetail:
        """Returns a proposal with its memories. Reads of other agents' memories are audited (X3)."""
        with self._store.read(sees=proposals_visible_to(viewer, self._lead_sees).seen) as view:
            known, stored = self._get_visible(view, proposal, viewer)
            script = None if known.script is None else self._setup_scripts.review(view, known, viewer)
        now = self._clock.now()
        memories = tuple(one.memory for one in stored)
        for memory in memories:
            if is_audited_read(viewer, memory):
                self._write_buffer.record(AuditEntry.by_viewer(viewer, Action.READ, memory.id, now))
        shown = tuple(memory_for_viewer(viewer, one) for one in memories)
        return ProposalDetail(proposal=known, memories=shown, script=script)

    def decide(
        self,
        proposal: ProposalId,
        how: Decision,
        viewer: Viewer,
        *,
        reason: str | None = None,
        deadline: float | None = None,
    ) -> Proposal:
        """Decides a proposal and applies it. Raises Conflict if it was already decided, Stale if a memory or script
        changed since the proposal. Such a proposal can still be rejected."""
        why = self._normalizer.field(reason, "reason")
        with self._store.read(sees=proposals_visible_to(viewer, self._lead_sees).seen) as view:
            known, _ = self._get_visible(view, proposal, viewer)
        prepared = self._prepare(known.wanted, why or known.why)
        done = self._store.write(lambda tx: self._decide(tx, proposal, how, viewer, prepared, why), deadline)
        self._written()
        return done

    def accept_update(self, tx: Transaction, update: Proposal, viewer: Viewer, reason: Clean) -> Proposal:
        """Accepts a proposal of kind ``update`` as ``decide``, within the transaction that makes it. After an error the
        transaction must be rolled back."""
        return self._decide(tx, update.id, Decision.ACCEPTED, viewer, None, reason)

    def _decide(
        self,
        tx: Transaction,
        proposal: ProposalId,
        how: Decision,
        viewer: Viewer,
        prepared: PreparedEdit | PreparedChange | None,
        why: Clean | None,
    ) -> Proposal:
        known, memories = self._get_visible(tx, proposal, viewer)
        _check_decision(known, how, viewer)
        now = self._clock.now()
        if how is not Decision.REJECTED:
            _check_unchanged(known, memories)
            self._apply(tx, _Case(known, memories, how, prepared, viewer, now), why)
        elif known.kind is ProposalKind.UPDATE:
            older, newer = (one.memory.id for one in memories)
            with suppress(NotFound):  # The judge has dropped the link since.
                self._links.reject_within(tx, newer, older, viewer)
        by = DecisionRecord(how=how, at=now, actor=viewer.agent, interface=viewer.interface, reason=why)
        decided = replace(known, decided=by)
        tx.put_proposal(decided)
        for entry in audit_entries(decided, Action.DECIDED, viewer, now, f"{known.kind} {how}"):
            tx.record_audit(entry)
        return decided

    # applying decisions

    def _apply(self, tx: Transaction, matter: _Case, why: Clean | None) -> None:
        def apply_decision() -> None:
            self._handlers[matter.proposal.kind](tx, matter)

        is_deletion = matter.proposal.wanted is not None and matter.proposal.wanted.forget
        if is_deletion or matter.proposal.script is not None:
            apply_decision()  # A permanent deletion is not journaled, and a setup script has its own batches.
        else:
            self._journal.record(tx, BatchKind.DECIDED, matter.viewer, apply_decision, reason=why)

    def _duplicate(self, tx: Transaction, matter: _Case) -> None:
        """Merges two duplicates; the newer one supersedes the older one."""
        older, newer = matter.memories
        merge(tx, self._index_writer, older, newer, matter.viewer, matter.now, self._lifecycle, self._naming)

    def _supersession(self, tx: Transaction, matter: _Case) -> None:
        """Applies the requested valid time, with the permissions of the deciding viewer."""
        assert isinstance(matter.prepared, PreparedEdit)
        *_, stored = matter.memories
        self._memory_service.apply_reviewed_placement(tx, stored, matter.prepared, matter.viewer)

    def _update(self, tx: Transaction, matter: _Case) -> None:
        """Ends the valid time of the older memory when the newer one was stated."""
        older, newer = matter.memories
        _check_may_edit(matter)
        links = (one.link for one in tx.links_of([newer.key]) if (one.source, one.target) == (newer.key, older.key))
        is_update = any(one.kind is LinkKind.UPDATES and one.counts for one in links)
        history = tx.history(newer.key)
        if not is_update or not may_end(older.memory, newer.memory, history):
            raise Conflict(f"Memory {newer.memory.id} no longer updates {older.memory.id}. Reject the proposal.")
        change = self._memory_service.prepare_edit(ending(older.memory, newer.memory, history))
        self._memory_service.place(tx, newer, change, matter.viewer)

    def _subject(self, tx: Transaction, matter: _Case) -> None:
        """Gives the memories without a subject the proposed one, in the order of their dates."""
        assert isinstance(matter.prepared, PreparedEdit)
        _check_may_edit(matter)
        for one in matter.memories:
            stored = tx.get(one.memory.id) or one  # Placing another one may have changed its valid time.
            if stored.memory.subject is None:
                since = stated_at(stored.memory, tx.history(stored.key))
                fields = {
                    **matter.prepared.fields,
                    **({"valid_from": since} if since != one.memory.holds_since else {}),
                }
                self._memory_service.place(tx, stored, replace(matter.prepared, fields=fields), matter.viewer)

    def _contradiction(self, tx: Transaction, matter: _Case) -> None:
        """Accepted: lowers the confidence of the older memory. Merged: adds the newer one to the older as an
        observation."""
        older, newer = matter.memories
        _check_operational(older)
        if matter.how is Decision.ACCEPTED:
            judged = Observation(
                at=matter.now,
                kind=ObservationKind.DISPROVED,
                actor=matter.viewer.agent,
                interface=matter.viewer.interface,
                session=newer.memory.session,
                text=newer.memory.content,
            )
            add_observations(tx, older, [judged], self._lifecycle)
            return
        add_observations(tx, older, as_reinforcements(tx, newer), self._lifecycle)
        self._memory_service.remove(tx, newer, matter.viewer)

    def _apply_wanted(self, tx: Transaction, matter: _Case) -> None:
        """Applies the requested change with the permissions of the deciding viewer."""
        (stored,) = matter.memories
        match matter.prepared:
            case PreparedEdit():
                # After the review, the limits of a lead acting alone do not apply.
                by = replace(matter.viewer, role=Role.OPERATOR)
                self._memory_service.apply_edit(tx, stored, matter.prepared, by)
            case PreparedChange():
                self._curation.change_within(tx, stored.memory.id, matter.prepared, matter.viewer)
            case None:
                assert matter.proposal.wanted == Wanted(forget=True)
                self._memory_service.remove(tx, stored, matter.viewer)

    def _setup_script(self, tx: Transaction, matter: _Case) -> None:
        self._setup_scripts.apply_proposal(tx, matter.proposal, matter.viewer)

    def _prepare(self, wanted: Wanted | None, reason: Clean | None) -> PreparedEdit | PreparedChange | None:
        if wanted is not None and wanted.edit is not None:
            return self._memory_service.prepare_edit(replace(wanted.edit, reason=reason))
        if wanted is not None and wanted.change is not None:
            return self._curation.prepare(replace(wanted.change, reason=reason))
        return None

    # permissions

    def _get_visible(self, view: View, proposal: ProposalId, viewer: Viewer) -> tuple[Proposal, list[Stored]]:
        known = view.proposal(proposal)
        memories = [] if known is None else _memories(view, known)
        where = proposals_visible_to(viewer, self._lead_sees)
        if (
            known is None
            or not where.admits(known)
            or len(memories) < len(known.memories)
            or not all(where.seen.admits(one.memory.owner, one.memory.scope) for one in memories)
            or not (known.script is None or may_see(where.seen, known.script.agent))
        ):
            raise NotFound(
                f"No proposal {proposal!r} that you may see. Its memory may have been forgotten. List proposals with "
                "'hivelore review list' (GET /api/review)."
            )
        return known, memories


def _read_all(view: View, where: ProposalFilter) -> list[Proposal]:
    found: list[Proposal] = []
    after: tuple[datetime, ProposalId] | None = None
    while True:
        page = view.proposals(where, after, READ_AT_ONCE)
        found += page
        if len(page) < READ_AT_ONCE:
            return found
        after = page[-1].at, page[-1].id


def _memories(view: View, proposal: Proposal) -> list[Stored]:
    found = (view.get(one.memory) for one in proposal.memories)
    return [stored for stored in found if stored is not None]


def _check_decision(proposal: Proposal, how: Decision, viewer: Viewer) -> None:
    if viewer.role is Role.WORKER:
        raise Forbidden("Only operators and leads decide on proposals. Wait for a decision.")
    if how is Decision.MERGED and proposal.kind not in MERGEABLE_KINDS:
        raise Invalid(f"A proposal of kind {proposal.kind} cannot be merged. Accept or reject it.")
    if not may_decide(viewer, proposal, how):
        if proposal.actor == viewer.agent and proposal.kind in (ProposalKind.SHARING, ProposalKind.SUPERSESSION):
            raise Forbidden("This is your own proposal. An operator or another lead must decide.")
        verb = next(verb for verb, one in DECISIONS.items() if one is how)
        raise Forbidden(f"Only an operator may {verb} a proposal of kind {proposal.kind}.")
    decided = proposal.decided
    if decided is not None:
        at = decided.at.isoformat(timespec="seconds")
        raise Conflict(f"Proposal {proposal.id} was already {decided.how} at {at}. To revise it, change the memory.")


def _check_unchanged(proposal: Proposal, memories: Sequence[Stored]) -> None:
    for then, now in zip(proposal.memories, memories, strict=True):
        if now.memory.version != then.version:
            raise Stale(
                f"Memory {then.memory} has changed since this was proposed: it is at version {now.memory.version}, not "
                f"{then.version}. Reject the proposal; it can be proposed again.",
                current=now.memory.version,
            )


def _check_may_edit(matter: _Case) -> None:
    for one in matter.memories:
        if may_affect(matter.viewer, Effect.EDIT, one.memory) is not Permission.ALLOWED:
            raise Forbidden(f"You may not change memory {one.memory.id}. Ask an operator to decide.")


def _check_operational(stored: Stored) -> None:
    if stored.memory.operational is None:
        raise Conflict(f"Memory {stored.memory.id} is no longer operational. Reject the proposal.")
