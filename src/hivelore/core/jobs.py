"""Jobs: work that continues after the call that started it."""

from datetime import datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.text import Clean
from hivelore.core.values import Value

JobId = NewType("JobId", str)


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Job(Value, frozen=True, kw_only=True):
    """``done`` of ``total`` units; both are exact."""

    id: JobId
    kind: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    done: int = 0
    total: int = 0
    error: Clean | None = None
