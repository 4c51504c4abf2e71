"""Answers the operations of the review inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.core.text import counted
from hivelore.errors import Invalid
from hivelore.review.model import DECISIONS, Proposal, ProposalDetail, ProposalPage
from hivelore.review.operations import Decide, ListProposals, NamedProposal, Review, ReviewProposals
from hivelore.review.proposal_list import parse_position

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def list_proposals(app: Application, request: ListProposals, call: Call) -> ProposalPage:
    inbox, is_open = app.review_inbox, request.status == "open"
    if request.order == "harm" and not is_open:
        raise Invalid("Only open proposals have an order by harm. Leave out order, or use newest.", field="order")
    if is_open and request.order != "newest":
        position = parse_position(request.after)
        return inbox.page_by_harm(call.viewer, position, request.limit, kind=request.kind, deadline=call.deadline)
    return inbox.page(
        call.viewer,
        position_of(request.after),
        request.limit,
        is_open=None if request.status == "all" else is_open,
        kind=request.kind,
        deadline=call.deadline,
    )


def get_proposal(app: Application, request: NamedProposal, call: Call) -> ProposalDetail:
    return app.review_inbox.detail(app.review_inbox.resolve(request.proposal, call.viewer), call.viewer)


def decide(app: Application, request: Decide, call: Call) -> Proposal:
    return app.review_inbox.decide(
        app.review_inbox.resolve(request.proposal, call.viewer),
        DECISIONS[request.decision],
        call.viewer,
        reason=request.reason,
        deadline=call.deadline,
    )


def review_proposals(app: Application, request: ReviewProposals, call: Call) -> Review:
    proposal, decision = request.proposal, request.decision
    if proposal is None:
        if decision is not None:
            raise Invalid("Name the proposal: proposalId. Without a decision, they are listed.", field="proposalId")
        page = list_proposals(app, ListProposals(), call)
        return Review(
            message=f"{counted(len(page.proposals), 'open proposal')}, most harmful first.",
            proposals=page.proposals,
            names=page.names,
            groups=page.groups,
        )
    if decision is None:
        found = get_proposal(app, NamedProposal(proposal), call)
        return Review(message="Found.", proposals=(found.proposal,), memories=found.memories)
    done = decide(app, Decide(proposal, decision, request.reason), call)
    return Review(message=f"The proposal is {DECISIONS[decision]}.", proposals=(done,))
