"""Proposing: what somebody else is to decide, as a part of the unit of work in which it comes up."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Proposed
from hivelore.indexing.model import Stored
from hivelore.memories.drafts import UNSET, Edit
from hivelore.memories.model import Action, Memory
from hivelore.review.model import Decision, Proposal, ProposalId, ProposalKind, ProposalSubject, Wanted
from hivelore.review.open_limit import Weight, choose_dropped, proposal_weight
from hivelore.storage.ports import Transaction, View

MAX_OPEN = 100
"""Proposals of one agent, or of nobody in particular, that wait for a decision."""
_WHY_LENGTH = 1_000


_DROPPED = "review.dropped"


def dropped_count(view: View) -> int:
    """How many proposals of all agents together were dropped so far, since too many waited that weighed as much."""
    return int(view.setting(_DROPPED) or 0)


def _count_dropped(tx: Transaction) -> None:
    tx.set_setting(_DROPPED, str(dropped_count(tx) + 1))


def _make_room(tx: Transaction, kind: ProposalKind, about: Memory, viewer: Viewer) -> bool:
    waiting: list[tuple[Weight, Proposal]] = []
    for one in tx.open_proposals(viewer.agent):
        first = tx.get(one.memories[0].memory)
        waiting.append((proposal_weight(one.kind, None if first is None else first.memory), one))
    lightest = choose_dropped(waiting, proposal_weight(kind, about))
    if lightest is None:
        return False
    tx.drop_proposal(lightest.id)
    _count_dropped(tx)
    return True


class ProposalQueue:
    def __init__(self, clock: Clock, proposal_id: Callable[[datetime], ProposalId]) -> None:
        self._clock = clock
        self._proposal_id = proposal_id

    def remaining_capacity(self, view: View, viewer: Viewer) -> int:
        """How much more of this viewer may wait for a decision."""
        return max(MAX_OPEN - view.count_open_proposals(viewer.agent), 0)

    def propose_or_drop(
        self,
        tx: Transaction,
        kind: ProposalKind,
        memories: Sequence[Stored],
        viewer: Viewer,
        *,
        wanted: Wanted | None = None,
        why: Clean | None = None,
        session: Clean | None = None,
    ) -> Proposal | None:
        """As ``propose``; None where it was dropped for want of room, and counted as that."""
        try:
            return self.propose(tx, kind, memories, viewer, wanted=wanted, why=why, session=session)
        except Conflict:
            _count_dropped(tx)
            return None

    def propose(
        self,
        tx: Transaction,
        kind: ProposalKind,
        memories: Sequence[Stored],
        viewer: Viewer,
        *,
        wanted: Wanted | None = None,
        why: Clean | None = None,
        session: Clean | None = None,
    ) -> Proposal:
        """Put something into the inbox. Where the viewer proposed the same before, and the memories are as they were
        then, that one: it is open or was rejected. Where too many of theirs are open, the lightest is dropped for one
        that weighs more (``review.open_limit``); else Conflict is raised, and the unit may go on without it."""
        about = tuple(ProposalSubject(one.memory.id, one.memory.version) for one in memories)
        for known in self._earlier_proposals(tx, kind, memories, viewer, wanted):
            if known.memories == about and (known.decided is None or known.decided.how is Decision.REJECTED):
                return known
            if known.decided is None:  # Nobody could accept it any more.
                tx.drop_proposal(known.id)
        if not self.remaining_capacity(tx, viewer) and not _make_room(tx, kind, memories[0].memory, viewer):
            raise Conflict(
                f"{MAX_OPEN} of your proposals wait for a decision: wait for some. 'hivelore review list' "
                "(GET /api/review) lists them."
            )
        now = self._clock.now()
        proposal = Proposal(
            id=self._proposal_id(now),
            kind=kind,
            memories=about,
            wanted=wanted,
            why=None if why is None else Clean(why[:_WHY_LENGTH]),
            actor=viewer.agent,
            interface=viewer.interface,
            session=session,
            at=now,
        )
        tx.put_proposal(proposal)
        for entry in audit_entries(proposal, Action.PROPOSED, viewer, now, kind):
            tx.record_audit(entry)
        return proposal

    def propose_placement(
        self, tx: Transaction, memories: Sequence[Stored], placed: Memory, viewer: Viewer, *, has_time: bool
    ) -> Proposal | None:
        """Put to review that the last one of ``memories`` takes the place in time of ``placed``, beside the others.
        Without a time of its own (``has_time``) it is asked for once."""
        *_, stored = memories
        since, project = placed.holds_since, placed.project
        wanted = Edit(
            subject=UNSET if placed.subject is None else placed.subject,
            supersedes=UNSET if placed.supersedes is None else placed.supersedes,
            valid_from=UNSET if since == stored.memory.holds_since else since,
            project=UNSET if project == stored.memory.project else project,
        )
        about = [one.memory.id for one in memories]
        for known in tx.proposals_about(stored.key):
            is_same = known.kind is ProposalKind.SUPERSESSION and [one.memory for one in known.memories] == about
            if is_same and not has_time and isinstance(known.wanted, Edit):
                wanted = replace(wanted, valid_from=known.wanted.valid_from)
        return self.propose_or_drop(tx, ProposalKind.SUPERSESSION, memories, viewer, wanted=wanted)

    def _earlier_proposals(
        self, tx: Transaction, kind: ProposalKind, memories: Sequence[Stored], viewer: Viewer, wanted: Wanted | None
    ) -> list[Proposal]:
        """What this viewer proposed of these memories, of whatever version."""
        ids = [one.memory.id for one in memories]
        return [
            known
            for known in tx.proposals_about(memories[-1].key)
            if (known.kind, known.actor, known.wanted) == (kind, viewer.agent, wanted)
            and [one.memory for one in known.memories] == ids
        ]


def audit_entries(proposal: Proposal, action: Action, viewer: Viewer, at: datetime, what: str) -> list[AuditEntry]:
    """What the audit trail says of each memory that a proposal is about."""
    detail = Clean(f"{what}: proposal {proposal.id}")
    return [
        AuditEntry(
            at=at, actor=viewer.agent, interface=viewer.interface, action=action, memory=one.memory, detail=detail
        )
        for one in proposal.memories
    ]


def proposed_error(proposal: Proposal) -> Proposed:
    """What to tell who asked for something that others decide about."""
    only = "What a tool or the web said is shared once it was reviewed."
    if proposal.kind is ProposalKind.OPERATIONAL:
        only = "Only operators change what is known about running things."
    if proposal.kind is ProposalKind.SUPERSESSION:
        only = "A lead decides what takes the place of what others share."
    decided = proposal.decided
    if decided is None:
        where = f"'hivelore review show {proposal.id}' (GET /api/review/{proposal.id})"
        return Proposed(f"{only} That is proposed now: {where} tells what becomes of it.", proposal=proposal.id)
    why = "" if decided.reason is None else f" ({decided.reason})"
    return Proposed(
        f"{only} It was proposed as {proposal.id} and rejected{why}. Change the memory first, or ask an operator.",
        proposal=proposal.id,
    )
