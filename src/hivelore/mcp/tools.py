"""The tools agents get over MCP: what they take, what they answer, and which roles see them.

Every schema an agent is shown costs it context, so they are kept bare: no titles, short descriptions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hivelore.api.requests import ProposalListing, listed_proposals
from hivelore.core.agents import Role, Viewer
from hivelore.core.operation import Lane
from hivelore.core.tool import Reply
from hivelore.errors import Invalid
from hivelore.http.context import Caller
from hivelore.memories.model import NAME_LENGTH
from hivelore.review import proposal_codec
from hivelore.review.model import DECISIONS, ProposalId

Decisions = Literal["accept", "reject", "merge"]


class Input(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True)


class ReviewInput(Input):
    proposal_id: Annotated[str | None, Field(description="else: list")] = None
    decision: Annotated[Decisions | None, Field(description="else: read")] = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    input: type[Input]
    answers: dict[str, Any]
    """Properties of the answer besides yourAgentId, success and message."""
    run: Callable[[Caller, Any], Awaitable[Reply]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    roles: frozenset[Role] = frozenset(Role)
    capability: str = "memory"
    """What it belongs to (A27): tools are there that HIVELORE_CAPABILITIES names."""

    def is_for(self, viewer: Viewer) -> bool:
        return viewer.role in self.roles


async def _review(caller: Caller, given: ReviewInput) -> Reply:
    review_inbox, viewer, decision = caller.app.review_inbox, caller.viewer, given.decision
    if given.proposal_id is None:
        if decision is not None:
            raise Invalid(
                "Say about which proposal: proposalId. Without a decision they are listed.", field="proposalId"
            )
        page = await caller.run(Lane.READ, lambda _: listed_proposals(review_inbox, ProposalListing(), viewer))
        names = [{"id": memory, "name": name} for memory, name in page.names.items()]
        listed = [proposal_codec.proposal(one) for one in page.proposals]
        return Reply(f"{len(listed)} wait for a decision.", {"proposals": listed, "memories": names})
    proposal = ProposalId(given.proposal_id[:NAME_LENGTH].lower())
    if decision is None:
        case = await caller.run(Lane.READ, lambda _: review_inbox.detail(proposal, viewer))
        return Reply(
            "Here it is.",
            {
                "proposals": [proposal_codec.proposal(case.proposal)],
                "memories": to_builtins(case.memories),
            },
        )
    how, reason = DECISIONS[decision], given.reason
    done = await caller.run(
        Lane.WRITE, lambda until: review_inbox.decide(proposal, how, viewer, reason=reason, deadline=until)
    )
    return Reply(f"It is {how}.", {"proposals": [proposal_codec.proposal(done)]})


_LIST = {"type": "array", "items": {"type": "object"}}

TOOLS = (
    Tool(
        name="memory-review",
        capability="review",
        description="What others propose about memories.",
        input=ReviewInput,
        answers={"proposals": _LIST, "memories": _LIST},
        run=_review,
        idempotent=False,
        destructive=True,
        roles=frozenset({Role.LEAD, Role.OPERATOR}),
    ),
)

_NOISE = ("title", "default", "additionalProperties")


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    return _bare(model.model_json_schema(by_alias=True)) | {"additionalProperties": False}


def output_schema(tool: Tool) -> dict[str, Any]:
    properties = {"yourAgentId": {"type": "string"}, "success": {"type": "boolean"}, "message": {"type": "string"}}
    return {"type": "object", "properties": properties | tool.answers}


def _bare(schema: Any) -> Any:
    """Without noise, and with ``X or null`` as plain X: leaving an argument out is how one says nothing."""
    if isinstance(schema, list):
        return [_bare(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for name, part in cast(dict[str, Any], schema).items():
        if name == "properties":
            kept[name] = {key: _bare(value) for key, value in part.items()}
        elif name == "anyOf":
            choices = [_bare(choice) for choice in part if choice != {"type": "null"}]
            kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        elif name not in _NOISE:
            kept[name] = _bare(part)
    return kept
