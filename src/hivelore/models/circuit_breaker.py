"""A circuit breaker for a server that somebody waits for: when it is asked, when it is only probed, and how long a
caller waits.

Instants are seconds of a clock that only goes forward.
"""

from dataclasses import dataclass
from enum import Enum

from hivelore.core.values import replace

FAILURES = 2
"""So many in a row, and the server is not waited for any more."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two probes; they double from the first to the longest."""
PROBE_PATIENCE = 0.1
"""Seconds that the caller whose question is the probe waits for it."""
FIRST_WAITERS = 2
"""So many calls may wait for as long as the server has time to answer, ..."""
SILENCE = 1.0
"""... the others until it has answered nobody for so many seconds."""


class Verdict(Enum):
    ASK = "ask"
    PROBE = "probe"
    """Ask, and wait for the answer for a moment only."""
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    failures: int = 0
    """Since the last answer."""
    answered_at: float = 0.0
    opened_at: float = 0.0
    probe_at: float = 0.0
    """No probe before this. Both mean something only while it is open."""

    @property
    def is_open(self) -> bool:
        return self.failures >= FAILURES


def verdict(breaker: CircuitBreaker, now: float) -> Verdict:
    """What becomes of a call that comes now."""
    if not breaker.is_open:
        return Verdict.ASK
    return Verdict.PROBE if now >= breaker.probe_at else Verdict.REFUSE


def probed(breaker: CircuitBreaker, now: float) -> CircuitBreaker:
    """The state after a probe was begun: the next one has to wait."""
    return replace(breaker, probe_at=now + pause(breaker.failures))


def answered(now: float) -> CircuitBreaker:
    """The state after the server answered anybody."""
    return CircuitBreaker(answered_at=now)


def failed(breaker: CircuitBreaker, began: float, now: float) -> CircuitBreaker:
    """The state after a call failed that began then. Calls that were under way at the last answer, or when the breaker
    opened, tell nothing new."""
    if began < breaker.answered_at or (breaker.is_open and began < breaker.opened_at):
        return breaker
    failures = breaker.failures + 1
    opened_at = breaker.opened_at if breaker.is_open else now
    return replace(breaker, failures=failures, opened_at=opened_at, probe_at=now + pause(failures))


def pause(failures: int) -> float:
    """Seconds until the next probe after so many failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - FAILURES, 0), 30), LONGEST_PAUSE)


def patience(now: float, *, earlier: int, silent_since: float) -> float | None:
    """Seconds that a call still waits, 0 or less: no longer; None: until the server had its time.

    ``earlier``: how many calls that are under way began before it. ``silent_since``: when the server last answered
    anybody, or the oldest call under way began, whichever is later."""
    return None if earlier < FIRST_WAITERS else silent_since + SILENCE - now
