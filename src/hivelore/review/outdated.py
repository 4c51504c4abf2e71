"""Closes proposals that nobody can accept any more, for example because one of their memories was edited."""

from collections.abc import Sequence
from datetime import datetime

from hivelore.core.agents import SERVICE_VIEWER
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Action
from hivelore.review.model import Decision, DecisionRecord, Proposal
from hivelore.review.proposals import audit_entries
from hivelore.storage.ports import Transaction

REASON = Clean("A memory was edited or superseded since.")


def close_outdated_contradictions(tx: Transaction, now: datetime, limit: int) -> int:
    """Rejects up to ``limit`` of them, oldest first, in the name of the service. Returns how many."""
    outdated = tx.outdated_contradictions(limit)
    close_proposals(tx, outdated, now, REASON)
    return len(outdated)


def close_proposals(tx: Transaction, outdated: Sequence[Proposal], now: datetime, reason: Clean) -> None:
    """Rejects proposals in the name of the service."""
    by, how = SERVICE_VIEWER, Decision.REJECTED
    decided = DecisionRecord(how=how, at=now, actor=by.agent, interface=by.interface, reason=reason)
    for proposal in outdated:
        tx.put_proposal(replace(proposal, decided=decided))
        for entry in audit_entries(proposal, Action.DECIDED, by, now, f"{proposal.kind} {how}"):
            tx.record_audit(entry)
