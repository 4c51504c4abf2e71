"""Input values of memory operations, before validation and redaction."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from hivelore.core.agents import AgentId
from hivelore.core.values import Instant, Request, Value, json_names
from hivelore.memories.model import Memory, Scope, Source, Trust
from hivelore.observations.model import Operational


class DraftFields(Request, frozen=True, kw_only=True, omit_defaults=True, rename=json_names(owner="agentId")):
    """The fields of a memory to store that have the same default in every operation."""

    content: str
    owner: AgentId | None = None
    """None: the caller."""
    summary: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    project: str | None = None
    session: str | None = None
    author: str | None = None
    source_task_id: str | None = None
    source_path: str | None = None
    external_id: str | None = None
    metadata: Mapping[str, Any] | None = None
    created_at: Instant | None = None
    """None: now. Imports set a time in the past."""
    expires_at: Instant | None = None
    """None: the lifetime of the source applies (B08)."""
    subject: str | None = None
    """Fact key such as ``db.port``. The memory supersedes the previous fact with this key."""
    valid_from: Instant | None = None
    """None: valid since creation."""
    supersedes: str | None = None
    """Id of the memory to supersede, or its external id."""
    operational: Operational | None = None
    """Only operators may set it. Existing values are kept."""


class Draft(DraftFields, frozen=True, kw_only=True):
    """A memory to store, as a caller provides it."""

    name: str | None = None
    """None: derived from the beginning of the content."""
    scope: Scope = Scope.AGENT
    source: Source = Source.MANUAL


class QuotedDraft(Draft, frozen=True, kw_only=True):
    """A draft made by the service from texts that others wrote."""

    trust: Trust


class AttributedDraft(Draft, frozen=True, kw_only=True):
    """A draft made by the service from texts that others wrote, under their names."""

    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    trust: Trust


class EditedFields(Request, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a memory that callers may change. Fields that are UNSET stay as they are."""

    name: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    scope: Scope | UnsetType = UNSET
    category: str | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    project: str | UnsetType | None = UNSET
    metadata: Mapping[str, Any] | UnsetType = UNSET
    expires_at: Instant | UnsetType | None = UNSET
    subject: str | UnsetType | None = UNSET
    valid_from: Instant | UnsetType | None = UNSET
    supersedes: str | UnsetType | None = UNSET
    reason: str | None = None


class Edit(EditedFields, frozen=True, kw_only=True, rename=json_names(source_path="source_path")):
    """Changes to a memory."""

    source_path: str | UnsetType | None = UNSET

    def changed_fields(self) -> dict[str, Any]:
        """Returns the fields to change, without the reason."""
        return {name: value for name, value in asdict(self).items() if value is not UNSET and name != "reason"}


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

    @property
    def placement_notice(self) -> str | None:
        """Returns a message for a caller whose request to supersede shared memories was not applied, else None."""
        if self.proposal is None:
            return None
        return f"It replaces nothing yet: the memory to replace is shared. A lead decides on proposal {self.proposal}."
