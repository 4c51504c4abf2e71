"""What is not to be done to a service again before its time, so that agents do not try the same over and over (C42)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hivelore.domain.agent import AgentId, Door
from hivelore.domain.operational import SERVICE_LENGTH
from hivelore.domain.text import Clean

ACTION_LENGTH = 100
REASON_LENGTH = 500
LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """There is one for each action of a service; once its time has come it is over, and counts no more."""

    service: Clean
    action: Clean
    until: datetime
    set_at: datetime
    """When it was set, as it was told of last."""
    actor: AgentId | None
    """Who set it; None: an operator who acted for nobody, or several agents."""
    door: Door
    session: Clean | None = None
    reason: Clean | None = None
    count: int = 1
    """How often it was set without being over in between."""

    def __post_init__(self) -> None:
        if self.until.tzinfo is not UTC or self.set_at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if not 1 <= len(self.service) <= SERVICE_LENGTH or not 1 <= len(self.action) <= ACTION_LENGTH:
            raise ValueError("a cooldown is for an action of a service, with names of at most 100 characters")
        if self.count < 1:
            raise ValueError("a cooldown was set at least once")
