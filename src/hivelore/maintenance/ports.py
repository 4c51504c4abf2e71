"""Ports of jobs that run in the background."""

from collections.abc import Sequence
from typing import Protocol

from hivelore.core.jobs import Job, JobId


class JobReads(Protocol):
    """Jobs that run in the background."""

    def job(self, job: JobId) -> Job | None: ...

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        """Returns jobs, newest first."""
        ...


class JobWrites(Protocol):
    """Jobs that run in the background."""

    def put_job(self, job: Job) -> None:
        """Inserts or replaces a job."""
        ...
