"""Values of maintenance: plan, result and job; the report of an integrity check (N14)."""

from collections.abc import Mapping
from datetime import datetime

from hivelore.changes.model import BatchId
from hivelore.core.jobs import Job
from hivelore.core.values import Value, json_names
from hivelore.memories.model import MemoryId


class MaintenancePlan(Value, frozen=True, kw_only=True):
    """The requested maintenance steps."""

    purge_expired: bool = False
    merge: bool = False
    reindex: bool = False
    vacuum: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.purge_expired or self.merge or self.reindex or self.vacuum)

    @property
    def is_long(self) -> bool:
        """True if it may take minutes and runs as a job. A reindex is only started, so it is short."""
        return self.merge or self.vacuum


class Expired(Value, frozen=True, kw_only=True):
    """An expired memory to be purged."""

    id: MemoryId
    name: str
    expired_at: datetime


class DuplicateGroup(Value, frozen=True, kw_only=True):
    """Two duplicates, the older one first."""

    older: MemoryId
    newer: MemoryId
    names: tuple[str, str]
    why: str


class MaintenanceResult(Value, frozen=True, kw_only=True, rename=json_names(most="mostUnasked")):
    """The effect of maintenance: planned, or completed if ``applied``."""

    applied: bool
    memories: int
    """Number of memories before the run."""
    expired: int
    """Exact number of memories to purge."""
    most: int
    """Number of memories that may be purged without confirmation."""
    examples: tuple[Expired, ...] = ()
    """Memories to purge, earliest expiry first; limited in number."""
    alike: tuple[DuplicateGroup, ...] = ()
    """Duplicates to propose for review; nothing is merged before it is accepted."""
    proposed: int = 0
    """Number of duplicates that this run added to the review inbox."""
    purged: int = 0
    batch: BatchId | None = None
    """The batch to undo the purge."""
    done: Mapping[str, bool] = {}
    """Whether reindex and vacuum were done or started."""


class MaintenanceJob(Job, frozen=True, kw_only=True):
    """Maintenance that runs in the background."""

    result: MaintenanceResult | None
    """None if the job is not done, or if a later one was started."""


class IntegrityReport(Value, frozen=True, kw_only=True, rename=json_names(failed="failedEmbeddings")):
    """Findings, one sentence each."""

    problems: tuple[str, ...] = ()
    """Damage to the data that requires an operator."""
    repairs: tuple[str, ...] = ()
    """Missing index entries and how they are repaired."""
    failed: int = 0
    """Passages whose embedding failed and will be tried again."""
