"""The health monitor with a full, replaced or damaged database."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hivelore.errors import Broken, Unavailable
from hivelore.health.model import Cause
from hivelore.health.monitor import Monitor
from hivelore.health.state import HealthState
from hivelore.storage.refusals import database_replaced
from support.clocks import SteppingClock


class Small:
    """Takes what fits into its room."""

    def __init__(self, health: HealthState) -> None:
        self.room = 100
        self._health = health

    def verify(self) -> None: ...

    def write(self, work: Callable[[Any], object]) -> object:
        def lease(name: str, holder: str, *_: object) -> bool:
            if len(holder) > self.room:
                raise Unavailable("The disk is full.", cause=Cause.DISK_FULL)
            return True

        try:
            answer = work(SimpleNamespace(acquire_lease=lease))
        except Unavailable as error:
            self._health.store_failed(error, writing=True)
            raise
        self._health.write_done()
        return answer


@pytest.fixture
def health() -> HealthState:
    return HealthState(SteppingClock())


def monitor(store: object, health: HealthState) -> Monitor:
    return Monitor(cast(Any, store), cast(Any, SimpleNamespace()), health, SteppingClock(), "holder")


def test_a_small_write_does_not_end_a_full_disk(health: HealthState) -> None:
    store = Small(health)
    looking = monitor(store, health)
    with suppress(Unavailable):
        store.write(lambda tx: tx.acquire_lease("large", "x" * 1_000))
    store.write(lambda tx: tx.acquire_lease("small", "x"))
    for _ in range(3):
        looking.look()
        assert health.has_failure(Cause.DISK_FULL)
    store.room = 10_000_000
    looking.look()
    assert not health.has_failure(Cause.DISK_FULL)


def test_a_replaced_database_is_logged_once_and_is_lasting(
    health: HealthState, caplog: pytest.LogCaptureFixture
) -> None:
    health.store_failed(database_replaced(), writing=True)
    assert [one.lasting for one in health.health().problems] == [True]
    health.announce()
    assert caplog.text.count("was removed, replaced or restored") == 1


def test_a_database_without_our_tables_counts_as_replaced(health: HealthState) -> None:
    def verify() -> None:
        raise Broken("no such table: meta")

    monitor(SimpleNamespace(verify=verify), health).look()
    (problem,) = health.health().problems
    assert (problem.cause, problem.detail) == (Cause.REPLACED, "no such table: meta")


def test_damage_is_checked_again_soon_and_then_less_often() -> None:
    clock = SteppingClock()
    health = HealthState(clock)
    found, looked = ["page 7 is damaged"], list[float]()

    def check() -> list[str]:
        looked.append(clock.monotonic())
        return found

    looking = Monitor(cast(Any, SimpleNamespace(check=check)), cast(Any, None), health, clock, "holder")
    health.report(Cause.DAMAGED, "a page")
    for _ in range(700):
        looking.examine()
        clock.advance(timedelta(seconds=1))
    assert [round(later - before) for before, later in pairwise(looked)] == [5, 10, 20, 40, 80, 160, 300]
    found.clear()  # The disk had failed for a while.
    clock.advance(timedelta(seconds=300))
    looking.examine()
    assert not health.has_failure(Cause.DAMAGED)
