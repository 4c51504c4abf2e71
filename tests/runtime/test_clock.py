"""The clock of this machine: UTC, and never backwards."""

from datetime import UTC, datetime

from hivelore.runtime.clock import SystemClock


def test_now_is_between_before_and_after_and_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC


def test_monotonic_seconds_never_go_back() -> None:
    clock = SystemClock()
    readings = [clock.monotonic() for _ in range(100)]
    assert readings == sorted(readings)
