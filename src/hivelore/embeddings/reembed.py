"""Re-embedding on request (B20), as a job over the embedding queue.

The job only counts, and the queue consists of the passages, so a killed process resumes where it was. To re-embed
everything, passages are queued in batches, and the position is stored.
"""

from collections.abc import Callable
from datetime import datetime

from hivelore.core.agents import Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.values import replace
from hivelore.embeddings.active_model import ActiveModel
from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.errors import Conflict, Forbidden, NotFound
from hivelore.indexing.model import ModelKey
from hivelore.memories.stored import PassageKey
from hivelore.storage.ports import MemoryStore, Transaction

KIND = "re-embed"
QUEUEING = "reembed.queueing"
"""Setting with the last queued passage; absent or empty when all are queued."""
QUEUE_BATCH = 1_000
"""Passages queued or removed per transaction."""


class Reembedder:
    def __init__(
        self,
        store: MemoryStore,
        active_model: ActiveModel,
        embedding: EmbeddingQueue,
        clock: Clock,
        new_id: Callable[[datetime], JobId],
    ) -> None:
        self._store = store
        self._active_model = active_model
        self._embedding = embedding
        self._clock = clock
        self._new_id = new_id

    def begin(self, viewer: Viewer, *, everything: bool = False) -> Job:
        """Embeds passages without a vector of the wanted model, or everything again. A second call returns the running
        job.

        Existing vectors stay active until new ones exist. Failed passages are tried again at once.
        """
        _require_operator(viewer)
        model = self._active_model.wanted
        if model is None:
            raise Conflict("No embedding model is configured (HIVELORE_EMBEDDER=none).")
        provider = model.provider
        key = self._store.write(lambda tx: tx.register_model(provider.fingerprint, provider.dimension))
        job = self._store.write(lambda tx: self._find_running(tx, key))
        if job is None:
            while self._store.write(lambda tx: tx.retry_failed(key, QUEUE_BATCH)) == QUEUE_BATCH:
                pass
            job = self._store.write(lambda tx: self._find_running(tx, key) or self._start(tx, key, everything))
        if job.state is JobState.RUNNING:
            self.resume()
            job = self.status(job.id, viewer)
        self._embedding.wake()
        return job

    def _find_running(self, tx: Transaction, key: ModelKey) -> Job | None:
        """Returns the unfinished job. Marks finished ones as done."""
        running = _running_jobs(tx)
        if running and (tx.count_pending(key) or tx.setting(QUEUEING)):
            return running[0]
        now = self._clock.now()
        for over in running:
            tx.put_job(replace(over, done=over.total, state=JobState.DONE, updated_at=now))
        return None

    def _start(self, tx: Transaction, key: ModelKey, everything: bool) -> Job:
        now = self._clock.now()
        if everything:
            tx.cancel_requeue(key, QUEUE_BATCH)  # Failed passages are counted when they are queued again.
            tx.set_setting(QUEUEING, "0")
        total = tx.count_pending(key)
        state = JobState.RUNNING if total or everything else JobState.DONE
        job = Job(id=self._new_id(now), kind=KIND, state=state, created_at=now, updated_at=now, total=total)
        tx.put_job(job)
        return job

    def resume(self) -> None:
        """Queues the remaining passages of a complete re-embedding, also after a process was killed."""
        with self._store.read() as view:
            left = bool(view.setting(QUEUEING))
        while left:
            left = self._store.write(self._queue_some)

    def _queue_some(self, tx: Transaction) -> bool:
        """Returns True if there may be more."""
        running = next(iter(_running_jobs(tx)), None)
        after, key = tx.setting(QUEUEING), self._active_model.wanted_model(tx)
        if not after or running is None or key is None:
            tx.set_setting(QUEUEING, "")
            return False
        queued = tx.requeue(key, PassageKey(int(after)), QUEUE_BATCH)
        tx.set_setting(QUEUEING, str(queued[-1]) if len(queued) == QUEUE_BATCH else "")
        tx.put_job(replace(running, total=running.total + len(queued), updated_at=self._clock.now()))
        return len(queued) == QUEUE_BATCH

    def status(self, job: JobId, viewer: Viewer) -> Job:
        """Returns a job with its current progress."""
        _require_operator(viewer)
        with self._store.read() as view:
            found = view.job(job)
            key = self._active_model.wanted_model(view)
            pending = 0 if key is None else view.count_pending(key)
            queueing = bool(view.setting(QUEUEING))
        if found is None or found.kind != KIND:
            raise NotFound(f"No job {job!r}.")
        if found.state is not JobState.RUNNING:
            return found
        now = self._clock.now()
        done = max(found.total - pending, found.done)
        state = JobState.RUNNING if pending or queueing else JobState.DONE
        seen = replace(found, done=min(done, found.total), state=state, updated_at=now)
        if state is JobState.DONE:
            self._store.write(lambda tx: tx.put_job(seen))
        return seen

    def cancel(self, job: JobId, viewer: Viewer) -> Job:
        """Cancels a job. Passages that have a vector of this model leave the queue."""
        seen = self.status(job, viewer)
        if seen.state is not JobState.RUNNING:
            return seen
        cancelled = replace(seen, state=JobState.CANCELLED)
        with self._store.read() as view:
            key = self._active_model.wanted_model(view)

        def end_job(tx: Transaction) -> None:
            tx.set_setting(QUEUEING, "")
            tx.put_job(cancelled)

        self._store.write(end_job)
        while key is not None and self._store.write(lambda tx: _leave_queue(tx, key)):
            pass
        return cancelled


def _running_jobs(tx: Transaction) -> list[Job]:
    return [job for job in tx.jobs(KIND) if job.state is JobState.RUNNING]


def _leave_queue(tx: Transaction, key: ModelKey) -> bool:
    """Returns True if there may be more."""
    return tx.cancel_requeue(key, QUEUE_BATCH) == QUEUE_BATCH


def _require_operator(viewer: Viewer) -> None:
    if viewer.role is not Role.OPERATOR:
        raise Forbidden("Only an operator may re-embed. Use the operator's key.")
