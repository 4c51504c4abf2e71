"""Clocks that tests set by hand."""

from datetime import UTC, datetime, timedelta
from threading import Lock

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FixedClock:
    """Clock that always shows the same instant."""

    def __init__(self, now: datetime = START, monotonic: float = 1_000.0) -> None:
        self._now = now
        self._monotonic = monotonic

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic


class SteppingClock:
    """Clock that moves by ``step`` at each reading of ``now``; ``advance`` moves it by hand.
    Both readings move together; reading ``monotonic`` moves neither."""

    def __init__(self, now: datetime = START, step: timedelta = timedelta(), monotonic: float = 1_000.0) -> None:
        self._start = now
        self._step = step
        self._monotonic = monotonic
        self._passed = timedelta()
        self._lock = Lock()

    def now(self) -> datetime:
        with self._lock:
            now = self._start + self._passed
            self._passed += self._step
            return now

    def monotonic(self) -> float:
        with self._lock:
            return self._monotonic + self._passed.total_seconds()

    def advance(self, by: timedelta) -> None:
        with self._lock:
            self._passed += by
