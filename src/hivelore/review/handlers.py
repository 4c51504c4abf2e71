"""Answers the operations of the review inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.errors import Invalid
from hivelore.review.model import DECISIONS, Proposal, ProposalDetail, ProposalId, ProposalPage
from hivelore.review.operations import (
    Decide,
    ListProposals,
    NamedProposal,
    ReviewedProposals,
    ReviewProposal,
)

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_proposals(app: Application, request: ListProposals, call: Call) -> ProposalPage:
    after = position_of(request.after)
    return app.review_inbox.page(
        call.viewer,
        None if after is None else (after[0], ProposalId(after[1])),
        request.limit,
        is_open=None if request.status == "all" else request.status == "open",
        kind=request.kind,
        deadline=call.deadline,
    )


def get_proposal(app: Application, request: NamedProposal, call: Call) -> ProposalDetail:
    return app.review_inbox.detail(ProposalId(request.proposal.lower()), call.viewer)


def decide(app: Application, request: Decide, call: Call) -> Proposal:
    return app.review_inbox.decide(
        ProposalId(request.proposal.lower()),
        DECISIONS[request.decision],
        call.viewer,
        reason=request.reason,
        deadline=call.deadline,
    )


def review_proposals(app: Application, request: ReviewProposal, call: Call) -> ReviewedProposals:
    if request.proposal is None:
        if request.decision is not None:
            raise Invalid("proposalId is required with a decision. Call without both for a list.", field="proposalId")
        page = list_proposals(app, ListProposals(), call)
        names = tuple({"id": memory, "name": name} for memory, name in page.names.items())
        return ReviewedProposals(f"{len(page.proposals)} open proposals.", page.proposals, names)
    if request.decision is None:
        detail = get_proposal(app, NamedProposal(request.proposal), call)
        return ReviewedProposals("Found.", (detail.proposal,), detail.memories)
    done = decide(app, Decide(request.proposal, request.decision, request.reason), call)
    return ReviewedProposals(f"The proposal is {DECISIONS[request.decision]}.", (done,))
