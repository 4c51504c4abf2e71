"""What runs beside the calls of an application, each in a thread of its own and with a low priority."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from hivelore.adapters.background import give_back_memory, niced
from hivelore.errors import HiveloreError, Unavailable

if TYPE_CHECKING:
    from hivelore.app import Application

_LOG = logging.getLogger("hivelore")
TEND_EVERY = 1.0
SETTLE_EVERY = 60.0
IDLE_LOOK = 5.0
"""Seconds after which the embedder, and who distils, look for work that nobody announced."""


class Beside:
    def __init__(self, app: Application) -> None:
        self._app = app
        self._stop, self._threads = threading.Event(), list[threading.Thread]()

    def start(self) -> None:
        """Embedding, writing what was counted, distilling, taking in what hooks left, and what else an application
        is set to do."""
        app = self._app
        if app.serving.wanted is not None:
            self._begin("hivelore-embedding", self._embed)
        self._begin("hivelore-tending", self._tend)
        self._begin("hivelore-distilling", lambda: app.distilling.run(self._stop, IDLE_LOOK))
        self._begin("hivelore-draining", self._drain)
        if (judging := app.adjudicating) is not None:
            self._begin("hivelore-adjudicating", lambda: judging.run(self._stop, IDLE_LOOK))
        if (folders := app.folders) is not None:
            self._begin("hivelore-folders", lambda: folders.run(self._stop))
        if app.settings.postgres_url is not None:
            self._begin("hivelore-settling", self._settle)

    @property
    def is_ending(self) -> bool:
        return self._stop.is_set()

    def end(self) -> None:
        """Ask all of them to end."""
        self._stop.set()
        self._app.embedding.wake()
        self._app.distilling.wake()

    def wait(self) -> None:
        """Until they have."""
        for thread in self._threads:
            thread.join()

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=niced, args=(work,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _embed(self) -> None:
        with suppress(Unavailable):  # The disk is full, say: the next start, or whoever asks again, goes on.
            self._app.reembedding.go_on()
        self._app.embedding.run(self._stop, IDLE_LOOK)

    def _settle(self) -> None:
        """What may take hours: an index over very many vectors."""
        while not self._stop.is_set():
            try:
                self._app.serving.settle(self._app.store, self._stop.is_set)
            except HiveloreError as error:  # Until it is made, vectors are found without it.
                _LOG.warning("An index over the vectors could not be made. %s", error)
            self._stop.wait(SETTLE_EVERY)

    def _drain(self) -> None:
        while not self._stop.is_set():
            with suppress(Unavailable):  # What cannot be kept now waits on.
                self._app.draining.drain(self._stop.is_set)
            self._stop.wait(TEND_EVERY)

    def _tend(self) -> None:
        """What has to be done about once a second. The words come first, so that questions are answered by them while
        the vectors are read."""
        app = self._app
        with suppress(HiveloreError), app.store.read() as view:  # A question would be told of it.
            app.keywords.load(view)
        is_read = False
        while not self._stop.is_set():
            # The disk is full, say: what was not written is kept for the next time.
            with suppress(Unavailable):
                app.serving.look_after(app.store)
                if not is_read:
                    is_read = True
                    give_back_memory()  # Reading words and vectors takes more than they do.
                app.tally.flush()
                if app.leading.leads():
                    app.reindexing.go_on(self._stop.is_set)
                    app.upkeep.tend(self._stop.is_set)
                else:
                    app.reindexing.look()
            self._stop.wait(TEND_EVERY)
