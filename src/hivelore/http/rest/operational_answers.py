"""What REST answers about running things, for /openapi.json alone."""

from datetime import datetime

from hivelore.core.agents import Interface
from hivelore.http.rest.answers import Shown
from hivelore.observations.model import ObservationKind
from hivelore.observations.outcomes import Effect


class RatedAnswer(Shown):
    id: str
    service: str | None
    """null: it holds for all."""
    category: str
    observation: str
    confidence: float
    """0..1, now."""
    active: bool
    """Inactive ones are kept, and not told."""
    tier: int
    """0: an operator made it."""
    persistent: bool
    """Time does not wear it off."""
    session: str | None
    project: str | None
    """null: it holds for the whole swarm."""
    agent_id: str | None
    created_at: datetime
    updated_at: datetime
    """When it was changed, or ``observedAt`` where that is later (C11)."""
    observed_at: datetime
    """When it was last seen, or an operator said how sure it is."""
    version: int


class RatedPageAnswer(Shown):
    memories: list[RatedAnswer]
    next: str | None


class ObservedAnswer(Shown):
    effect: Effect
    about: list[str]
    """What it contradicts, or may have to do with."""
    why: list[str]
    dropped: int
    """How many of ``about`` nobody is asked about: too many proposals of the agent wait that weigh as much."""
    memory: RatedAnswer


class ObservationAnswer(Shown):
    at: datetime
    kind: ObservationKind
    actor: str | None
    door: Interface
    session: str | None
    text: str | None
    confidence: float | None
    """Of one that was created, or set by an operator."""


class PointAnswer(Shown):
    at: datetime
    confidence: float
    active: bool


class ConfidenceTimelineAnswer(Shown):
    observations: list[ObservationAnswer]
    timeline: list[PointAnswer]
    """Before and after each observation, where time begins and ends to wear it off or makes it inactive, and at the
    end now. From one point to the next it runs straight."""
    next: str | None


class DeletedAnswer(Shown):
    deleted: int


class DecayAnswer(Shown):
    deactivated: int


class BlockAnswer(Shown):
    environment: str
    """To stand before ``text``, behind which a line is left blank; empty where nothing must wait."""
    text: str
    """Empty where there is nothing to tell."""
    included: int
    total: int
    """Of all that might have been told."""
    tokens: int
