"""Who did what to which memory, and who read what was not theirs."""

from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import AgentId, Interface
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
