"""The audit trail: changes of memories, and reads of private memories of others."""

from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import AgentId, Interface, Viewer
from hivelore.core.text import Clean
from hivelore.memories.model import Action, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    action: Action
    memory: MemoryId
    detail: Clean | None = None

    @classmethod
    def by_viewer(
        cls, viewer: Viewer, action: Action, memory: MemoryId, at: datetime, detail: Clean | None = None
    ) -> "AuditEntry":
        return cls(at=at, actor=viewer.agent, interface=viewer.interface, action=action, memory=memory, detail=detail)
