"""Jobs that run in the background."""

from collections.abc import Sequence

from hivelore.core.jobs import Job, JobId, JobState
from hivelore.storage.sql.statements import INSTANT, SqlReader, SqlWriter, Table, codes, plain

JOB = Table(
    Job,
    "job",
    "id",
    **plain("id kind"),
    state=codes({JobState.RUNNING: 1, JobState.DONE: 2, JobState.FAILED: 3, JobState.CANCELLED: 4}),
    created_at=INSTANT,
    updated_at=INSTANT,
    **plain("done total error"),
)


class JobReader(SqlReader):
    """Implements ``maintenance.ports.JobReads``."""

    TABLES = (JOB,)

    def job(self, job: JobId) -> Job | None:
        return self.read_one(JOB, "job_by_id", id=job)

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        return self.read_all(JOB, "jobs") if kind is None else self.read_all(JOB, "jobs_of_kind", kind=kind)


class JobWriter(JobReader, SqlWriter):
    """Implements ``maintenance.ports.JobWrites``."""

    def put_job(self, job: Job) -> None:
        self.run("job_put", JOB.params(job))
