"""What callers hand in, before it is checked and cleaned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from typing import Any, Final

from hivelore.core.agents import AgentId
from hivelore.memories.model import Json, Memory, Scope, Source, Trust
from hivelore.observations.model import Operational


class Unset(Enum):
    """The type of UNSET."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""Stands for 'leave it as it is' where None is a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to remember, as it came in at a door."""

    content: str
    name: str | None = None
    """None: taken from the beginning of the content."""
    scope: Scope = Scope.AGENT
    source: Source = Source.MANUAL
    owner: AgentId | None = None
    """None: the caller."""
    summary: str | None = None
    category: str | None = None
    tags: Sequence[str] = ()
    project: str | None = None
    session: str | None = None
    author: str | None = None
    source_task_id: str | None = None
    source_path: str | None = None
    external_id: str | None = None
    metadata: Mapping[str, Json] | None = None
    created_at: datetime | None = None
    """None: now. In the past for what is imported."""
    expires_at: datetime | None = None
    """None: as the source says (B08)."""
    subject: str | None = None
    """What it is a fact about, like ``db.port``: it takes the place of what held of that before."""
    valid_from: datetime | None = None
    """None: it holds since it was created."""
    supersedes: str | None = None
    """The id of the memory whose place it takes, or on its shelf the external id."""
    trust: Trust = Trust.AGENT
    operational: Operational | None = None
    """For operators. What is known already stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes to a memory; what is UNSET stays."""

    name: str | Unset = UNSET
    content: str | Unset = UNSET
    summary: str | Unset = UNSET
    scope: Scope | Unset = UNSET
    category: str | Unset = UNSET
    tags: Sequence[str] | Unset = UNSET
    project: str | Unset | None = UNSET
    source_path: str | Unset | None = UNSET
    metadata: Mapping[str, Json] | Unset = UNSET
    expires_at: datetime | Unset | None = UNSET
    subject: str | Unset | None = UNSET
    valid_from: datetime | Unset | None = UNSET
    supersedes: str | Unset | None = UNSET
    reason: str | None = None

    def changed_fields(self) -> dict[str, Any]:
        """The fields that change, without the reason."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "reason"}
        return {name: value for name, value in values.items() if value is not UNSET}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of a draft."""

    memory: Memory
    created: bool
    """A memory that was not there before."""
    changed: bool
    """Something was stored; False for a repetition that said nothing new."""
    proposal: str | None = None
    """It was to take the place of what others share: that is proposed to a lead, and until then it stands beside it
    without ``subject`` and ``supersedes``."""
    dropped: bool = False
    """That was not even proposed: the review inbox is full of what this agent proposed, and that weighs more."""

    @property
    def placement_notice(self) -> str | None:
        """What to tell who wanted to replace what others share; None where nothing of that was asked for."""
        if self.dropped:
            return (
                "It replaces nothing: others share what it was to replace, and too many proposals of yours wait that "
                "weigh as much. Tell a lead."
            )
        if self.proposal is None:
            return None
        return f"It replaces nothing yet: others share what it was to replace. Proposal {self.proposal} asks a lead."
