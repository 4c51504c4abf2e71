"""The operations of the review inbox (B06, X19, N07)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from hivelore.core.agents import Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, get, post
from hivelore.core.text import Clean
from hivelore.core.tool import OBJECT, OBJECTS, Reply, Tool
from hivelore.core.values import Request, Value, json_names
from hivelore.memories.model import Memory, MemoryId
from hivelore.review.model import Proposal, ProposalDetail, ProposalGroup, ProposalId, ProposalKind, ProposalPage


class ListProposals(Request, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    after: str | None = None
    status: Literal["open", "decided", "all"] = "open"
    kind: ProposalKind | None = None
    order: Literal["harm", "newest"] | None = None
    """``harm``: those whose waiting does most damage first, with those about the same memory together; for open ones
    only. None: by harm for open ones, else newest first."""


class NamedProposal(Request, frozen=True):
    proposal: str


class Decide(Request, frozen=True):
    proposal: str
    decision: Literal["accept", "reject", "merge"]
    reason: str | None = None


class ReviewProposals(Request, frozen=True, kw_only=True, rename=json_names(proposal="proposalId")):
    proposal: str | None = None
    """None: lists the open proposals by harm."""
    decision: Literal["accept", "reject", "merge"] | None = None
    """None: reads the proposal."""
    reason: str | None = None


class Review(Value, frozen=True, kw_only=True):
    """The result of one step of a review."""

    message: str
    proposals: tuple[Proposal, ...]
    memories: tuple[Memory, ...] = ()
    names: Mapping[MemoryId, Clean] = {}
    """Names of the memories of listed proposals."""
    groups: Mapping[ProposalId, ProposalGroup] = {}
    """``ProposalPage.groups``"""


def review_reply(done: Review) -> Reply:
    memories = done.memories or [{"id": memory, "name": name} for memory, name in done.names.items()]
    groups = {proposal: group for proposal, group in done.groups.items() if group.others}
    return Reply(done.message, {"proposals": done.proposals, "memories": memories, "groups": groups})


LIST_PROPOSALS = Operation(
    name="review",
    summary="Lists the proposals of the review inbox: open ones by harm, decided ones or all newest first. Workers see "
    "their own proposals. ``after`` is the ``next`` of the previous page in the same order.",
    request=ListProposals,
    response=ProposalPage,
    handler="hivelore.review.handlers:list_proposals",
    lane=Lane.READ,
    http=get("/api/review"),
    verb="review list",
    tag="review",
)
GET_PROPOSAL = Operation(
    name="proposal",
    summary="Returns a proposal and the current versions of its memories.",
    request=NamedProposal,
    response=ProposalDetail,
    handler="hivelore.review.handlers:get_proposal",
    lane=Lane.READ,
    http=get("/api/review/{proposal}"),
    verb="review show",
    tag="review",
)
DECIDE = Operation(
    name="decide",
    summary="Accepts or rejects a proposal, or merges the two memories of a contradiction. For operators and leads. "
    "Raises Conflict if it was already decided, Stale if a memory changed since; it can still be rejected then.",
    request=Decide,
    response=Proposal,
    handler="hivelore.review.handlers:decide",
    lane=Lane.WRITE,
    http=post("/api/review/{proposal}/{decision}"),
    verb="review accept",
    tag="review",
)
REVIEW_PROPOSALS = Operation(
    name="review_proposals",
    summary="Lists the open proposals by harm, reads one, or decides on it.",
    request=ReviewProposals,
    response=Review,
    handler="hivelore.review.handlers:review_proposals",
    lane=Lane.WRITE,
    roles=frozenset({Role.LEAD, Role.OPERATOR}),
    tool=Tool(
        name="memory-review",
        capability=Capability.REVIEW,
        description="Read and decide proposals to change memories.",
        arguments={"proposalId": "default: list", "decision": "default: read", "reason": ""},
        reply=review_reply,
        output={"proposals": OBJECTS, "memories": OBJECTS, "groups": OBJECT},
        idempotent=False,
        destructive=True,
    ),
    tag="review",
)
OPERATIONS = (LIST_PROPOSALS, GET_PROPOSAL, DECIDE, REVIEW_PROPOSALS)
