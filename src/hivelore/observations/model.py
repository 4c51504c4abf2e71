"""Values of operational memory: a memory with a confidence that observations change and that decays over time."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType, Self

from msgspec import structs

from hivelore.core.agents import AgentId, Interface, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names, replace

Confidence = NewType("Confidence", float)
"""0 to 1."""

GENERAL = Clean("general")
"""Name of the group of observations that apply to all services."""
SERVICE_LENGTH = 100
TIERS = range(4)
"""0: made by an operator, without a session; 1 to 3: how much the agent that observed it may do."""
DEFAULT_TIER = 1


Pair = tuple[Clean, Clean]
"""The texts of an earlier and a later observation."""


class ObservationKind(StrEnum):
    """Effect of an observation."""

    CREATED = "created"
    REINFORCED = "reinforced"
    """Observed again."""
    CONTRADICTED = "contradicted"
    """The opposite was observed."""
    DISPROVED = "disproved"
    """A reviewer decided that the opposite was observed."""
    SET = "set"
    """An operator set the confidence."""
    SWITCHED_OFF = "switched_off"
    """An operator deactivated it."""
    MADE_PERSISTENT = "made_persistent"
    """An operator disabled its decay."""
    MADE_PASSING = "made_passing"
    """An operator enabled its decay again."""


class Observation(Value, frozen=True, kw_only=True, rename=json_names(to="confidence")):
    """One report by an agent or decision by an operator; kept forever."""

    at: datetime
    kind: ObservationKind
    actor: AgentId | None
    """None for an operator who acted for no agent."""
    interface: Interface
    session: Clean | None = None
    text: Clean | None = None
    """The observer's own words."""
    to: Confidence | None = None
    """The new confidence, for ``SET`` and ``CREATED``."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if (self.to is not None) != (self.kind in (ObservationKind.CREATED, ObservationKind.SET)):
            raise ValueError("only a created or set observation has a confidence")
        if self.to is not None and not 0.0 <= self.to <= 1.0:
            raise ValueError("a confidence is 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Confidence at the last observation, from which later confidence is computed."""

    base: Confidence
    since: datetime
    """Time of the last observation or setting."""
    is_off: bool = False
    """True if an operator deactivated it and nothing was observed since."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.base <= 1.0:
            raise ValueError("a confidence is 0 to 1")
        if self.since.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


class Operational(Value, frozen=True, kw_only=True):
    """Operational data of a memory (C01)."""

    service: Clean | None = None
    """None if it applies to all services."""
    confidence: Confidence
    """``Held.base``"""
    confident_at: datetime
    """``Held.since``"""
    tier: int = DEFAULT_TIER
    persistent: bool = False
    """True if it does not decay."""
    off: bool = False
    """``Held.is_off``"""

    @classmethod
    def of(
        cls, held: Held, service: Clean | None = None, tier: int = DEFAULT_TIER, *, persistent: bool = False
    ) -> Self:
        return cls(
            service=service,
            confidence=held.base,
            confident_at=held.since,
            tier=tier,
            persistent=persistent,
            off=held.is_off,
        )

    @property
    def held(self) -> Held:
        return Held(base=self.confidence, since=self.confident_at, is_off=self.off)

    def with_confidence(self, held: Held) -> Self:
        return replace(self, confidence=held.base, confident_at=held.since, off=held.is_off)

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError("a confidence is 0 to 1")
        if self.confident_at.tzinfo is None:
            raise ValueError("a time needs a zone")
        if self.confident_at.tzinfo is not UTC:
            structs.force_setattr(self, "confident_at", self.confident_at.astimezone(UTC))
        if self.tier not in TIERS:
            raise ValueError("a tier is 0 to 3")
        if self.service in ("", GENERAL):
            structs.force_setattr(self, "service", None)


class MatchingMode(StrEnum):
    """The rule that matches an observation with known ones (X8)."""

    MEANING = "meaning"
    CAUTIOUS = "cautious"
    """Like ``MEANING``, but a reviewer decides on every contradiction in other words."""
    STRUCTURAL = "structural"
    """Observations with the same service and category are the same (C11)."""


def may_set_confidence(viewer: Viewer) -> bool:
    """Returns True if the viewer may store a memory with a given confidence and without comparison (X19, X22), as in an
    import: anyone with an operator's key. The confidence of what agents observe results from comparison."""
    return viewer.role is Role.OPERATOR or viewer.acting
