"""The operations of agents and their keys."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from hivelore.core.agents import Agent, AgentId, KeyId, LeadSees, Role
from hivelore.core.operation import Lane, Operation, delete, get, post
from hivelore.core.values import Instant, NoArguments, Request, Value, json_names

_OPERATORS = frozenset({Role.OPERATOR})


class AddAgent(Request, frozen=True):
    name: str
    role: Literal["worker", "lead"] = "worker"
    expires_at: Instant | None = None


class RevokeKeys(Request, frozen=True):
    agent: str


class Identity(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId")):
    """The agent behind a key, and what it may do."""

    agent: AgentId | None
    name: str | None
    role: Role
    acting: bool
    """True if an operator's key speaks for the agent."""
    capabilities: tuple[str, ...]
    lead_sees: LeadSees
    limits: dict[str, int]


class KeyInfo(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId")):
    """A key without its secret."""

    id: KeyId
    agent: AgentId | None
    role: Role
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None


class AgentWithKeys(Agent, frozen=True, kw_only=True):
    keys: tuple[KeyInfo, ...] | UnsetType = UNSET
    """Only for operators."""


class AgentList(Value, frozen=True):
    agents: tuple[AgentWithKeys, ...]


class NewAgent(Value, frozen=True, kw_only=True):
    agent: Agent
    key: Annotated[str, Meta(description="The key; it is shown only here.")]
    expires_at: Instant | None


class RevokedKeys(Value, frozen=True):
    revoked: int


WHO_AM_I = Operation(
    name="me",
    verb="doctor",
    summary="Returns the agent behind the key, its role, and the limits of this service.",
    request=NoArguments,
    response=Identity,
    handler="hivelore.identity.handlers:who_am_i",
    lane=Lane.READ,
    http=get("/api/me"),
    tag="agents",
)
LIST_AGENTS = Operation(
    name="agents",
    verb="agent list",
    summary="Lists all agents by name; for operators with their keys, without secrets.",
    request=NoArguments,
    response=AgentList,
    handler="hivelore.identity.handlers:list_agents",
    lane=Lane.READ,
    http=get("/api/agents"),
    tag="agents",
)
ADD_AGENT = Operation(
    name="add_agent",
    verb="agent add",
    summary="Adds an agent and returns its key, which is shown only once. An agent without a valid key gets a new one; "
    "for an agent with a valid key it raises Conflict.",
    request=AddAgent,
    response=NewAgent,
    handler="hivelore.identity.handlers:add_agent",
    lane=Lane.WRITE,
    http=post("/api/agents", status=201),
    roles=_OPERATORS,
    tag="agents",
)
REVOKE_KEYS = Operation(
    name="revoke_keys",
    verb="agent revoke",
    summary="Revokes one key by its id, or all keys of an agent by its name or id, and returns their number.",
    request=RevokeKeys,
    response=RevokedKeys,
    handler="hivelore.identity.handlers:revoke_keys",
    lane=Lane.WRITE,
    http=delete("/api/agents/{agent}"),
    roles=_OPERATORS,
    tag="agents",
)
OPERATIONS = (WHO_AM_I, LIST_AGENTS, ADD_AGENT, REVOKE_KEYS)
