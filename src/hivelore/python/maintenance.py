"""Methods of a hive for operators and leads: undo, maintenance, re-embedding, agents and status."""

import time
from abc import ABC
from contextlib import suppress

from hivelore.changes import operations as changes
from hivelore.core.jobs import JobState
from hivelore.embeddings import operations as embeddings
from hivelore.errors import Conflict, HiveloreError, NotFound
from hivelore.health import operations as health
from hivelore.identity import operations as identity
from hivelore.maintenance import operations as maintenance
from hivelore.maintenance.model import MaintenanceJob, MaintenanceResult
from hivelore.python.methods import Calls, Method, method

_POLL_PAUSES = (0.02, 0.2)
"""Seconds between two polls of a job: the first pause and the longest."""


class MaintenanceMethods(Calls, ABC):
    undo = method(changes.UNDO)
    batches = method(changes.LIST_BATCHES)
    batch = method(changes.GET_BATCH)
    drop_batch = method(changes.DROP_BATCH)
    maintenance_job = method(maintenance.GET_MAINTENANCE_JOB)
    cancel_maintenance = method(maintenance.CANCEL_MAINTENANCE)
    check = method(maintenance.CHECK_INTEGRITY)
    reembed = method(embeddings.REEMBED)
    reembed_job = method(embeddings.GET_REEMBED_JOB)
    cancel_reembed = method(embeddings.CANCEL_REEMBED)
    me = method(identity.WHO_AM_I)
    agents = Method(identity.LIST_AGENTS, lambda found: found.agents)
    add_agent = method(identity.ADD_AGENT)
    revoke_keys = Method(identity.REVOKE_KEYS, lambda done: done.revoked)
    status = method(health.GET_STATUS)

    def maintain(
        self,
        *,
        apply: bool = False,
        purge_expired: bool = False,
        merge: bool = False,
        reindex: bool = False,
        vacuum: bool = False,
        yes_delete: int | None = None,
    ) -> MaintenanceResult:
        """Previews maintenance; with ``apply``, runs it. For operators.

        ``yes_delete`` confirms the exact number of memories to purge, which is required for more than a share of all.
        Merging and vacuuming run as a job; an interrupt cancels it.
        """
        request = maintenance.Maintain(
            apply=apply,
            purge_expired=purge_expired,
            merge=merge,
            reindex=reindex,
            vacuum=vacuum,
            yes_delete=yes_delete,
            background=True,
        )
        answer = self.call(maintenance.MAINTAIN, request)
        return answer if isinstance(answer, MaintenanceResult) else self._wait_for_result(answer)

    def _wait_for_result(self, job: MaintenanceJob) -> MaintenanceResult:
        pause, longest = _POLL_PAUSES
        try:
            while job.state is JobState.RUNNING:
                time.sleep(pause)
                pause = min(2 * pause, longest)
                job = self.maintenance_job(job.id)
        except KeyboardInterrupt:
            with suppress(HiveloreError):
                self.cancel_maintenance(job.id)
            raise
        if job.state is not JobState.DONE:
            raise Conflict(job.error or f"Job {job.id} is {job.state.value}: another operator ended it.")
        if job.result is None:
            raise NotFound(f"The result of job {job.id} is no longer stored. Run it again.")
        return job.result
