"""Answers the operations of re-embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hivelore.core.jobs import Job, JobId
from hivelore.core.operation import Call
from hivelore.embeddings.operations import Reembed, ReembedJobId

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def reembed(app: Application, request: Reembed, call: Call) -> Job:
    return app.reembedder.begin(call.viewer, everything=request.everything)


def get_reembed_job(app: Application, request: ReembedJobId, call: Call) -> Job:
    return app.reembedder.status(JobId(request.job), call.viewer)


def cancel_reembed(app: Application, request: ReembedJobId, call: Call) -> Job:
    return app.reembedder.cancel(JobId(request.job), call.viewer)
