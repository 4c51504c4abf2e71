"""Values of the change journal: batches, pre-images and undo results (N14)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.configuration.model import ConfigId, ConfigScope
from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.events.model import Event
from hivelore.links.model import StoredLink
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.memories.whole import WholeMemory
from hivelore.repos.model import RepoId
from hivelore.review.model import Proposal
from hivelore.search.model import Visibility
from hivelore.setup_scripts.model import ScriptChange

BatchId = NewType("BatchId", str)
"""A UUID (version 7) in its lower-case text form."""
ABSENT = ""
"""The digest (``Preimage.after``) of a memory that does not exist."""


class BatchKind(StrEnum):
    EDITED = "edited"
    """A memory was edited, shared or made private."""
    STORED = "told"
    """A memory was stored and superseded or updated another one."""
    OPERATED = "operated"
    """An operator changed an operational memory."""
    DECIDED = "decided"
    """A proposal was accepted or merged."""
    PURGED = "purged"
    """Maintenance removed expired memories."""
    REJUDGED = "rejudged"
    """Observations were judged again."""
    CONFIGURED = "configured"
    """A configuration entry was set or deleted."""
    PROFILED = "profiled"
    """The profile of an agent was changed."""
    REGISTERED = "registered"
    """A repository was registered, changed or removed."""
    SETUP_SCRIPT = "setup-script"
    """A setup script was changed."""
    UNDONE = "undone"
    """Another batch was reverted."""


class Batch(Value, frozen=True, kw_only=True, rename=json_names(is_private="private")):
    """The changes of one action."""

    id: BatchId
    kind: BatchKind
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    reason: Clean | None = None
    changes: int
    """Number of changed memories, configuration entries, profiles or repositories."""
    is_private: bool
    """True if one of the memories is, or was, private."""
    undoes: BatchId | None = None
    """The batch that this one reverted."""
    undone_at: datetime | None = None
    undone_by: AgentId | None = None
    """None: not reverted, or reverted by an operator who did not act for an agent."""
    script: ScriptChange | None = None
    """The setup script that was changed. None: the batch changed something else."""

    def __post_init__(self) -> None:
        for instant in (self.at, self.undone_at):
            if instant is not None and instant.tzinfo is not UTC:
                raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True)
class PreviousState:
    """A memory before a change, with the records that are deleted together with it."""

    whole: WholeMemory
    """If the memory still exists after the change, its history contains only the versions that no longer exist."""
    proposals: tuple[Proposal, ...] = ()
    events: tuple[Event, ...] = ()
    links: tuple[StoredLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Preimage:
    """The effect of a batch on one memory."""

    key: DocumentKey
    memory: MemoryId
    before: PreviousState | None
    """None: the memory did not exist."""
    after: str
    """Digest of the memory after the change; detects later changes."""
    owner: AgentId | None
    """The private owner before or after the change; None: shared before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFilter:
    """Selects batches. Fields that are None admit all."""

    seen: Visibility
    """Batches with private memories require visibility of all private memories."""
    memory: MemoryId | None = None
    """Only batches that changed this memory."""
    undone: bool | None = None
    """Only batches that were, or were not, reverted."""
    prefix: str | None = None
    """Only batches whose id begins with this."""

    def admits(self, batch: Batch) -> bool:
        """Checks everything except ``memory``."""
        return (
            (self.seen.others or (self.seen.swarm and not batch.is_private))
            and (self.undone is None or (batch.undone_at is not None) is self.undone)
            and (self.prefix is None or batch.id.startswith(self.prefix))
        )


class BatchPage(Value, frozen=True, kw_only=True):
    """Batches, newest first, then by id; ``next`` is the cursor of the following page."""

    batches: tuple[Batch, ...]
    next: str | None


class ChangedMemory(Value, frozen=True, kw_only=True):
    """A memory that a batch changed and that can be reverted."""

    id: MemoryId
    name: str
    """The name before the change; the current name if the memory did not exist."""


class ChangedEntry(Value, frozen=True, kw_only=True):
    """A configuration entry that a batch changed and that can be reverted."""

    id: ConfigId
    scope: ConfigScope
    key: str


class ChangedRepo(Value, frozen=True, kw_only=True):
    """A repository that a batch changed and that can be reverted."""

    id: RepoId
    name: Clean


class ChangedProfile(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId")):
    """A profile that a batch changed."""

    agent: AgentId
    before: int
    """The version that was current before."""
    after: int


class BatchDetail(Value, frozen=True, kw_only=True):
    """A batch with the memories, configuration entries, repositories and profiles that it changed."""

    batch: Batch
    memories: tuple[ChangedMemory, ...]
    entries: tuple[ChangedEntry, ...] = ()
    repos: tuple[ChangedRepo, ...] = ()
    profiles: tuple[ChangedProfile, ...] = ()


class UndoResult(Value, frozen=True, kw_only=True):
    """The result of an undo."""

    batch: Batch
    """The reverted batch in its new state."""
    by: BatchId | None
    """The batch of the undo, which can be reverted to redo the change. None: nothing had to be changed."""
    memories: tuple[MemoryId, ...]
    """The restored memories."""
    entries: tuple[ConfigId, ...] = ()
    """The restored configuration entries."""
    repos: tuple[RepoId, ...] = ()
    """The restored repositories."""
    warnings: tuple[str, ...] = ()
    """Why lines of .env files could not be written, which is tried again; and what was not restored."""
    profiles: tuple[AgentId, ...] = ()
    """The agents whose profiles were restored."""
    forgotten: int = 0
    """Number of purged memories that were permanently deleted since and stay so."""
