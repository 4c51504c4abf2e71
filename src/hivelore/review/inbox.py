"""The review inbox: what others have proposed, and the decisions about it (B06, X19, N07)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.access import is_audited_read, may_decide, memory_for_viewer, proposals_visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.indexing.model import Stored
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.merge import as_reinforcements, merge
from hivelore.memories.drafts import Edit
from hivelore.memories.edits import PreparedEdit
from hivelore.memories.model import Action
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.service import MemoryService
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.curation import CurationService, PreparedChange
from hivelore.observations.model import Observation, ObservationKind
from hivelore.observations.outcomes import Change
from hivelore.observations.records import add_observations
from hivelore.review.model import (
    DECISIONS,
    Decision,
    DecisionRecord,
    Deletion,
    Proposal,
    ProposalDetail,
    ProposalId,
    ProposalKind,
    ProposalPage,
    Wanted,
)
from hivelore.review.proposals import audit_entries, dropped_count
from hivelore.storage.ports import MemoryStore, Transaction, View

MERGEABLE_KINDS = (ProposalKind.CONTRADICTION,)


@dataclass(frozen=True, slots=True)
class _Case:
    """What is being decided, in one unit of work."""

    proposal: Proposal
    memories: Sequence[Stored]
    """As they are now, in its order."""
    how: Decision
    """Never that it is rejected: that does nothing."""
    prepared: PreparedEdit | PreparedChange | None
    """What is wanted of its one memory; None: nothing, or that it is forgotten."""
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
        normalizer: Normalizer,
        write_buffer: WriteBehindBuffer,
        lifecycle: Lifecycle,
        lead_sees: LeadSees,
        clock: Clock,
        written: Callable[[], None],
    ) -> None:
        """``written`` is called after every decision that may have left passages without vectors."""
        self._store = store
        self._index_writer = index_writer
        self._journal = journal
        self._memory_service = memory_service
        self._curation = curation
        self._normalizer = normalizer
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
        """Proposals that the viewer may see."""
        where = replace(proposals_visible_to(viewer, self._lead_sees), open=is_open, kind=kind)
        with self._store.read(deadline, sees=where.seen) as view:
            found = view.proposals(where, after, limit + 1)
            page, last = tuple(found[:limit]), found[limit - 1] if len(found) > limit else None
            memories = [stored.memory for one in page for stored in _memories(view, one)]
            lost = None if viewer.role is Role.WORKER else dropped_count(view)
        names = {memory.id: memory.name for memory in memories}
        return ProposalPage(
            proposals=page,
            next=None if last is None else f"{last.at.isoformat()}~{last.id}",
            dropped=lost,
            names=names,
        )

    def detail(self, proposal: ProposalId, viewer: Viewer) -> ProposalDetail:
        """A proposal with its memories; reading those of others is kept in the audit trail (X3)."""
        with self._store.read(sees=proposals_visible_to(viewer, self._lead_sees).seen) as view:
            known, stored = self._get_visible(view, proposal, viewer)
        now = self._clock.now()
        memories = tuple(one.memory for one in stored)
        for memory in memories:
            if is_audited_read(viewer, memory):
                self._write_buffer.record(
                    AuditEntry(
                        at=now, actor=viewer.agent, interface=viewer.interface, action=Action.READ, memory=memory.id
                    )
                )
        return ProposalDetail(proposal=known, memories=tuple(memory_for_viewer(viewer, one) for one in memories))

    def decide(
        self,
        proposal: ProposalId,
        how: Decision,
        viewer: Viewer,
        *,
        reason: str | None = None,
        deadline: float | None = None,
    ) -> Proposal:
        """Decide, and do what that means. Raises Conflict where it was decided before, Stale where a memory has changed
        since: what was proposed of its text then can be rejected still."""
        why = self._normalizer.field(reason, "reason")
        with self._store.read(sees=proposals_visible_to(viewer, self._lead_sees).seen) as view:
            known, _ = self._get_visible(view, proposal, viewer)
        prepared = self._prepare(known.wanted, why or known.why)

        def work(tx: Transaction) -> Proposal:
            known, memories = self._get_visible(tx, proposal, viewer)
            _check_decision(known, how, viewer)
            now = self._clock.now()
            if how is not Decision.REJECTED:
                _check_unchanged(known, memories)
                self._apply(tx, _Case(known, memories, how, prepared, viewer, now), why)
            by = DecisionRecord(how=how, at=now, actor=viewer.agent, interface=viewer.interface, reason=why)
            decided = replace(known, decided=by)
            tx.put_proposal(decided)
            for entry in audit_entries(decided, Action.DECIDED, viewer, now, f"{known.kind} {how}"):
                tx.record_audit(entry)
            return decided

        done = self._store.write(work, deadline)
        self._written()
        return done

    # what decisions do

    def _apply(self, tx: Transaction, matter: _Case, why: Clean | None) -> None:
        def work() -> None:
            self._handlers[matter.proposal.kind](tx, matter)

        if isinstance(matter.proposal.wanted, Deletion):
            work()  # What is forgotten for good is not kept.
        else:
            self._journal.record(tx, BatchKind.DECIDED, matter.viewer, work, reason=why)

    def _duplicate(self, tx: Transaction, matter: _Case) -> None:
        """Of two memories that say the same, one; the other one is what it took the place of."""
        older, newer = matter.memories
        merge(tx, self._index_writer, older, newer, matter.viewer, matter.now, self._lifecycle)

    def _supersession(self, tx: Transaction, matter: _Case) -> None:
        """The place in time that was asked for, as far as who accepts it may change the memories around it."""
        assert isinstance(matter.prepared, PreparedEdit)
        *_, stored = matter.memories
        self._memory_service.apply_reviewed_placement(tx, stored, matter.prepared, matter.viewer)

    def _contradiction(self, tx: Transaction, matter: _Case) -> None:
        """Accepted: the older is less sure. Merged: the newer was the older one, seen again; its words stay as such."""
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
        """What was asked for, by who accepts it."""
        (stored,) = matter.memories
        match matter.prepared:
            case PreparedEdit():
                # It was reviewed: what a lead might not do alone is no question any more.
                by = replace(matter.viewer, role=Role.OPERATOR)
                self._memory_service.apply_edit(tx, stored, matter.prepared, by)
            case PreparedChange():
                self._curation.change_within(tx, stored.memory.id, matter.prepared, matter.viewer)
            case None:
                assert isinstance(matter.proposal.wanted, Deletion)
                self._memory_service.remove(tx, stored, matter.viewer)

    def _prepare(self, wanted: Wanted | None, reason: Clean | None) -> PreparedEdit | PreparedChange | None:
        match wanted:
            case Edit():
                return self._memory_service.prepare_edit(replace(wanted, reason=reason))
            case Change():
                return self._curation.prepare(replace(wanted, reason=reason))
            case Deletion() | None:
                return None

    # what may be decided

    def _get_visible(self, view: View, proposal: ProposalId, viewer: Viewer) -> tuple[Proposal, list[Stored]]:
        known = view.proposal(proposal)
        memories = [] if known is None else _memories(view, known)
        where = proposals_visible_to(viewer, self._lead_sees)
        if (
            known is None
            or not where.admits(known)
            or len(memories) < len(known.memories)
            or not all(where.seen.admits(one.memory.owner, one.memory.scope) for one in memories)
        ):
            raise NotFound(
                f"No proposal {proposal}: it is not for you, or what it was about was forgotten. 'hivelore review "
                "list' (GET /api/review) lists what there is."
            )
        return known, memories


def _memories(view: View, proposal: Proposal) -> list[Stored]:
    found = (view.get(one.memory) for one in proposal.memories)
    return [stored for stored in found if stored is not None]


def _check_decision(proposal: Proposal, how: Decision, viewer: Viewer) -> None:
    if viewer.role is Role.WORKER:
        raise Forbidden("Operators and leads decide about proposals. Wait for one, and look what became of it then.")
    if how is Decision.MERGED and proposal.kind not in MERGEABLE_KINDS:
        raise Invalid(f"There is nothing to merge in a proposal of kind {proposal.kind}: accept or reject it.")
    if not may_decide(viewer, proposal, how):
        if proposal.actor == viewer.agent and proposal.kind in (ProposalKind.SHARING, ProposalKind.SUPERSESSION):
            raise Forbidden("You have proposed this yourself: an operator or another lead decides.")
        verb = next(verb for verb, one in DECISIONS.items() if one is how)
        raise Forbidden(f"Only an operator may {verb} a proposal of kind {proposal.kind}.")
    decided = proposal.decided
    if decided is not None:
        at = decided.at.isoformat(timespec="seconds")
        raise Conflict(
            f"Proposal {proposal.id} was {decided.how} at {at} already. If that was wrong, change what it was about."
        )


def _check_unchanged(proposal: Proposal, memories: Sequence[Stored]) -> None:
    for then, now in zip(proposal.memories, memories, strict=True):
        if now.memory.version != then.version:
            raise Stale(
                f"Memory {then.memory} has changed since this was proposed: it is at version {now.memory.version}, not "
                f"{then.version}. Reject the proposal; who still wants it proposes it again.",
                current=now.memory.version,
            )


def _check_operational(stored: Stored) -> None:
    if stored.memory.operational is None:
        raise Conflict(f"Memory {stored.memory.id} is not about running things any more. Reject the proposal.")
