"""Who is asking."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.values import Value

AgentId = NewType("AgentId", str)
KeyId = NewType("KeyId", str)


class Role(StrEnum):
    WORKER = "worker"
    LEAD = "lead"
    OPERATOR = "operator"


class Interface(StrEnum):
    """The way a call came in; kept with every change."""

    PYTHON = "python"
    CLI = "cli"
    REST = "rest"
    MCP = "mcp"
    HOOK = "hook"
    SERVICE = "service"


class LeadSees(StrEnum):
    """Whether a lead may read the private memories of workers (X3)."""

    ALL = "all"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who is asking, as proven by their key, and through which door.

    ``agent`` is None only for an operator who does not act for an agent.
    """

    role: Role
    agent: AgentId | None
    interface: Interface
    acting: bool = False
    """True when an operator's key speaks for ``agent``; the role is then that agent's."""

    def __post_init__(self) -> None:
        if self.agent is None and self.role is not Role.OPERATOR:
            raise ValueError("only an operator may come without an agent")


class Agent(Value, frozen=True, kw_only=True):
    id: AgentId
    name: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is stored: the secret itself is known only to its holder."""

    id: KeyId
    agent: AgentId | None
    role: Role
    digest: bytes
    """SHA-256 of the secret."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def refusal(self, now: datetime) -> str | None:
        """Why this key is not good now; None while it is."""
        if self.revoked_at is not None:
            return "was revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "has expired"
        return None
