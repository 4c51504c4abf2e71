"""Who did what to which memory, and who read what was not theirs."""

from dataclasses import dataclass
from datetime import datetime

from hivelore.domain.agent import AgentId, Door
from hivelore.domain.memory import Action, MemoryId
from hivelore.domain.text import Clean


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    at: datetime
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    door: Door
    action: Action
    memory: MemoryId
    detail: Clean | None = None
