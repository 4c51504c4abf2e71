"""Supervision of background workers: each runs in its own thread and is restarted after any error."""

import logging
import threading
from collections.abc import Callable

from hivelore.core import tracebacks
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.errors import HiveloreError, Unavailable
from hivelore.health.state import PASSING_PAUSE, HealthState, restart_pause

_LOG = logging.getLogger("hivelore")


def _here(work: Callable[[], None]) -> None:
    work()


class Supervisor:
    def __init__(
        self,
        health: HealthState,
        redactor: Redactor,
        clock: Clock,
        within: Callable[[Callable[[], None]], None] = _here,
    ) -> None:
        """``within`` runs the loop of a worker in its thread, for example with low priority."""
        self._health = health
        self._redactor = redactor
        self._clock = clock
        self._within = within
        self._rests: dict[str, float] = {}
        """By worker: the end of its pause after a failure, on the monotonic clock."""
        self._threads: list[threading.Thread] = []
        self.stop = threading.Event()
        """Set to end all workers."""

    def start(self, name: str, work: Callable[[], object], every: float = 0.0) -> None:
        """Runs ``work`` repeatedly until ``stop`` is set, with ``every`` seconds between runs. Work with its own loop
        returns only when ``stop`` is set, and calls ``report`` after each round."""

        def run() -> None:
            while not self.stop.is_set():
                self.attempt(name, work)
                self.stop.wait(max(every, self._rest(name)))

        self._health.worker_started(name)
        thread = threading.Thread(target=self._within, args=(run,), name=f"hivelore-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def attempt(self, name: str, work: Callable[[], object]) -> None:
        """Runs ``work`` once and reports the result, unless the worker pauses after a failure. Raises nothing."""
        if self._rest(name):
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 - It is logged, and the worker is restarted.
            self.report(name, error)
        else:
            if not self.stop.is_set():
                self.report(name, None)

    def report(self, name: str, error: Exception | None) -> None:
        """Records that a round of a worker succeeded (None) or failed."""
        if error is None:
            if self._health.worker_succeeded(name):
                _LOG.info("The background worker %s works again.", name, extra={"fields": {"worker": name}})
            return
        is_passing = isinstance(error, Unavailable)
        said = (
            tracebacks.mask_text(str(error), self._redactor)
            if isinstance(error, HiveloreError)
            else type(error).__name__
        )
        failures = self._health.worker_failed(name, said, unexpected=not is_passing)
        rest = PASSING_PAUSE if is_passing else restart_pause(failures)
        self._rests[name] = self._clock.monotonic() + rest
        if isinstance(error, HiveloreError):
            if failures == 1:
                _LOG.warning("The background worker %s failed and goes on trying. %s", name, said)
        else:
            story = tracebacks.masked_traceback(error, self._redactor)
            _LOG.error("The background worker %s failed and is restarted in %.0f s.\n%s", name, rest, story)

    def wait(self) -> None:
        """Waits until all workers have ended."""
        for thread in self._threads:
            thread.join()

    def _rest(self, name: str) -> float:
        """Returns the seconds that a worker still pauses."""
        return max(self._rests.get(name, 0.0) - self._clock.monotonic(), 0.0)


Report = Callable[[Exception | None], object]
"""Takes None after a successful round, else the error."""


def ignore_report(_: Exception | None) -> None:
    """Discards the report."""
