"""Background workers of an application; each runs in a supervised thread with low priority."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from hivelore.core.supervisor import Supervisor
from hivelore.errors import HiveloreError, Unavailable
from hivelore.runtime import engines
from hivelore.runtime.background import give_back_memory, niced

if TYPE_CHECKING:
    from hivelore.runtime.app import Application

TEND_EVERY = 1.0
MONITOR_EVERY = 1.0
MAINTAIN_EVERY = 60.0
IDLE_POLL = 5.0
"""Seconds after which workers look for work that was not announced."""
EXPIRE_EVERY = 15.0
"""Seconds after which tasks are failed whose last lease ended, so that leads learn of it though nobody claims tasks.
Every process does so, because it thereby also notices its own outages (``tasks.service.OUTAGE``)."""
RELEASE_EVERY = 300.0
"""A model that was not used for so many seconds leaves the memory. It takes 100 MB, and is loaded in 0.2 s."""
_LOG = logging.getLogger("hivelore")


class BackgroundWorkers:
    def __init__(self, app: Application) -> None:
        self._app = app
        self._workers = Supervisor(app.health, app.redactor, app.clock, niced)
        self._is_loaded = self._is_memory_returned = False
        self._next_review = self._next_release = self._next_expiry = 0.0

    def start(self) -> None:
        """Start the workers that the settings need."""
        app, workers = self._app, self._workers
        stop = workers.stop
        workers.start("health-monitor", app.monitor.look, MONITOR_EVERY)
        workers.start("damage-check", app.monitor.examine, MONITOR_EVERY)
        if app.active_model.wanted is not None:
            workers.start("embedding-queue", self._embed)
        workers.start("schedule", self._tend, TEND_EVERY)
        report = partial(workers.report, "session-summaries")
        workers.start("session-summaries", lambda: app.session_summaries.run(stop, IDLE_POLL, report))
        workers.start("spool-delivery", lambda: app.spool_drain.deliver(stop.is_set), TEND_EVERY)
        if (judging := app.adjudicator) is not None:
            asked = partial(workers.report, "judge")
            workers.start("judge", lambda: judging.run(stop, IDLE_POLL, asked))
        linked = partial(workers.report, "linking")
        workers.start("linking", lambda: app.linker.run(stop, IDLE_POLL, linked))
        judged = partial(workers.report, "rejudging")
        workers.start("rejudging", lambda: app.rejudger.run(stop, IDLE_POLL, judged))
        if (folders := app.folders) is not None:
            looked = partial(workers.report, "folders")
            workers.start("folders", lambda: folders.run(stop, looked))
        if app.settings.postgres_url is not None:
            workers.start(
                "vector-compaction", lambda: app.active_model.compact_indexes(app.store, stop.is_set), MAINTAIN_EVERY
            )
            workers.start("notifier", app.notifier.run)

    @property
    def is_ending(self) -> bool:
        return self._workers.stop.is_set()

    def end(self) -> None:
        """Ask all workers to end."""
        self._workers.stop.set()
        self._app.embedding.wake()
        self._app.session_summaries.wake()

    def wait(self) -> None:
        """Wait until all workers have ended."""
        self._workers.wait()

    def _embed(self) -> None:
        with suppress(Unavailable):  # For example a full disk: the next start or request continues.
            self._app.reembedder.resume()
        self._app.embedding.run(self._workers.stop, IDLE_POLL, partial(self._workers.report, "embedding-queue"))

    def _tend(self) -> None:
        """Run the work of each second. A task that fails does not stop the others.

        Keywords are loaded first, so that searches can use them while vectors are loaded.
        """
        app, attempt, stopping = self._app, self._workers.attempt, self._workers.stop.is_set
        if not self._is_loaded:
            self._is_loaded = True
            with suppress(HiveloreError), app.store.read() as view:  # A search reports the error.
                app.keywords.load(view)
        attempt("vectors", lambda: app.active_model.update_indexes(app.store))
        if not self._is_memory_returned:
            self._is_memory_returned = True
            self._load_relevance_model()
            give_back_memory()  # Loading needs more memory than its result.
        attempt("write-buffer", app.write_buffer.flush)
        attempt("session-buffer", app.session_buffer.flush)
        attempt("keyword-index", lambda: self._index(stopping))
        attempt("updates", self._review_updates)
        attempt("model-memory", self._release_models)
        attempt("tasks", self._fail_exhausted)
        attempt("env-files", lambda: app.env_reconciler.run_step(stopping))
        attempt("housekeeping", lambda: app.housekeeping.run_step(stopping) if app.leader_lease.is_leader() else None)

    def _load_relevance_model(self) -> None:
        """Let the model read once, so that the first prompt does not wait until it is loaded."""
        reader = self._app.relevance_reader
        if reader is not None and (outage := engines.try_relevance_reader(reader)) is not None:
            _LOG.warning("Searches and prompts go without the relevance model. %s.", outage)

    def _release_models(self) -> None:
        now = self._app.clock.monotonic()
        if now >= self._next_release:
            self._next_release = now + RELEASE_EVERY
            if self._app.comparer.release_unused():
                give_back_memory()

    def _review_updates(self) -> None:
        now = self._app.clock.monotonic()
        if now >= self._next_review and self._app.leader_lease.is_leader():
            self._next_review = now + MAINTAIN_EVERY
            self._app.update_review.step()

    def _fail_exhausted(self) -> None:
        now = self._app.clock.monotonic()
        if now >= self._next_expiry:
            self._next_expiry = now + EXPIRE_EVERY
            self._app.tasks.fail_exhausted()

    def _index(self, stopping: Callable[[], bool]) -> None:
        if self._app.leader_lease.is_leader():
            self._app.index_rebuild.run_step(stopping)
        else:
            self._app.index_rebuild.refresh()
