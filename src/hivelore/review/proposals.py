"""Creates proposals within the transaction in which they arise, and limits how many one proposer may have open.

Nobody asks for uncertain contradictions, so they raise no error. Who proposes them checks ``remaining``.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import UNSET

from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Proposed
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Action, Memory
from hivelore.memories.stored import Stored
from hivelore.review.model import (
    REQUESTS,
    Decision,
    Proposal,
    ProposalId,
    ProposalKind,
    ProposalSubject,
    ScriptSubject,
    Wanted,
)
from hivelore.setup_scripts.model import audited_id
from hivelore.storage.ports import Transaction, View

MAX_OPEN_SCRIPTS = 10
"""Maximum open proposals of one agent about setup scripts, whose texts are long."""
_SCRIPTS_READ = 100
MAX_OPEN = 100
"""Maximum open requests of one agent, or of proposers that are not agents; likewise for each other kind. Updates and
subjects are counted by author (``ProposalQueue.remaining_for``)."""
UNLIMITED = frozenset({ProposalKind.CONTRADICTION, ProposalKind.UPDATE, ProposalKind.SUBJECT})
"""Kinds that are never refused. The service itself limits the updates and subjects that it proposes
(``ProposalQueue.remaining_for``), but not the updates that it decides."""
_WHY_LENGTH = 1_000


class ProposalQueue:
    def __init__(self, clock: Clock, proposal_id: Callable[[datetime], ProposalId]) -> None:
        self._clock = clock
        self._proposal_id = proposal_id

    def remaining(self, view: View, kind: ProposalKind, viewer: Viewer) -> int:
        """Returns how many more proposals of this kind and viewer may be open."""
        return _remaining(view, kind, viewer)

    def remaining_for(self, view: View, kind: ProposalKind, memories: Sequence[Stored]) -> int:
        """Returns how many more proposals of this kind the service may have open because of the author of these
        memories: the owner of the one written last, so that nobody uses up what others have."""
        written_last = max(memories, key=lambda one: (one.memory.updated_at, one.key))
        return max(MAX_OPEN - view.count_open_by_owner(written_last.memory.owner, kind), 0)

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
        """Adds a proposal to the inbox. Returns an open or rejected proposal of the viewer if it is the same and the
        memories are unchanged. Raises Conflict if too many are open; the transaction may continue after that."""
        about = tuple(ProposalSubject(one.memory.id, one.memory.version) for one in memories)
        for known in self._earlier_proposals(tx, kind, memories, viewer, wanted):
            if known.memories == about and _is_open_or_rejected(known):
                return known
            if known.decided is None:  # It cannot be accepted any more.
                tx.drop_proposal(known.id)
        if kind not in UNLIMITED and not _remaining(tx, kind, viewer):
            raise Conflict(
                f"{MAX_OPEN} of your proposals are open. Wait for decisions. 'hivelore review list' "
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

    def propose_script(
        self, tx: Transaction, script: ScriptSubject, text: Clean, viewer: Viewer, *, why: Clean | None = None
    ) -> Proposal:
        """Adds a proposal to change a setup script, as ``propose`` does for memories."""
        kind = ProposalKind.SETUP_SCRIPT
        for known in tx.script_proposals(script.agent, _SCRIPTS_READ):
            is_same = known.actor == viewer.agent and known.script is not None and known.script.digest == script.digest
            if is_same and known.script == script and _is_open_or_rejected(known):
                return known
            if is_same and known.decided is None:  # It cannot be accepted any more.
                tx.drop_proposal(known.id)
        own = tx.count_open_proposals(viewer.agent, {kind})
        if own >= MAX_OPEN_SCRIPTS or not _remaining(tx, kind, viewer):
            raise Conflict(
                f"{own} of your proposals to change setup scripts are open. Wait for decisions. 'hivelore review list' "
                "(GET /api/review) lists them."
            )
        now = self._clock.now()
        proposal = Proposal(
            id=self._proposal_id(now),
            kind=kind,
            memories=(),
            why=None if why is None else Clean(why[:_WHY_LENGTH]),
            actor=viewer.agent,
            interface=viewer.interface,
            at=now,
            script=script,
        )
        tx.put_proposal(proposal)
        tx.put_script_draft(proposal.id, text)
        for entry in audit_entries(proposal, Action.PROPOSED, viewer, now, kind):
            tx.record_audit(entry)
        return proposal

    def propose_placement(
        self, tx: Transaction, memories: Sequence[Stored], placed: Memory, viewer: Viewer, *, has_time: bool
    ) -> Proposal:
        """Proposes that the last of ``memories`` gets the valid time of ``placed`` next to the others. Without an
        explicit time (``has_time``) a repetition does not create a second proposal."""
        *_, stored = memories
        since, project = placed.holds_since, placed.project
        edit = Edit(
            subject=UNSET if placed.subject is None else placed.subject,
            supersedes=UNSET if placed.supersedes is None else placed.supersedes,
            valid_from=UNSET if since == stored.memory.holds_since else since,
            project=UNSET if project == stored.memory.project else project,
        )
        about = [one.memory.id for one in memories]
        for known in tx.proposals_about(stored.key):
            is_same = known.kind is ProposalKind.SUPERSESSION and [one.memory for one in known.memories] == about
            if is_same and not has_time and known.wanted is not None and known.wanted.edit is not None:
                edit = replace(edit, valid_from=known.wanted.edit.valid_from)
        return self.propose(tx, ProposalKind.SUPERSESSION, memories, viewer, wanted=Wanted(edit=edit))

    def _earlier_proposals(
        self, tx: Transaction, kind: ProposalKind, memories: Sequence[Stored], viewer: Viewer, wanted: Wanted | None
    ) -> list[Proposal]:
        """Returns equal proposals of this viewer for any version of these memories."""
        ids = [one.memory.id for one in memories]
        return [
            known
            for known in tx.proposals_about(memories[-1].key)
            if (known.kind, known.actor, known.wanted) == (kind, viewer.agent, wanted)
            and [one.memory for one in known.memories] == ids
        ]


def _is_open_or_rejected(proposal: Proposal) -> bool:
    return proposal.decided is None or proposal.decided.how is Decision.REJECTED


def _remaining(view: View, kind: ProposalKind, viewer: Viewer) -> int:
    kinds = REQUESTS if kind in REQUESTS else {kind}
    return max(MAX_OPEN - view.count_open_proposals(viewer.agent, kinds), 0)


def audit_entries(proposal: Proposal, action: Action, viewer: Viewer, at: datetime, what: str) -> list[AuditEntry]:
    """Returns one audit entry for each memory of a proposal, or for its setup script."""
    detail = Clean(f"{what}: proposal {proposal.id}")
    about = [one.memory for one in proposal.memories]
    if proposal.script is not None:
        about.append(audited_id(proposal.script.agent))
    return [AuditEntry.by_viewer(viewer, action, one, at, detail) for one in about]


def proposed_error(proposal: Proposal, *, profile: int | None = None) -> Proposed:
    """Returns the error for a change that was proposed instead of applied. ``profile``: the version of the profile that
    the same request changed."""
    only = "Text from a tool or the web needs a review before it is shared."
    if proposal.kind is ProposalKind.OPERATIONAL:
        only = "Only operators change operational memories."
    if proposal.kind is ProposalKind.SUPERSESSION:
        only = "A lead decides what supersedes shared memories."
    if proposal.kind is ProposalKind.SETUP_SCRIPT:
        only = "Only operators change setup scripts."
    rest = "" if profile is None else f" The other fields of the profile are at version {profile}."
    decided = proposal.decided
    if decided is None:
        where = f"'hivelore review show {proposal.id}' (GET /api/review/{proposal.id})"
        return Proposed(
            f"{only} The change was proposed: {where} shows the decision.{rest}", proposal=proposal.id, current=profile
        )
    why = "" if decided.reason is None else f" ({decided.reason})"
    is_script = proposal.kind is ProposalKind.SETUP_SCRIPT
    next_step = "Propose another text." if is_script else "Change the memory first, or ask an operator."
    return Proposed(
        f"{only} It was proposed as {proposal.id} and rejected{why}. {next_step}{rest}",
        proposal=proposal.id,
        current=profile,
    )
