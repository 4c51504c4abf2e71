"""The operations of agents, their keys and their profiles (D01, D05, D07)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from hivelore.core.agents import Agent, AgentId, KeyId, LeadSees, Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, delete, get, post, put
from hivelore.core.tool import OBJECT, OBJECTS, Reply, Tool
from hivelore.core.values import Instant, NoArguments, Request, Value, json_names
from hivelore.identity.profile import OWN, Profile, ProfileCard, ProfileVersionItem, ResetResult
from hivelore.identity.prompt import Prompt
from hivelore.search.model import Difference

_OPERATORS = frozenset({Role.OPERATOR})


class AddAgent(Request, frozen=True):
    name: str
    role: Literal["worker", "lead"] = "worker"
    expires_at: Instant | None = None


class RevokeKeys(Request, frozen=True):
    agent: str


_AGENT = json_names(agent="agentId")
_Agent = Annotated[str, Meta(description="Name or id of an agent, or `me` for the caller.")]
_TEXT = "At most 65,536 bytes."
VersionNumber = Annotated[int, Meta(ge=0, le=2_147_483_647)]
Capabilities = Annotated[tuple[str, ...], Meta(description="At most 100, of 256 bytes each.")]


class JoinSwarm(Request, frozen=True, kw_only=True):
    name: Annotated[str | None, Meta(description="Only for an agent whose name is its id.")] = None
    role: Annotated[str | None, Meta(description="What the agent does. At most 1,024 bytes.")] = None
    description: Annotated[str | None, Meta(description="At most 8,192 bytes.")] = None
    capabilities: Capabilities | None = None


class NamedAgent(Request, frozen=True, rename=_AGENT):
    agent: _Agent = OWN


class UpdateProfile(Request, frozen=True, rename=_AGENT):
    """Only the given fields change."""

    agent: _Agent = OWN
    name: Annotated[str | None, Meta(description="For leads and operators.")] = None
    role: Annotated[str | None, Meta(description="What the agent does. At most 1,024 bytes.")] = None
    description: Annotated[str | None, Meta(description="At most 8,192 bytes.")] = None
    capabilities: Capabilities | None = None
    soul: Annotated[str | None, Meta(description=f"Who the agent is. {_TEXT}")] = None
    identity: Annotated[str | None, Meta(description=f"How the agent works. {_TEXT}")] = None
    notes: Annotated[str | None, Meta(description=f"What the agent wrote down for itself. {_TEXT}")] = None
    version: VersionNumber | None = None
    """The version that the caller read."""
    setup_script: Annotated[str | None, Meta(description=f"Prepares the machine of the agent. {_TEXT}")] = None


class ListProfileVersions(Request, frozen=True, rename=_AGENT):
    agent: _Agent = OWN
    before: VersionNumber | None = None
    """``next`` of the previous page."""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class CompareProfiles(Request, frozen=True, rename=json_names(agent="agentId", older="from", newer="to")):
    agent: _Agent = OWN
    older: VersionNumber | None = None
    newer: VersionNumber | None = None


class RestoreProfile(Request, frozen=True, rename=_AGENT):
    agent: _Agent
    version: VersionNumber


class ResetAgent(Request, frozen=True, rename=_AGENT):
    agent: _Agent


class ComposePrompt(Request, frozen=True, rename=_AGENT):
    agent: _Agent = OWN
    repo: Annotated[str | None, Meta(description="Name of a repository, for its guidelines.")] = None
    task: Annotated[str | None, Meta(description="Id of a task.")] = None


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
    profile: ProfileCard | None = None
    """Without soul, identity and notes; None for an operator and for an agent that has not joined."""


class KeyInfo(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId")):
    """A key without its secret."""

    id: KeyId
    agent: AgentId | None
    role: Role
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None


class AgentWithKeys(Agent, frozen=True, kw_only=True):
    profile: ProfileCard | None = None
    """None if the agent has not joined."""
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


class JoinedSwarm(Value, frozen=True, kw_only=True):
    profile: Profile
    is_new: bool
    """False if the agent had joined before; then nothing changed."""


class ProfileHistory(Value, frozen=True, kw_only=True):
    """Versions of a profile, newest first."""

    versions: tuple[ProfileVersionItem, ...]
    next: int | None
    """``before`` of the next page; None for the last page."""


def _agents_reply(found: AgentList) -> Reply:
    shown = [{"name": one.name, "id": one.id, "accessRole": one.role, "profile": one.profile} for one in found.agents]
    return Reply(f"{len(shown)} agents, by name.", {"agents": shown})


def _joined_reply(done: JoinedSwarm) -> Reply:
    profile = done.profile
    how = "You joined" if done.is_new else "You had joined before"
    message = f"{how} as {profile.name}. update-profile changes your soul, identity and notes."
    return Reply(message, {"profile": profile})


def _version_of(profile: Profile) -> int:
    return profile.version


def _updated_reply(profile: Profile) -> Reply:
    data = {"agentId": profile.agent, "name": profile.name, "version": profile.version}
    return Reply(f"The profile of {profile.name} is now at version {profile.version}.", {"profile": data})


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
    summary="Lists all agents by name, with what they do; for operators with their keys, without secrets.",
    request=NoArguments,
    response=AgentList,
    handler="hivelore.identity.handlers:list_agents",
    lane=Lane.READ,
    http=get("/api/agents"),
    tool=Tool(
        name="list-agents",
        description="List the agents of the swarm by name, with what each of them does.",
        arguments={},
        reply=_agents_reply,
        output={"agents": OBJECTS},
        capability=Capability.SWARM,
        read_only=True,
    ),
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
JOIN_SWARM = Operation(
    name="join",
    verb="agent join",
    summary="Creates the profile of the caller, with default texts made from name, role, description and capabilities. "
    "An existing profile does not change.",
    request=JoinSwarm,
    response=JoinedSwarm,
    handler="hivelore.identity.handlers:join_swarm",
    lane=Lane.WRITE,
    http=post("/api/agents/join"),
    tool=Tool(
        name="join-swarm",
        description="Join the swarm: say who you are and what you do. Once is enough.",
        arguments={
            "name": "if you have none yet",
            "role": "like frontend developer",
            "description": "",
            "capabilities": "like python",
        },
        reply=_joined_reply,
        output={"profile": OBJECT},
        capability=Capability.SWARM,
    ),
    tag="agents",
)
GET_PROFILE = Operation(
    name="profile",
    verb="agent show",
    summary="Returns the profile of an agent with soul, identity and notes. Agents read their own, leads and operators "
    "those of others.",
    request=NamedAgent,
    response=Profile,
    handler="hivelore.identity.handlers:get_profile",
    lane=Lane.READ,
    http=get("/api/agents/{agentId}/profile", etag=_version_of),
    tag="agents",
)
UPDATE_PROFILE = Operation(
    name="update_profile",
    verb="agent edit",
    summary="Changes the given fields of a profile. Agents change their own, leads and operators those of others. "
    "``version``: the version that the caller read; raises Stale if a given field was changed since. What the caller "
    "gave is then kept as a version that is not current. A setup script from an agent becomes a proposal to operators: "
    "the other fields change, and Proposed is raised. ``version`` with a setup script alone is refused.",
    request=UpdateProfile,
    response=Profile,
    handler="hivelore.identity.handlers:update_profile",
    lane=Lane.WRITE,
    http=put("/api/agents/{agentId}/profile", if_match="version", etag=_version_of),
    tool=Tool(
        name="update-profile",
        description="Change your profile: who you are (soul), how you work (identity), your notes. Only what you give "
        "changes.",
        arguments={
            "agentId": "another agent, for leads",
            "role": "",
            "description": "",
            "capabilities": "",
            "soul": "whole text",
            "identity": "whole text",
            "notes": "whole text",
            "version": "that you read",
            "setupScript": "whole text; an operator decides",
        },
        reply=_updated_reply,
        output={"profile": OBJECT},
        capability=Capability.SWARM,
    ),
    tag="agents",
)
GET_PROFILE_HISTORY = Operation(
    name="profile_history",
    verb="agent history",
    summary="Lists the versions of a profile, newest first: who changed what, and when.",
    request=ListProfileVersions,
    response=ProfileHistory,
    handler="hivelore.identity.handlers:get_profile_history",
    lane=Lane.READ,
    http=get("/api/agents/{agentId}/profile/history"),
    tag="agents",
)
COMPARE_PROFILES = Operation(
    name="profile_diff",
    verb="agent diff",
    summary="Returns the differences between two versions of a profile by field. By default between the current "
    "version and the one that it follows.",
    request=CompareProfiles,
    response=Difference,
    handler="hivelore.identity.handlers:compare_profiles",
    lane=Lane.READ,
    http=get("/api/agents/{agentId}/profile/diff"),
    tag="agents",
)
RESTORE_PROFILE = Operation(
    name="restore_profile",
    verb="agent restore",
    summary="Makes the texts of a version of a profile current again, as a new version. The name stays.",
    request=RestoreProfile,
    response=Profile,
    handler="hivelore.identity.handlers:restore_profile",
    lane=Lane.WRITE,
    http=post("/api/agents/{agentId}/profile/restore"),
    tag="agents",
)
RESET_AGENT = Operation(
    name="reset_agent",
    verb="agent reset",
    summary="Gives an agent the default profile, and deletes its setup script and its configuration entries. Each of "
    "the three can be undone. Memories and keys stay.",
    request=ResetAgent,
    response=ResetResult,
    handler="hivelore.identity.handlers:reset_agent",
    lane=Lane.WRITE,
    http=post("/api/agents/{agentId}/reset"),
    roles=_OPERATORS,
    tag="agents",
)
COMPOSE_PROMPT = Operation(
    name="prompt",
    verb="prompt",
    summary="Composes the system prompt of an agent: base, name, description, capabilities, soul, identity, guidelines "
    "of a repository, task and memory, each once and in this order, with the tokens of each.",
    request=ComposePrompt,
    response=Prompt,
    handler="hivelore.identity.handlers:compose_prompt",
    lane=Lane.READ,
    http=get("/api/agents/{agentId}/prompt"),
    tag="agents",
)
OPERATIONS = (
    WHO_AM_I,
    LIST_AGENTS,
    ADD_AGENT,
    REVOKE_KEYS,
    JOIN_SWARM,
    GET_PROFILE,
    UPDATE_PROFILE,
    GET_PROFILE_HISTORY,
    COMPARE_PROFILES,
    RESTORE_PROFILE,
    RESET_AGENT,
    COMPOSE_PROMPT,
)
