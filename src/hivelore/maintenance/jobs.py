"""Long maintenance as background jobs that can be started, observed and cancelled.

One job runs at a time, in a thread of the process that started it. The store has its progress, so that every process
can read it and cancel the job. A job is not resumed after its process ends.
"""

import json
import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec import to_builtins

from hivelore.core import tracebacks
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.progress import Progress, Stopped
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import convert, replace
from hivelore.errors import Conflict, HiveloreError, NotFound, Unavailable
from hivelore.maintenance.model import MaintenancePlan, MaintenanceResult
from hivelore.maintenance.service import Maintenance, check_plan, require_operator
from hivelore.memories.model import MemoryId
from hivelore.storage.ports import MemoryStore, Transaction, View

KIND = "maintenance"
LATEST = "maintenance.latest"
"""Setting with the request and result of the latest job. It contains ids but no texts of memories, so that forgotten
texts do not stay in it."""
HEARTBEAT_SECONDS = 1.0
"""Interval at which a job stores its progress and checks for cancellation."""
LOST_AFTER = timedelta(seconds=60)
"""Without a heartbeat for this time, the process of a job counts as ended."""
INTERRUPTED = Clean(
    "The process of this job has ended. 'hivelore batches' lists the completed changes. Start it again for the rest."
)
POLL_SECONDS = 0.02
_CLAIM = b"maintenance.job"
_LOG = logging.getLogger("hivelore")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """The parameters of a job."""

    plan: MaintenancePlan
    apply: bool
    yes_delete: int | None
    viewer: Viewer

    @property
    def stored_form(self) -> dict[str, object]:
        """The stored form. Equal requests have equal forms."""
        return {
            **to_builtins(self.plan),
            "apply": self.apply,
            "yesDelete": self.yes_delete,
            "actor": self.viewer.agent,
        }


@dataclass(frozen=True, slots=True)
class _RunningJob:
    progress: Progress
    thread: threading.Thread


class MaintenanceJobs:
    def __init__(
        self,
        *,
        store: MemoryStore,
        maintenance: Maintenance,
        redactor: Redactor,
        clock: Clock,
        new_id: Callable[[datetime], JobId],
        within: Callable[[Callable[[], None]], None],
    ) -> None:
        """``within`` runs the job in its thread, for example with a low priority."""
        self._store = store
        self._maintenance = maintenance
        self._redactor = redactor
        self._clock = clock
        self._new_id = new_id
        self._within = within
        self._lock = threading.Lock()
        self._running: dict[JobId, _RunningJob] = {}
        """Jobs of this process; a cancelled job stays until its thread has stopped."""
        self._failed: tuple[JobId, HiveloreError] | None = None
        """The latest job that failed in this process, and its error."""
        self._is_closing = False

    def begin(
        self, wish: MaintenancePlan, viewer: Viewer, *, apply: bool = False, yes_delete: int | None = None
    ) -> Job:
        """Starts a job. Returns the running one if the request is the same; raises Conflict if it differs."""
        check_plan(wish, viewer, yes_delete)
        order = JobRequest(plan=wish, apply=apply, yes_delete=yes_delete, viewer=viewer)
        with self._lock:  # Without it, the job would look lost before its thread starts.
            if self._is_closing:
                raise Unavailable("The service is stopping. Try again when it has started.")
            job, is_new = self._store.write(lambda tx: self._start(tx, order))
            if is_new:
                progress = Progress()
                thread = threading.Thread(
                    target=self._within,
                    args=(partial(self._run, job, order, progress),),
                    name="hivelore-maintenance",
                    daemon=True,
                )
                self._running[job.id] = _RunningJob(progress, thread)
                thread.start()
        return job

    def status(self, job: JobId, viewer: Viewer) -> Job:
        """Returns a job with its current progress."""
        require_operator(viewer)
        running = self._running_here(job)
        with self._store.read() as view:
            found = view.job(job)
        if found is None or found.kind != KIND:
            raise NotFound(f"No job {job!r}.")
        if found.state is not JobState.RUNNING:
            return found
        if running is not None:
            return replace(
                found, done=running.progress.done, total=running.progress.total, updated_at=self._clock.now()
            )
        return self._store.write(lambda tx: self._mark_lost(tx, found.id)) if self._is_lost(found) else found

    def result(self, job: JobId, viewer: Viewer) -> MaintenanceResult:
        """Returns the result of a completed job. Raises its error, or Conflict if it has no result."""
        seen = self.status(job, viewer)
        failed = self._failed
        if failed is not None and failed[0] == job:
            raise failed[1]
        if seen.state is not JobState.DONE:
            raise Conflict(seen.error or f"Job {job} is {seen.state.value} and has no result.")
        if (kept := self.stored_result(seen)) is None:
            raise NotFound(f"The result of job {job} is no longer stored, only that of the latest job. Run it again.")
        return kept

    def stored_result(self, job: Job) -> MaintenanceResult | None:
        """Returns the result of a completed job; None if it is not done, or if a later job was started."""
        if job.state is not JobState.DONE:
            return None
        with self._store.read() as view:
            latest = _latest(view)
            if latest.get("job") != job.id or latest["outcome"] is None:
                return None
            return _with_current_names(view, convert(MaintenanceResult, latest["outcome"]))

    def cancel(self, job: JobId, viewer: Viewer) -> Job:
        """Cancels a job. Its completed changes stay and can be undone by their batch."""
        seen = self.status(job, viewer)
        if seen.state is not JobState.RUNNING:
            return seen
        cancelled = self._store.write(partial(self._finish, seen, JobState.CANCELLED, None))
        if (running := self._running_here(job)) is not None:
            running.progress.stop()
        return cancelled

    def wait(self, job: JobId, viewer: Viewer, seconds: float = math.inf) -> Job:
        """Waits at most ``seconds`` for the end of a job and returns it."""
        until = self._clock.monotonic() + seconds
        while (seen := self.status(job, viewer)).state is JobState.RUNNING and self._clock.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return seen

    def close(self) -> None:
        """Stops the jobs of this process and waits for their threads."""
        with self._lock:
            self._is_closing = True
            running = list(self._running.values())
        for one in running:
            one.progress.stop()
        for one in running:
            one.thread.join()

    # steps

    def _start(self, tx: Transaction, order: JobRequest) -> tuple[Job, bool]:
        """Returns the job, and True if it is new."""
        tx.claim(_CLAIM)
        for running in (one for one in tx.jobs(KIND) if one.state is JobState.RUNNING):
            if running.id not in self._running and self._is_lost(running):
                self._mark_lost(tx, running.id)
            elif (kept := _latest(tx)).get("job") == running.id and kept.get("order") == order.stored_form:
                return running, False
            else:
                raise Conflict(
                    f"Maintenance is already running as job {running.id}. Wait until it is done (GET /api/maintenance/"
                    f"{running.id}), or cancel it (DELETE)."
                )
        now = self._clock.now()
        job = Job(id=self._new_id(now), kind=KIND, state=JobState.RUNNING, created_at=now, updated_at=now)
        tx.put_job(job)
        _put_latest(tx, {"job": job.id, "order": order.stored_form, "outcome": None})
        return job, True

    def _run(self, job: Job, order: JobRequest, progress: Progress) -> None:
        over = threading.Event()
        beats = threading.Thread(target=self._beat, args=(job.id, progress, over), daemon=True)
        beats.start()
        outcome, error = None, None
        try:
            outcome = self._execute(order, progress)
        except Stopped:
            error = Unavailable(INTERRUPTED)
        except HiveloreError as caught:
            error = caught
            self._failed = (job.id, caught)
        except Exception as caught:  # noqa: BLE001 - it is logged, and the job has failed
            _LOG.error("Maintenance failed.\n%s", tracebacks.masked_traceback(caught, self._redactor))
            error = Unavailable(f"Failed with an unexpected error ({type(caught).__name__}). See the service log.")
        over.set()
        beats.join()
        try:
            self._store.write(lambda tx: self._store_end(tx, job, progress, outcome, error))
        except HiveloreError as unkept:
            _LOG.warning(
                "Could not store the result of maintenance. %s", tracebacks.mask_text(str(unkept), self._redactor)
            )
        finally:
            with self._lock:
                del self._running[job.id]

    def _execute(self, order: JobRequest, progress: Progress) -> MaintenanceResult:
        if order.apply:
            return self._maintenance.apply(order.plan, order.viewer, order.yes_delete, progress)
        return self._maintenance.preview(order.plan, order.viewer, progress)

    def _beat(self, job: JobId, progress: Progress, over: threading.Event) -> None:
        def store_progress(tx: Transaction) -> None:
            known = tx.job(job)
            if known is None or known.state is not JobState.RUNNING:
                progress.stop()
                return
            tx.put_job(replace(known, done=progress.done, total=progress.total, updated_at=self._clock.now()))

        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(HiveloreError):  # The next one may get through.
                self._store.write(store_progress)

    def _store_end(
        self,
        tx: Transaction,
        job: Job,
        progress: Progress,
        outcome: MaintenanceResult | None,
        error: HiveloreError | None,
    ) -> None:
        """Stores the end of a job. A cancelled preview stays cancelled; a completed applied run is done."""
        known = replace(tx.job(job.id) or job, done=progress.done, total=progress.total)
        if outcome is None:
            said = Clean(tracebacks.mask_text(str(error), self._redactor))
            self._finish(known, JobState.FAILED, said, tx)
        elif known.state is JobState.RUNNING or outcome.applied:
            tx.put_job(replace(known, state=JobState.DONE, done=known.total, error=None, updated_at=self._clock.now()))
            kept = _latest(tx)
            if kept.get("job") == job.id:
                _put_latest(tx, {**kept, "outcome": to_builtins(_without_names(outcome))})

    def _finish(self, seen: Job, state: JobState, error: Clean | None, tx: Transaction) -> Job:
        """Ends a running job; a job that has ended stays as it is."""
        known = tx.job(seen.id) or seen
        if known.state is not JobState.RUNNING:
            return known
        ended = replace(known, state=state, error=error, done=seen.done, total=seen.total, updated_at=self._clock.now())
        tx.put_job(ended)
        return ended

    def _mark_lost(self, tx: Transaction, job: JobId) -> Job:
        known = tx.job(job)
        assert known is not None
        return self._finish(known, JobState.FAILED, INTERRUPTED, tx)

    def _is_lost(self, running: Job) -> bool:
        """Returns True if no process works on a job that this one does not run."""
        return not self._store.is_shared or self._clock.now() - running.updated_at > LOST_AFTER

    def _running_here(self, job: JobId) -> _RunningJob | None:
        with self._lock:
            return self._running.get(job)


def _latest(view: View | Transaction) -> dict[str, Any]:
    return json.loads(view.setting(LATEST) or "{}")


def _put_latest(tx: Transaction, latest: dict[str, Any]) -> None:
    tx.set_setting(LATEST, json.dumps(latest))


def _without_names(outcome: MaintenanceResult) -> MaintenanceResult:
    return replace(
        outcome,
        examples=tuple(replace(one, name="") for one in outcome.examples),
        alike=tuple(replace(one, names=("", "")) for one in outcome.alike),
    )


def _with_current_names(view: View, outcome: MaintenanceResult) -> MaintenanceResult:
    """Adds the current names of memories and omits deleted memories."""

    def name(memory: MemoryId) -> str | None:
        found = view.get(memory)
        return None if found is None else found.memory.name

    examples = ((one, name(one.id)) for one in outcome.examples)
    alike = ((one, name(one.older), name(one.newer)) for one in outcome.alike)
    return replace(
        outcome,
        examples=tuple(replace(one, name=named) for one, named in examples if named is not None),
        alike=tuple(
            replace(one, names=(older, newer)) for one, older, newer in alike if older is not None and newer is not None
        ),
    )
