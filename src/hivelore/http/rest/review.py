"""The routes of the review inbox."""

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Response

from hivelore.api.requests import PROPOSALS_RANGE, ProposalListing, ProposalStatus, listed_proposals
from hivelore.core.operation import Lane
from hivelore.http.context import Asking
from hivelore.http.rest import review_answers as answers
from hivelore.http.rest.models import DecisionRequest
from hivelore.review import proposal_codec as wire
from hivelore.review.model import DECISIONS, ProposalId, ProposalKind

router = APIRouter(prefix="/api/review", tags=["review"])


def json(body: Any) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


@router.get("", response_model=answers.ProposalsAnswer)
async def page(
    caller: Asking,
    limit: Annotated[int, Query(ge=PROPOSALS_RANGE[0], le=PROPOSALS_RANGE[1])] = 20,
    after: str | None = None,
    status: ProposalStatus = "open",
    kind: ProposalKind | None = None,
) -> Response:
    """What waits for a decision, newest first; ``runtime.status``: what was decided, or all. Workers see their own."""
    listing = ProposalListing(limit=limit, after=after, status=status, kind=kind)
    found = await caller.run(
        Lane.READ, lambda until: listed_proposals(caller.app.review_inbox, listing, caller.viewer, until)
    )
    return json(wire.page(found))


@router.get("/{proposal_id}", response_model=answers.CaseAnswer)
async def look(proposal_id: str, caller: Asking) -> Response:
    """One proposal, with the memories that it is about as they are now."""
    found = await caller.run(Lane.READ, lambda _: caller.app.review_inbox.detail(_id(proposal_id), caller.viewer))
    return json(wire.case(found))


@router.post("/{proposal_id}/{decision}", response_model=answers.ProposalAnswer)
async def decide(
    proposal_id: str,
    decision: Literal["accept", "reject", "merge"],
    caller: Asking,
    request: DecisionRequest | None = None,
) -> Response:
    """Operators and leads: do what is proposed, do nothing, or make one of two memories."""
    reason = None if request is None else request.reason
    done = await caller.run(
        Lane.WRITE,
        lambda until: caller.app.review_inbox.decide(
            _id(proposal_id), DECISIONS[decision], caller.viewer, reason=reason, deadline=until
        ),
    )
    return json(wire.proposal(done))


def _id(text: str) -> ProposalId:
    return ProposalId(text.lower())
