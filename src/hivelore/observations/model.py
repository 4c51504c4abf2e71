"""What is known about running things: a memory with a confidence that observations move and time wears off."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface, Role, Viewer
from hivelore.core.text import Clean

Confidence = NewType("Confidence", float)
"""0 to 1."""

GENERAL = Clean("general")
"""What is asked for by this name holds for all services, and names none."""
SERVICE_LENGTH = 100
TIERS = range(4)
"""0: made by an operator, without a session; 1 to 3: how much the agent that observed it may do."""
DEFAULT_TIER = 1


class ObservationKind(StrEnum):
    """What an observation does to what is known."""

    CREATED = "created"
    REINFORCED = "reinforced"
    """Seen again."""
    CONTRADICTED = "contradicted"
    """The opposite was seen."""
    DISPROVED = "disproved"
    """Somebody who may decide it has decided that the opposite was seen."""
    SET = "set"
    """An operator said how sure it is."""
    SWITCHED_OFF = "switched_off"
    """An operator took it out of use."""
    MADE_PERSISTENT = "made_persistent"
    """An operator exempted it from being worn off by time."""
    MADE_PASSING = "made_passing"
    """An operator exempts it no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One time that something was seen, or judged by an operator; kept for ever."""

    at: datetime
    kind: ObservationKind
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    session: Clean | None = None
    text: Clean | None = None
    """In the words of who saw it."""
    to: Confidence | None = None
    """For ``SET`` and ``CREATED``: how sure it is then."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")
        if (self.to is not None) != (self.kind in (ObservationKind.CREATED, ObservationKind.SET)):
            raise ValueError("what is created or set has a confidence, what is observed has none")
        if self.to is not None and not 0.0 <= self.to <= 1.0:
            raise ValueError("a confidence is 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """How sure something was when it was last observed: all that its confidence at a later time depends on."""

    base: Confidence
    since: datetime
    """When it was last observed or set."""
    is_off: bool = False
    """An operator took it out of use, and nothing was observed since."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.base <= 1.0:
            raise ValueError("a confidence is 0 to 1")
        if self.since.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operational:
    """What a memory has besides, that is about running things (C01)."""

    held: Held
    service: Clean | None = None
    """None: it holds for all."""
    tier: int = DEFAULT_TIER
    persistent: bool = False
    """Time does not wear it off."""

    def __post_init__(self) -> None:
        if self.tier not in TIERS:
            raise ValueError("a tier is 0 to 3")
        if self.service is not None and not 1 <= len(self.service) <= SERVICE_LENGTH:
            raise ValueError(f"the name of a service has 1 to {SERVICE_LENGTH} characters")
        if self.service == GENERAL:
            raise ValueError("what holds for all services names none")


def may_set_confidence(viewer: Viewer) -> bool:
    """Whether ``viewer`` may keep a memory about running things with a confidence of its own, compared with nothing:
    who has an operator's key, also where it speaks for an agent, as in an import. What agents observe is compared with
    what is known, and is as sure as that is."""
    return viewer.role is Role.OPERATOR or viewer.acting
