"""What REST answers about taking changes back and about maintenance, for /openapi.json alone."""

from datetime import datetime

from hivelore.changes.model import BatchKind
from hivelore.core.agents import Interface
from hivelore.http.rest.answers import JobAnswer, Shown


class BatchAnswer(Shown):
    id: str
    kind: BatchKind
    at: datetime
    actor: str | None
    """null: an operator who acted for nobody."""
    interface: Interface
    reason: str | None
    changes: int
    """How many memories it changed."""
    private: bool
    """Whether one of these is, or was, private."""
    undoes: str | None
    """The batch that it took back."""
    undone_at: datetime | None
    undone_by: str | None


class BatchesAnswer(Shown):
    batches: list[BatchAnswer]
    next: str | None


class TouchedAnswer(Shown):
    id: str
    name: str


class BatchDetailAnswer(Shown):
    batch: BatchAnswer
    memories: list[TouchedAnswer]


class UndoResultAnswer(Shown):
    batch: BatchAnswer
    by: str | None
    """The batch in which that was done: take it back to have the change again."""
    memories: list[str]
    forgotten: int
    """How many of a purge were forgotten for good since, and stay so."""


class ExpiredAnswer(Shown):
    id: str
    name: str
    expired_at: datetime


class DuplicateGroupAnswer(Shown):
    older: str
    newer: str
    names: list[str]
    why: str


class MaintenanceResultAnswer(Shown):
    applied: bool
    """false: a preview, and nothing was written."""
    memories: int
    expired: int
    """How many are to go, exactly."""
    most_unasked: int
    """So many go without yesDelete."""
    examples: list[ExpiredAnswer]
    """Of those to go; not all of very many."""
    alike: list[DuplicateGroupAnswer]
    proposed: int
    purged: int
    batch: str | None
    """To take back what was purged."""
    done: dict[str, bool]


class MaintenanceJobAnswer(JobAnswer):
    result: MaintenanceResultAnswer | None
    """What maintenance would do, or did; null while it runs, where it has failed or was cancelled, and where a later
    job was begun since."""
