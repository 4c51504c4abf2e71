"""Who did what to which memory, and who read what was not theirs."""

from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import AgentId, Interface, Viewer
from hivelore.core.text import Clean
from hivelore.memories.model import Action, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    at: datetime
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    action: Action
    memory: MemoryId
    detail: Clean | None = None

    @classmethod
    def by_viewer(
        cls, viewer: Viewer, action: Action, memory: MemoryId, at: datetime, detail: Clean | None = None
    ) -> "AuditEntry":
        return cls(at=at, actor=viewer.agent, interface=viewer.interface, action=action, memory=memory, detail=detail)
