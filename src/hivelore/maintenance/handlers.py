"""Answers the operations of maintenance and of the integrity check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.operation import Call
from hivelore.core.values import NoArguments
from hivelore.maintenance.model import IntegrityReport, MaintenanceJob, MaintenancePlan, MaintenanceResult
from hivelore.maintenance.operations import Maintain, MaintenanceJobId

if TYPE_CHECKING:
    from hivelore.runtime.app import Application

WAIT = 2.0
"""Seconds that a request waits for its job."""


def maintain(app: Application, request: Maintain, call: Call) -> MaintenanceResult | MaintenanceJob:
    plan = MaintenancePlan(
        purge_expired=request.purge_expired, merge=request.merge, reindex=request.reindex, vacuum=request.vacuum
    )
    jobs, viewer = app.maintenance_jobs, call.viewer
    if not plan.is_long:
        if request.apply:
            return app.maintenance.apply(plan, viewer, request.yes_delete)
        return app.maintenance.preview(plan, viewer)
    job = jobs.begin(plan, viewer, apply=request.apply, yes_delete=request.yes_delete)
    if not request.background:
        job = jobs.wait(job.id, viewer, WAIT)
        if job.state in (JobState.DONE, JobState.FAILED):
            return jobs.result(job.id, viewer)
    return _with_result(job, None)


def get_maintenance_job(app: Application, request: MaintenanceJobId, call: Call) -> MaintenanceJob:
    job = app.maintenance_jobs.status(JobId(request.job), call.viewer)
    return _with_result(job, app.maintenance_jobs.stored_result(job))


def cancel_maintenance(app: Application, request: MaintenanceJobId, call: Call) -> MaintenanceJob:
    return _with_result(app.maintenance_jobs.cancel(JobId(request.job), call.viewer), None)


def check_integrity(app: Application, request: NoArguments, call: Call) -> IntegrityReport:
    return app.integrity_check.check()


def _with_result(job: Job, result: MaintenanceResult | None) -> MaintenanceJob:
    return MaintenanceJob(**structs.asdict(job), result=result)
