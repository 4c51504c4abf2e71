"""Input values of memory operations, before validation and redaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

import msgspec

from hivelore.core.agents import AgentId
from hivelore.core.values import Value
from hivelore.memories.model import Json, Memory, Scope, Source, Trust
from hivelore.observations.model import Operational

Unset = msgspec.UnsetType
UNSET: Final = msgspec.UNSET
"""Leaves a field unchanged where None is a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory to store, as a caller provides it."""

    content: str
    name: str | None = None
    """None: derived from the beginning of the content."""
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
    """None: now. Imports set a time in the past."""
    expires_at: datetime | None = None
    """None: the lifetime of the source applies (B08)."""
    subject: str | None = None
    """Fact key such as ``db.port``. The memory supersedes the previous fact with this key."""
    valid_from: datetime | None = None
    """None: valid since creation."""
    supersedes: str | None = None
    """Id of the memory to supersede, or its external id."""
    trust: Trust = Trust.AGENT
    operational: Operational | None = None
    """Only operators may set it. Existing values are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes to a memory. Fields that are UNSET stay as they are."""

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
        """Returns the fields to change, without the reason."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "reason"}
        return {name: value for name, value in values.items() if value is not UNSET}


class WriteResult(Value, frozen=True, kw_only=True):
    """The result of storing a draft."""

    memory: Memory
    created: bool
    """True if the memory is new."""
    changed: bool
    """True if anything was stored; False for a repetition with no new content."""
    proposal: str | None = None
    """Id of the proposal to supersede shared memories. Until a lead accepts it, the memory is stored without
    ``subject`` and ``supersedes``."""
    dropped: bool = False
    """True if the review inbox had no room for that proposal."""

    @property
    def placement_notice(self) -> str | None:
        """Returns a message for a caller whose request to supersede shared memories was not applied, else None."""
        if self.dropped:
            return (
                "It replaces nothing: the memory to replace is shared, and too many of your proposals of equal weight "
                "are open. Ask a lead."
            )
        if self.proposal is None:
            return None
        return f"It replaces nothing yet: the memory to replace is shared. A lead decides on proposal {self.proposal}."
