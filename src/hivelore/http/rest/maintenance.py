"""The routes of taking changes back, and of maintenance."""

import asyncio

from fastapi import APIRouter, Response

from hivelore.changes import batch_codec as wire
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.operation import Lane
from hivelore.http.context import Asking, Caller
from hivelore.http.rest import maintenance_answers as answers
from hivelore.http.rest.memories import json
from hivelore.http.rest.models import MaintenanceRequest
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.codec import Object

_PAUSES = (0.01, 0.02, 0.03, 0.04, 0.1, *[0.2] * 9)
"""Seconds before each look at a job that a request waits for: two in all."""

router = APIRouter(prefix="/api", tags=["maintenance"])


@router.post(
    "/maintenance",
    response_model=answers.MaintenanceResultAnswer,
    responses={202: {"model": answers.MaintenanceJobAnswer}},
)
async def maintain(request: MaintenanceRequest, caller: Asking) -> Response:
    """Operators: what maintenance would do; with ``apply`` it is done. Merging and vacuuming run as a job, one at a
    time: where it is not over within two seconds, or ``background`` was asked for, the answer is 202 with the job."""
    maintenance = caller.app.maintenance
    wish = MaintenancePlan(
        purge_expired=request.purge_expired, merge=request.merge, reindex=request.reindex, vacuum=request.vacuum
    )
    if wish.is_long:
        return await _as_job(wish, request, caller)
    if request.apply:
        done = await caller.run(Lane.SLOW, lambda _: maintenance.apply(wish, caller.viewer, request.yes_delete))
    else:
        done = await caller.run(Lane.SLOW, lambda _: maintenance.preview(wish, caller.viewer))
    return json(wire.maintained(done))


async def _as_job(wish: MaintenancePlan, request: MaintenanceRequest, caller: Caller) -> Response:
    jobs, viewer = caller.app.maintenance_jobs, caller.viewer
    job = await caller.run(
        Lane.WRITE, lambda _: jobs.begin(wish, viewer, apply=request.apply, yes_delete=request.yes_delete)
    )
    if request.background:
        return json(wire.maintenance_job(job, None), 202)
    begun = job.id

    def look(_: float) -> Job:
        return jobs.status(begun, viewer)

    for pause in _PAUSES:
        if job.state is not JobState.RUNNING:
            break
        await asyncio.sleep(pause)
        job = await caller.run(Lane.READ, look)
    if job.state in (JobState.DONE, JobState.FAILED):
        return json(wire.maintained(await caller.run(Lane.READ, lambda _: jobs.result(begun, viewer))))
    return json(wire.maintenance_job(job, None), 202)


@router.get("/maintenance/{job_id}", response_model=answers.MaintenanceJobAnswer)
async def look_at_maintenance(job_id: str, caller: Asking) -> Response:
    """Operators: a job with its progress, and with its ``result`` once it is done. That of the latest job is kept."""

    def work(_: float) -> Object:
        job = caller.app.maintenance_jobs.status(JobId(job_id), caller.viewer)
        return wire.maintenance_job(job, caller.app.maintenance_jobs.stored_result(job))

    return json(await caller.run(Lane.READ, work))


@router.delete("/maintenance/{job_id}", response_model=answers.MaintenanceJobAnswer)
async def cancel_maintenance(job_id: str, caller: Asking) -> Response:
    """Operators: stop a job. What it has written until then stays, and can be taken back by its batch."""
    job = await caller.run(Lane.WRITE, lambda _: caller.app.maintenance_jobs.cancel(JobId(job_id), caller.viewer))
    return json(wire.maintenance_job(job, None))
