"""What maintenance is asked for, and what it would do or did (N14)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.core.values import Value, json_names
from hivelore.memories.model import MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancePlan:
    """What maintenance is to do."""

    purge_expired: bool = False
    merge: bool = False
    reindex: bool = False
    vacuum: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.purge_expired or self.merge or self.reindex or self.vacuum)

    @property
    def is_long(self) -> bool:
        """Whether it may take minutes, and so is a job. Indexing anew is only begun by it."""
        return self.merge or self.vacuum


class Expired(Value, frozen=True, kw_only=True):
    """A memory that would go."""

    id: MemoryId
    name: str
    expired_at: datetime


class DuplicateGroup(Value, frozen=True, kw_only=True):
    """Two memories that say the same, the older one first."""

    older: MemoryId
    newer: MemoryId
    names: tuple[str, str]
    why: str


class MaintenanceResult(Value, frozen=True, kw_only=True, rename=json_names(most="mostUnasked")):
    """What maintenance would do, or did where ``applied``."""

    applied: bool
    memories: int
    """How many there are, or were before."""
    expired: int
    """How many are to go, exactly."""
    most: int
    """So many go without being counted by who asks for it."""
    examples: tuple[Expired, ...] = ()
    """Of those to go, the first to expire first; not all of very many."""
    alike: tuple[DuplicateGroup, ...] = ()
    """Pairs to put to review; nothing is merged before somebody accepts it."""
    proposed: int = 0
    """How many of these are in the review inbox by this."""
    purged: int = 0
    batch: BatchId | None = None
    """To take back what was purged."""
    done: Mapping[str, bool] = {}
    """Reindexing and vacuuming: whether each was done, or begun."""
