"""Changes that can be taken back: what was done in one go, and how the memories were before (N14)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.events.model import Event
from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import MemoryId
from hivelore.memories.whole import WholeMemory
from hivelore.review.model import Proposal
from hivelore.search.model import Visibility

BatchId = NewType("BatchId", str)
"""A UUID (version 7) in its lower-case text form."""
ABSENT = ""
"""The mark (``Preimage.after``) of a memory that is not there."""


class BatchKind(StrEnum):
    EDITED = "edited"
    """A memory was edited, shared or made private."""
    TOLD = "told"
    """Something was remembered that took the place of something, or that was known in other words."""
    OPERATED = "operated"
    """An operator changed what is known about running things."""
    DECIDED = "decided"
    """Something of the review inbox was accepted or merged."""
    PURGED = "purged"
    """Maintenance took away what had expired."""
    UNDONE = "undone"
    """Another batch was taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was done in one go."""

    id: BatchId
    kind: BatchKind
    at: datetime
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    reason: Clean | None = None
    changes: int
    """How many memories it changed."""
    is_private: bool
    """Whether one of these is, or was, private."""
    undoes: BatchId | None = None
    """The batch that it took back."""
    undone_at: datetime | None = None
    undone_by: AgentId | None = None
    """None: nobody yet, or an operator who acted for nobody."""

    def __post_init__(self) -> None:
        for instant in (self.at, self.undone_at):
            if instant is not None and instant.tzinfo is not UTC:
                raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True)
class PreviousState:
    """A memory as it was, with all that goes when it goes."""

    whole: WholeMemory
    """Where the memory was still there after the change, its history is that which it has no more: the versions before
    are where they were."""
    proposals: tuple[Proposal, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Preimage:
    """What one change of a batch did to one memory."""

    key: DocumentKey
    memory: MemoryId
    before: PreviousState | None
    """None: it was not there."""
    after: str
    """A mark of the memory as it was then: whether it was changed since."""
    owner: AgentId | None
    """Whose it is, or was, privately; None: it was shared before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFilter:
    """Which batches count. Every part left at None admits all."""

    seen: Visibility
    """Batches with private memories are for those who see the private memories of all."""
    memory: MemoryId | None = None
    """Only those that changed this one."""
    undone: bool | None = None
    """Only those that were, or were not, taken back."""

    def admits(self, batch: Batch) -> bool:
        """But for ``memory``."""
        return (self.seen.others or (self.seen.swarm and not batch.is_private)) and (
            self.undone is None or (batch.undone_at is not None) is self.undone
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPage:
    """Batches, newest first with the id as tie; ``next`` continues behind the last one."""

    batches: tuple[Batch, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMemory:
    """A memory that a batch changed, as far as it can be taken back."""

    id: MemoryId
    name: str
    """What it was called before, or is called now where it was not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDetail:
    """A batch with what it changed."""

    batch: Batch
    memories: tuple[ChangedMemory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """What became of taking something back."""

    batch: Batch
    """What was taken back, as it is now."""
    by: BatchId | None
    """The batch in which that was done: take it back to have the change again. None: nothing was to be done."""
    memories: tuple[MemoryId, ...]
    """Those that are as they were before."""
    forgotten: int = 0
    """How many of a purge were forgotten for good since, and stay so."""
