"""Work that outlives the call that asked for it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.text import Clean

JobId = NewType("JobId", str)


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """``done`` of ``total`` units; both are counted, never guessed."""

    id: JobId
    kind: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    done: int = 0
    total: int = 0
    error: Clean | None = None
