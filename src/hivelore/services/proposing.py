"""Proposing: what somebody else is to decide, as a part of the unit of work in which it comes up."""

from collections.abc import Callable, Sequence
from datetime import datetime

from hivelore.domain.agent import Viewer
from hivelore.domain.audit import AuditEntry
from hivelore.domain.index import Stored
from hivelore.domain.memory import Action
from hivelore.domain.proposal import Concerned, Decision, Proposal, ProposalId, ProposalKind, Wanted
from hivelore.domain.text import Clean
from hivelore.errors import Conflict, Proposed
from hivelore.ports import Clock, Transaction, View

MOST_OPEN = 100
"""Proposals of one agent, or of nobody in particular, that wait for a decision."""
_WHY_LENGTH = 1_000


class Proposing:
    def __init__(self, clock: Clock, proposal_id: Callable[[datetime], ProposalId]) -> None:
        self._clock = clock
        self._proposal_id = proposal_id

    def room(self, view: View, viewer: Viewer) -> int:
        """How much more of this viewer may wait for a decision."""
        return max(MOST_OPEN - view.open_proposals(viewer.agent), 0)

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
        then, that one: it is open or was rejected. Raises Conflict where too many of theirs are open; the unit may go
        on without it."""
        about = tuple(Concerned(one.memory.id, one.memory.version) for one in memories)
        for known in self._alike(tx, kind, memories, viewer, wanted):
            if known.memories == about and (known.decided is None or known.decided.how is Decision.REJECTED):
                return known
            if known.decided is None:  # Nobody could accept it any more.
                tx.drop_proposal(known.id)
        if not self.room(tx, viewer):
            raise Conflict(
                f"{MOST_OPEN} of your proposals wait for a decision: wait for some. 'hivelore review list' "
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
            door=viewer.door,
            session=session,
            at=now,
        )
        tx.put_proposal(proposal)
        for entry in audited(proposal, Action.PROPOSED, viewer, now, kind):
            tx.record(entry)
        return proposal

    def _alike(
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


def audited(proposal: Proposal, action: Action, viewer: Viewer, at: datetime, what: str) -> list[AuditEntry]:
    """What the audit trail says of each memory that a proposal is about."""
    detail = Clean(f"{what}: proposal {proposal.id}")
    return [
        AuditEntry(at=at, actor=viewer.agent, door=viewer.door, action=action, memory=one.memory, detail=detail)
        for one in proposal.memories
    ]


def proposed(proposal: Proposal) -> Proposed:
    """What to tell who asked for something that others decide about."""
    only = "What a tool or the web said is shared once it was reviewed."
    if proposal.kind is ProposalKind.OPERATIONAL:
        only = "Only operators change what is known about running things."
    decided = proposal.decided
    if decided is None:
        where = f"'hivelore review show {proposal.id}' (GET /api/review/{proposal.id})"
        return Proposed(f"{only} That is proposed now: {where} tells what becomes of it.", proposal=proposal.id)
    why = "" if decided.reason is None else f" ({decided.reason})"
    return Proposed(
        f"{only} It was proposed as {proposal.id} and rejected{why}. Change the memory first, or ask an operator.",
        proposal=proposal.id,
    )
