"""Ports of agents, their keys, and the audit trail."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.memories.model import Action, MemoryId


class IdentityReads(Protocol):
    """Agents, their keys, and the audit trail."""

    def agent(self, agent: AgentId) -> Agent | None: ...

    def agent_named(self, name: str) -> Agent | None: ...

    def agents(self) -> Sequence[Agent]:
        """Returns all agents by name."""
        ...

    def api_key(self, key: KeyId) -> ApiKey | None: ...

    def api_keys(self) -> Sequence[ApiKey]:
        """Returns all keys, oldest first."""
        ...

    def audit(self, limit: int, memory: MemoryId | None = None, action: Action | None = None) -> Sequence[AuditEntry]:
        """Returns the newest audit entries, newest first. ``action``: only those of one kind, of one memory."""
        ...

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        """Returns audit entries with a greater number, oldest first. Numbers start at 1 and are never reused. An entry
        may become visible after entries with greater numbers did."""
        ...


class IdentityWrites(Protocol):
    """Agents, their keys, and the audit trail."""

    def put_agent(self, agent: Agent) -> None:
        """Raises Conflict if another agent has the name."""
        ...

    def put_api_key(self, key: ApiKey) -> None: ...

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        """Returns False if the key does not exist or was revoked before."""
        ...

    def record_audit(self, entry: AuditEntry) -> None: ...

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        """Adds entries of another store with their numbers; numbers assigned later are greater. Raises Conflict if one
        is taken."""
        ...
