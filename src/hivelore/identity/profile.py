"""Values of agent profiles and their versions (D01)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names

FIELD_BYTES = 65_536
"""Most bytes of soul, identity and notes in UTF-8."""
DESCRIPTION_BYTES = 8_192
ROLE_BYTES = 1_024
CAPABILITY_BYTES = 256
MAX_CAPABILITIES = 100
CARD_CHARACTERS = 500
"""Characters of a role or description that a list of agents shows."""
MAX_VERSIONS = 1_000
"""Most versions of a profile that are kept."""
MAX_VERSION_BYTES = 16 * 1_048_576
"""Most bytes that the versions of a profile have together."""
OWN = "me"
"""Stands for the calling agent where an agent is named."""


class ProfileField(StrEnum):
    """The fields of a profile, in the order in which agents read them."""

    NAME = "name"
    ROLE = "role"
    DESCRIPTION = "description"
    CAPABILITIES = "capabilities"
    SOUL = "soul"
    IDENTITY = "identity"
    NOTES = "notes"


LIMITS = {
    ProfileField.ROLE: ROLE_BYTES,
    ProfileField.DESCRIPTION: DESCRIPTION_BYTES,
    ProfileField.SOUL: FIELD_BYTES,
    ProfileField.IDENTITY: FIELD_BYTES,
    ProfileField.NOTES: FIELD_BYTES,
}
"""Most bytes of each free text. The default notes repeat role and description, so these are shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileContent:
    name: str
    """The name of the agent at that time."""
    role: Clean
    """What the agent does, in its own words. Its rights follow from the role of its key alone."""
    description: Clean
    capabilities: tuple[Clean, ...]
    soul: Clean
    """Who the agent is; SOUL.md in its workspace."""
    identity: Clean
    """How the agent works; IDENTITY.md in its workspace."""
    notes: Clean
    """What the agent writes down for itself; CLAUDE.md or AGENTS.md in the settings folder of its program."""

    def get(self, field: ProfileField) -> str | tuple[str, ...]:
        return getattr(self, field.value)

    @property
    def size(self) -> int:
        """Bytes of all texts."""
        texts = (self.name, *(getattr(self, field.value) for field in LIMITS), *self.capabilities)
        return sum(len(text.encode()) for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileVersion:
    agent: AgentId
    number: int
    """From 1 on."""
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    content: ProfileContent
    follows: int | None = None
    """The version that was current when this one arrived; None for the first one."""
    is_conflict: bool = False
    """True if it was made from an earlier version and conflicts with the one that it follows. It is kept, but did not
    become current."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileHead:
    """The current version of a profile, and the part that all agents may read."""

    agent: AgentId
    version: int
    last: int
    """The number that was given last."""
    updated_at: datetime
    role: Clean
    description: Clean
    capabilities: tuple[Clean, ...]


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """The effect of a batch on a profile: the current versions before and after."""

    agent: AgentId
    before: int
    after: int


class ProfileCard(Value, frozen=True, kw_only=True):
    """The part of a profile that all agents may read, with long texts cut."""

    role: str
    description: str
    capabilities: tuple[str, ...]
    version: int
    updated_at: datetime


class Profile(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId")):
    """A profile as its readers see it."""

    agent: AgentId
    name: str
    role: str
    description: str
    capabilities: tuple[str, ...]
    soul: str
    identity: str
    notes: str
    version: int
    """0 if the agent has not joined: these are the default texts, which are not stored."""
    updated_at: datetime
    actor: AgentId | None
    """Who wrote this version; None: an operator who did not act for an agent."""
    interface: Interface


class ProfileVersionItem(Value, frozen=True, kw_only=True):
    """A version in a list."""

    number: int
    at: datetime
    actor: AgentId | None
    interface: Interface
    bytes: int
    changed: tuple[ProfileField, ...]
    """The fields that differ from the version that it follows."""
    follows: int | None
    """The version that was current when this one arrived."""
    is_conflict: bool
    """True if it is kept beside the version that it follows, because both changed the same fields."""
    is_current: bool


class ResetResult(Value, frozen=True, kw_only=True):
    """What a reset deleted."""

    profile: bool
    setup_script: bool
    entries: int
    """Number of configuration entries."""
    warnings: tuple[str, ...]
    """Why lines of .env files could not be removed. That is tried again."""
