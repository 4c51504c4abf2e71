"""Embedding again on request (B20): a job over the queue that is worked off anyway.

The job only counts; the queue is the passages themselves, so a killed process goes on where it was.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from hivelore.domain.agent import Role, Viewer
from hivelore.domain.index import ModelKey
from hivelore.domain.job import Job, JobId, JobState
from hivelore.errors import Conflict, Forbidden, NotFound
from hivelore.ports import Clock, MemoryStore, Transaction
from hivelore.services.embedding import Embedding, Serving

KIND = "re-embed"


class Reembedding:
    def __init__(
        self,
        store: MemoryStore,
        serving: Serving,
        embedding: Embedding,
        clock: Clock,
        new_id: Callable[[datetime], JobId],
    ) -> None:
        self._store = store
        self._serving = serving
        self._embedding = embedding
        self._clock = clock
        self._new_id = new_id

    def begin(self, viewer: Viewer, *, everything: bool = False) -> Job:
        """Embed what lacks a vector of the wanted model, or everything anew. A second call joins the first.

        Old vectors serve until the new ones are there. What had failed for good is tried again.
        """
        _operator_only(viewer)
        model = self._serving.wanted
        if model is None:
            raise Conflict("No embedding model is configured (HIVELORE_EMBEDDER=none).")
        provider, now = model.provider, self._clock.now()

        def work(tx: Transaction) -> Job:
            running = [job for job in tx.jobs(KIND) if job.state is JobState.RUNNING]
            if running:
                return running[0]
            key = tx.register_model(provider.fingerprint, provider.dimension)
            tx.retry_failed(key)
            if everything:
                tx.queue_again(key)
            total = tx.pending(key)
            state = JobState.RUNNING if total else JobState.DONE
            job = Job(id=self._new_id(now), kind=KIND, state=state, created_at=now, updated_at=now, total=total)
            tx.put_job(job)
            return job

        job = self._store.write(work)
        self._embedding.wake()
        return job

    def look(self, job: JobId, viewer: Viewer) -> Job:
        """A job with its progress as of now."""
        _operator_only(viewer)
        with self._store.read() as view:
            found = view.job(job)
            key = self._serving.wanted_model(view)
            pending = 0 if key is None else view.pending(key)
        if found is None:
            raise NotFound(f"No job {job}.")
        if found.state is not JobState.RUNNING:
            return found
        now = self._clock.now()
        done = max(found.total - pending, found.done)
        state = JobState.RUNNING if pending else JobState.DONE
        seen = replace(found, done=min(done, found.total), state=state, updated_at=now)
        if state is JobState.DONE:
            self._store.write(lambda tx: tx.put_job(seen))
        return seen

    def cancel(self, job: JobId, viewer: Viewer) -> Job:
        """Stop a job: passages that still have a vector of this model leave the queue."""
        seen = self.look(job, viewer)
        if seen.state is not JobState.RUNNING:
            return seen
        cancelled = replace(seen, state=JobState.CANCELLED)
        with self._store.read() as view:
            key = self._serving.wanted_model(view)

        def work(tx: Transaction) -> None:
            _leave(tx, key)
            tx.put_job(cancelled)

        self._store.write(work)
        return cancelled


def _leave(tx: Transaction, key: ModelKey | None) -> None:
    if key is not None:
        tx.leave_queue(key)


def _operator_only(viewer: Viewer) -> None:
    if viewer.role is not Role.OPERATOR:
        raise Forbidden("Only an operator may re-embed. Use the operator's key.")
