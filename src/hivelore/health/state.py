"""When a failure counts: passing errors, lasting ones, and how long a background worker rests after a failure."""

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
"""Seconds after which a failure that was met again, with no success between, is a problem: one that passes is not."""
LASTING = 30.0
"""Seconds after which a problem does not go away by waiting."""
STUCK = 3
"""Unexpected failures in a row after which a background worker is a problem of the service."""
PASSING_PAUSE = 0.5
"""Seconds before work is tried again that lacked something it depends on."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


def is_confirmed(began: float, last: float) -> bool:
    """``began`` and ``last``: the first and the last failure since the last success, in seconds."""
    return last - began >= CONFIRMED


def is_lasting(began: float, now: float) -> bool:
    return now - began >= LASTING


def is_stuck(unexpected: int) -> bool:
    """``unexpected``: how many times in a row a worker ended with an error that nobody foresaw."""
    return unexpected >= STUCK


def restart_pause(failures: int) -> float:
    """Seconds before a worker is restarted that has failed unexpectedly so often in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 16), LONGEST_PAUSE)


T = TypeVar("T")

_LOG = logging.getLogger("hivelore")
_BY_A_READ = frozenset({Cause.READS, Cause.SERVER})
_BY_A_WRITE = frozenset({Cause.WRITES, *_BY_A_READ})
"""What is over once a read or a write has succeeded. A full disk may have room for a small write: a larger one is tried
before that is over."""


@dataclass(slots=True)
class _Standing:
    """``began`` and ``last`` are on the monotonic clock."""

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
    """When the first of the failures in a row was met."""


class HealthState:
    """Implements ``storage.ports.StoreWatch``. For any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._standing: dict[Cause, _Standing] = {}
        self._work: dict[str, _Work] = {}
        self._counts: Counter[Cause] = Counter()
        self._announced: frozenset[Cause] = frozenset()
        self.last_read = self.last_write = clock.monotonic()
        """When a read or write succeeded last, on the monotonic clock."""

    def read_done(self) -> None:
        self.last_read = self._clock.monotonic()
        self._end(_BY_A_READ)

    def write_done(self) -> None:
        self.last_write = self._clock.monotonic()
        self._end(_BY_A_WRITE)

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        """Note an error that a store has raised; one without a cause is of the caller's own making."""
        named = error.cause if isinstance(error, Unavailable | Broken) else None
        if named is None:
            return
        cause = Cause.READS if named == Cause.WRITES and not writing else Cause(named)
        is_other = cause is Cause.REPLACED  # Which waiting never helps against.
        self._note(cause, str(error), is_reported=is_other or cause is Cause.DAMAGED, lasting=is_other)

    def report(self, cause: Cause, detail: str, *, lasting: bool = False) -> None:
        """Something does not work. ``detail`` is shown to callers with a key: no secrets, no contents. Reporting the
        same cause again only changes the detail."""
        self._note(cause, detail, is_reported=True, lasting=lasting)

    def clear(self, *causes: Cause) -> None:
        """It works again; also where it always did."""
        self._end(causes)

    def has_failure(self, *causes: Cause) -> bool:
        """Whether one of these failed last, be it confirmed as a problem or not."""
        return any(cause in self._standing for cause in causes)

    def worker_started(self, name: str) -> None:
        """There is one of this name, which may not have come to anything yet."""
        with self._lock:
            self._work.setdefault(name, self._of(name))

    def worker_succeeded(self, name: str) -> bool:
        """Answers whether it had failed before."""
        with self._lock:
            work = self._of(name)
            worker = replace(work.worker, last_success=self._clock.now(), failures_in_a_row=0, error=None)
            self._work[name] = _Work(worker)
        return work.worker.failures_in_a_row > 0

    def worker_failed(self, name: str, error: str, *, unexpected: bool) -> int:
        """Answers how many failures there were in a row. ``unexpected``: not for want of something that a worker
        depends on, which is a problem by itself if it is one."""
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
        """How many failures of each cause there were since the start, passing ones included."""
        with self._lock:
            return dict(self._counts)

    def failing(self) -> Sequence[HealthProblem]:
        """What failed last of all, be it confirmed or not; workers apart."""
        now, at = self._clock.monotonic(), self._clock.now()
        with self._lock:
            return [_problem(cause, one, now, at) for cause, one in self._standing.items()]

    def health(self) -> Health:
        """The state now."""
        now, at = self._clock.monotonic(), self._clock.now()
        with self._lock:
            standing = {
                cause: one
                for cause, one in self._standing.items()
                if one.is_reported or is_confirmed(one.began, one.last)
            }
            stuck = [work for work in self._work.values() if is_stuck(work.unexpected)]
            workers = tuple(work.worker for work in self._work.values())
        if stuck:
            said = "; ".join(f"{work.worker.name}: {work.worker.error}" for work in stuck)
            standing[Cause.WORKER] = _Standing(min(work.began for work in stuck), now, said, is_reported=True)
        problems = [_problem(cause, one, now, at) for cause, one in standing.items()]
        return Health(tuple(sorted(problems, key=lambda one: one.since)), workers)

    def told(self, look: Callable[[], T]) -> T | None:
        """What a look into the database tells; None where that fails, or nobody is to wait for its server."""
        try:
            return None if self.has_failure(Cause.SERVER) else look()
        except HiveloreError:
            return None

    def announce(self) -> None:
        """Write into the log which problems began and which are over since the last call."""
        problems = {problem.cause: problem for problem in self.health().problems}
        for cause in problems.keys() - self._announced:
            what, detail = EXPLANATIONS[cause], problems[cause].detail
            more = "" if detail.startswith(what.what) else f" ({detail})"
            _LOG.warning("%s %s%s", what.what, what.remedy, more)
        for cause in self._announced - problems.keys():
            _LOG.warning("Over by now: %s", EXPLANATIONS[cause].what)
        self._announced = frozenset(problems)

    def _of(self, name: str) -> _Work:
        return self._work.get(name) or _Work(Worker(name=name))

    def _note(self, cause: Cause, detail: str, *, is_reported: bool, lasting: bool = False) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._counts[cause] += 1
            known = self._standing.get(cause)
            if known is None:
                self._standing[cause] = _Standing(now, now, detail, is_reported, lasting)
                return
            known.last, known.detail = now, detail
            known.is_reported |= is_reported
            known.is_lasting |= lasting

    def _end(self, causes: Iterable[Cause]) -> None:
        if self._standing:  # Hardly ever: this is called at each read and write.
            with self._lock:
                for cause in causes:
                    self._standing.pop(cause, None)


def _problem(cause: Cause, one: _Standing, now: float, at: datetime) -> HealthProblem:
    since = at - timedelta(seconds=now - one.began)
    return HealthProblem(
        cause=cause,
        message=EXPLANATIONS[cause].what,
        remedy=EXPLANATIONS[cause].remedy,
        since=since,
        lasting=one.is_lasting or is_lasting(one.began, now),
        detail=one.detail,
    )
