"""What REST takes in about running things."""

from typing import Annotated

from pydantic import Field

from hivelore.http.rest.models import Body, ChangeCursor, Text
from hivelore.observations.curation import MAX_FORGOTTEN
from hivelore.observations.model import DEFAULT_TIER, TIERS
from hivelore.observations.outcomes import Change, ObservationInput

Sure = Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""Clamped to 0..1."""


class ObservationRequest(Body):
    observation: Text
    category: Text
    service: Text | None = None
    session: Text | None = None
    """What an operator says is of none."""
    project: Text | None = None
    """It holds there alone; else for the whole swarm."""
    tier: Annotated[int, Field(strict=True, ge=1, le=TIERS[-1])] = DEFAULT_TIER
    """What an operator says is of tier 0."""
    at: ChangeCursor | None = None
    """When it was seen, if not now; what lies in the future is taken for now."""
    confidence: Sure | None = None
    """Operators."""
    persistent: Annotated[bool, Field(strict=True)] | None = None
    """Operators."""

    def seen(self) -> ObservationInput:
        return ObservationInput(
            text=self.observation,
            category=self.category,
            service=self.service,
            session=self.session,
            at=self.at,
            tier=self.tier,
            project=self.project,
        )


class ChangeRequest(Body):
    """Only the given fields change."""

    observation: Text = ""
    category: Text = ""
    service: Text | None = None
    project: Text | None = None
    """null: it holds for the whole swarm."""
    confidence: Sure = 0.0
    active: Annotated[bool, Field(strict=True)] = True
    persistent: Annotated[bool, Field(strict=True)] = False
    reason: Text | None = None

    def change(self) -> Change:
        return Change(**{name: getattr(self, name) for name in self.model_fields_set})


class BulkRequest(Body):
    ids: Annotated[list[Text], Field(max_length=MAX_FORGOTTEN)]
