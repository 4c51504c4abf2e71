"""Reverts batches that changed profiles."""

from collections.abc import Sequence

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Forbidden
from hivelore.identity.profile import ProfileChange
from hivelore.identity.profile_access import may_use
from hivelore.identity.profile_versions import append_version, current_version, known_agent
from hivelore.storage.ports import Transaction


def revert(
    tx: Transaction,
    journal: ChangeJournal,
    batch: Batch,
    viewer: Viewer,
    lead_sees: LeadSees,
    reason: Clean | None,
) -> tuple[Batch | None, Sequence[AgentId]]:
    """Gives profiles the content from before a batch as a new version. Returns the batch of the undo and the agents.
    Raises Conflict if a profile was changed since or a version is not kept any more, and Forbidden."""
    if batch.undone_at is not None:
        raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
    by = journal.new_batch(
        BatchKind.UNDONE, viewer, changes=batch.changes, is_private=batch.is_private, reason=reason, undoes=batch.id
    )
    changes = [_revert_profile(tx, journal, one, viewer, lead_sees) for one in tx.profile_changes(batch.id)]
    if by is not None:
        tx.put_batch(by)
        tx.put_profile_changes(by.id, changes)
    return by, [one.agent for one in changes]


def _revert_profile(
    tx: Transaction, journal: ChangeJournal, change: ProfileChange, viewer: Viewer, lead_sees: LeadSees
) -> ProfileChange:
    if not may_use(viewer, change.agent, lead_sees):
        raise Forbidden("You may not change this profile: only an operator may undo this.")
    agent = known_agent(tx, change.agent)
    before, after = (tx.profile_version(agent.id, number) for number in (change.before, change.after))
    current = current_version(tx, tx.profile(agent.id))
    if before is None or after is None or current is None:
        raise Conflict(
            f"The version before this change of {agent.name} is not kept any more. Change the profile by hand "
            "('hivelore agent history' shows its versions)."
        )
    if current.content != after.content:
        raise Conflict(f"The profile of {agent.name} was changed since then. Undo the later changes first.")
    done = append_version(tx, agent, before.content, viewer, journal.now())
    return ProfileChange(agent.id, current.number, done.number)
