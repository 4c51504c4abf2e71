"""Agents, their keys and roles, and the viewer of a call."""

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
    """The interface of a call. It is stored with every change."""

    PYTHON = "python"
    CLI = "cli"
    REST = "rest"
    MCP = "mcp"
    HOOK = "hook"
    SERVICE = "service"


class LeadSees(StrEnum):
    """The memories of workers that a lead may read (X3): ``all`` includes private ones."""

    ALL = "all"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The caller, as proven by the key, and the interface of the call.

    ``agent`` is None only for an operator who does not act for an agent.
    """

    role: Role
    agent: AgentId | None
    interface: Interface
    acting: bool = False
    """True if an operator acts for ``agent``. The role is that of the agent."""

    def __post_init__(self) -> None:
        if self.agent is None and self.role is not Role.OPERATOR:
            raise ValueError("only an operator may come without an agent")


SERVICE_VIEWER = Viewer(role=Role.OPERATOR, agent=None, interface=Interface.SERVICE)
"""The service itself, which decides for nobody."""


class Agent(Value, frozen=True, kw_only=True):
    id: AgentId
    name: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as stored, without its secret."""

    id: KeyId
    agent: AgentId | None
    role: Role
    digest: bytes
    """SHA-256 of the secret."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def refusal(self, now: datetime) -> str | None:
        """Returns why the key is invalid; None if it is valid."""
        if self.revoked_at is not None:
            return "was revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "has expired"
        return None
