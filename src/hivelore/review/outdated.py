"""Closes contradictions that nobody can accept any more, because one of their memories was edited or superseded."""

from datetime import datetime

from hivelore.core.agents import SERVICE_VIEWER
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Action
from hivelore.review.model import Decision, DecisionRecord
from hivelore.review.proposals import audit_entries
from hivelore.storage.ports import Transaction

_REASON = Clean("A memory was edited or superseded since.")


def close_outdated_contradictions(tx: Transaction, now: datetime, limit: int) -> int:
    """Rejects up to ``limit`` of them, oldest first, in the name of the service. Returns how many."""
    by, how = SERVICE_VIEWER, Decision.REJECTED
    decided = DecisionRecord(how=how, at=now, actor=by.agent, interface=by.interface, reason=_REASON)
    outdated = tx.outdated_contradictions(limit)
    for proposal in outdated:
        tx.put_proposal(replace(proposal, decided=decided))
        for entry in audit_entries(proposal, Action.DECIDED, by, now, f"{proposal.kind} {how}"):
            tx.record_audit(entry)
    return len(outdated)
