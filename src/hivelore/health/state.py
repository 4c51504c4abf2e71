"""The state of health: confirms failures as problems, and keeps records of background workers."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from hivelore.core.clock import Clock
from hivelore.core.values import replace
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.health.model import EXPLANATIONS, Cause, Health, HealthProblem, Worker

CONFIRMED = 0.5
"""Seconds after which a failure that occurs again, without a success in between, is a problem."""
LASTING = 30.0
"""Seconds after which a problem counts as lasting."""
STUCK = 3
"""Unexpected failures in a row after which a background worker is a problem."""
PASSING_PAUSE = 0.5
"""Seconds until work is tried again after something that it depends on was missing."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


def is_confirmed(began: float, last: float) -> bool:
    """Returns True if a failure is a problem. ``began``, ``last``: its first and last time since the last success."""
    return last - began >= CONFIRMED


def is_lasting(began: float, now: float) -> bool:
    return now - began >= LASTING


def is_stuck(unexpected: int) -> bool:
    """``unexpected``: unexpected failures of a worker in a row."""
    return unexpected >= STUCK


def restart_pause(failures: int) -> float:
    """Returns the seconds until a worker is restarted, after this number of unexpected failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 16), LONGEST_PAUSE)


T = TypeVar("T")

_LOG = logging.getLogger("hivelore")
_BY_A_READ = frozenset({Cause.READS, Cause.SERVER})
_BY_A_WRITE = frozenset({Cause.WRITES, *_BY_A_READ})
"""Causes that end when a read or a write succeeds. A full disk is not one of them, because it may have room for a small
write."""


@dataclass(slots=True)
class _Failure:
    """A failure that has not ended. ``began`` and ``last`` are on the monotonic clock."""

    began: float
    last: float
    detail: str
    is_reported: bool
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class _Work:
    worker: Worker
    unexpected: int = 0
    began: float = 0.0
    """Time of the first failure in a row."""


class HealthState:
    """Implements ``storage.ports.StoreWatch``. Safe in any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[Cause, _Failure] = {}
        self._work: dict[str, _Work] = {}
        self._counts: Counter[Cause] = Counter()
        self._announced: frozenset[Cause] = frozenset()
        self.last_read = self.last_write = clock.monotonic()
        """Time of the last successful read and write, on the monotonic clock."""

    def read_done(self) -> None:
        self.last_read = self._clock.monotonic()
        self._end(_BY_A_READ)

    def write_done(self) -> None:
        self.last_write = self._clock.monotonic()
        self._end(_BY_A_WRITE)

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        """Notes an error of a store. An error without a cause is the caller's mistake and is ignored."""
        named = error.cause if isinstance(error, Unavailable | Broken) else None
        if named is None:
            return
        cause = Cause.READS if named == Cause.WRITES and not writing else Cause(named)
        is_other = cause is Cause.REPLACED  # Waiting never helps.
        self._note(cause, str(error), is_reported=is_other or cause is Cause.DAMAGED, lasting=is_other)

    def report(self, cause: Cause, detail: str, *, lasting: bool = False) -> None:
        """Reports a problem. ``detail`` is shown to callers with a key and must not contain secrets or contents.
        Reporting the same cause again only changes the detail."""
        self._note(cause, detail, is_reported=True, lasting=lasting)

    def clear(self, *causes: Cause) -> None:
        """Ends the failures with these causes, if there are any."""
        self._end(causes)

    def has_failure(self, *causes: Cause) -> bool:
        """Returns True if there is a failure with one of these causes, confirmed as a problem or not."""
        return any(cause in self._failures for cause in causes)

    def worker_started(self, name: str) -> None:
        """Adds a record for a worker that may not have finished a run yet."""
        with self._lock:
            self._work.setdefault(name, self._of(name))

    def worker_succeeded(self, name: str) -> bool:
        """Returns True if its previous run failed."""
        with self._lock:
            work = self._of(name)
            worker = replace(work.worker, last_success=self._clock.now(), failures_in_a_row=0, error=None)
            self._work[name] = _Work(worker)
        return work.worker.failures_in_a_row > 0

    def worker_failed(self, name: str, error: str, *, unexpected: bool) -> int:
        """Returns the number of failures in a row. ``unexpected``: False if something that the worker depends on was
        missing, which is reported as another problem."""
        with self._lock:
            work = self._of(name)
            known = work.worker
            self._work[name] = _Work(
                replace(
                    known,
                    last_failure=self._clock.now(),
                    failures_in_a_row=known.failures_in_a_row + 1,
                    failures=known.failures + 1,
                    error=error,
                ),
                work.unexpected + 1 if unexpected else 0,
                work.began if known.failures_in_a_row else self._clock.monotonic(),
            )
        return known.failures_in_a_row + 1

    @property
    def counts(self) -> Mapping[Cause, int]:
        """Number of failures per cause since the start, including temporary ones."""
        with self._lock:
            return dict(self._counts)

    def failing(self) -> Sequence[HealthProblem]:
        """Returns all failures, confirmed as problems or not, without those of workers."""
        now, at = self._clock.monotonic(), self._clock.now()
        with self._lock:
            return [_problem(cause, one, now, at) for cause, one in self._failures.items()]

    def health(self) -> Health:
        """Returns the confirmed problems and the records of all workers."""
        now, at = self._clock.monotonic(), self._clock.now()
        with self._lock:
            failures = {
                cause: one
                for cause, one in self._failures.items()
                if one.is_reported or is_confirmed(one.began, one.last)
            }
            stuck = [work for work in self._work.values() if is_stuck(work.unexpected)]
            workers = tuple(work.worker for work in self._work.values())
        if stuck:
            said = "; ".join(f"{work.worker.name}: {work.worker.error}" for work in stuck)
            failures[Cause.WORKER] = _Failure(min(work.began for work in stuck), now, said, is_reported=True)
        problems = [_problem(cause, one, now, at) for cause, one in failures.items()]
        return Health(tuple(sorted(problems, key=lambda one: one.since)), workers)

    def try_read(self, look: Callable[[], T]) -> T | None:
        """Returns what ``look`` reads from the database; None if it fails or if the database server does not answer."""
        try:
            return None if self.has_failure(Cause.SERVER) else look()
        except HiveloreError:
            return None

    def announce(self) -> None:
        """Logs the problems that began or ended since the last call."""
        problems = {problem.cause: problem for problem in self.health().problems}
        for cause in problems.keys() - self._announced:
            what, detail = EXPLANATIONS[cause], problems[cause].detail
            more = "" if detail.startswith(what.what) else f" ({detail})"
            _LOG.warning("%s %s%s", what.what, what.remedy, more)
        for cause in self._announced - problems.keys():
            _LOG.warning("Problem ended: %s", EXPLANATIONS[cause].what)
        self._announced = frozenset(problems)

    def _of(self, name: str) -> _Work:
        return self._work.get(name) or _Work(Worker(name=name))

    def _note(self, cause: Cause, detail: str, *, is_reported: bool, lasting: bool = False) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._counts[cause] += 1
            known = self._failures.get(cause)
            if known is None:
                self._failures[cause] = _Failure(now, now, detail, is_reported, lasting)
                return
            known.last, known.detail = now, detail
            known.is_reported |= is_reported
            known.is_lasting |= lasting

    def _end(self, causes: Iterable[Cause]) -> None:
        if self._failures:  # Rarely true, and called for each read and write.
            with self._lock:
                for cause in causes:
                    self._failures.pop(cause, None)


def _problem(cause: Cause, one: _Failure, now: float, at: datetime) -> HealthProblem:
    since = at - timedelta(seconds=now - one.began)
    return HealthProblem(
        cause=cause,
        message=EXPLANATIONS[cause].what,
        remedy=EXPLANATIONS[cause].remedy,
        since=since,
        lasting=one.is_lasting or is_lasting(one.began, now),
        detail=one.detail,
    )
