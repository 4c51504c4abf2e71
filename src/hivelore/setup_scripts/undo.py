"""Reverts batches that changed a setup script."""

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.core.access import Permission
from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden
from hivelore.memories.model import Action
from hivelore.review.model import Decision, DecisionRecord, ProposalId
from hivelore.setup_scripts.decisions import may_change
from hivelore.setup_scripts.model import ScriptChange, audited_id
from hivelore.setup_scripts.service import NO_SCRIPT, put_version
from hivelore.storage.ports import Transaction


def revert(
    tx: Transaction, journal: ChangeJournal, clock: Clock, batch: Batch, viewer: Viewer, reason: Clean | None
) -> Batch | None:
    """Makes the text before a batch current again, as a new version, and returns the batch of the undo. An accepted
    proposal is open again, and decided again when the undo is undone. Raises Conflict and Forbidden."""
    change = batch.script
    assert change is not None
    if batch.undone_at is not None:
        raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
    if may_change(viewer, change.agent, accepts_own=False) is not Permission.ALLOWED:
        raise Forbidden("You may not change setup scripts: only an operator may undo this.")
    current = tx.setup_script(change.agent)
    then = tx.setup_script_version(change.agent, change.after)
    before = None if change.before == 0 else tx.setup_script_version(change.agent, change.before)
    if then is None or current is None or (change.before and before is None):
        raise Conflict("The version before this change is no longer kept. Set the script again.")
    if current.text != then.text:
        raise Conflict("The setup script was changed since then. Undo the later changes first ('hivelore batches').")
    text = NO_SCRIPT if before is None else before.text
    after = put_version(tx, change.agent, current, text, viewer, clock, reason)
    detail = Clean(f"setup script: batch {batch.id}")
    tx.record_audit(AuditEntry.by_viewer(viewer, Action.UNDONE, audited_id(change.agent), after.at, detail))
    if change.proposal is not None:
        _decide_again(tx, change.proposal, batch, viewer, after.number, clock)
    by = journal.new_batch(
        BatchKind.UNDONE, viewer, changes=1, is_private=batch.is_private, reason=reason, undoes=batch.id
    )
    if by is not None:
        undone = ScriptChange(agent=change.agent, before=current.number, after=after.number, proposal=change.proposal)
        by = replace(by, script=undone)
        tx.put_batch(by)
    return by


def _decide_again(
    tx: Transaction, proposal: ProposalId, batch: Batch, viewer: Viewer, version: int, clock: Clock
) -> None:
    """Opens a proposal whose acceptance is undone, or accepts it again when that undo is undone."""
    known = tx.proposal(proposal)
    if known is None or known.script is None:
        return
    if known.decided is None and batch.kind is BatchKind.UNDONE:
        by = DecisionRecord(how=Decision.ACCEPTED, at=clock.now(), actor=viewer.agent, interface=viewer.interface)
        tx.put_proposal(replace(known, decided=by))
    elif known.decided is not None and known.decided.how is Decision.ACCEPTED:
        tx.put_proposal(replace(known, decided=None, script=replace(known.script, version=version)))
