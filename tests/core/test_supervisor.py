"""Supervision: background workers are restarted after any error, and their state is recorded."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from threading import Event

import pytest

from hivelore.core import supervisor as module
from hivelore.core.redaction import Redactor
from hivelore.core.supervisor import Supervisor
from hivelore.errors import Unavailable
from hivelore.health.model import Cause, Worker
from hivelore.health.state import LONGEST_PAUSE, STUCK, HealthState
from support.clocks import START, SteppingClock
from support.fake_secrets import STRONG
from support.waiting import until


class Some:
    """Workers with a manual clock."""

    def __init__(self) -> None:
        self.clock = SteppingClock()
        self.health = HealthState(self.clock)
        self.workers = Supervisor(self.health, Redactor(b"k" * 16), self.clock)

    def pass_time(self, seconds: float = LONGEST_PAUSE) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @property
    def record(self) -> Worker:
        (record,) = self.health.health().workers
        return record


@pytest.fixture
def some() -> Iterator[Some]:
    some = Some()
    yield some
    some.workers.stop.set()
    some.workers.wait()


def fails(error: Exception) -> None:
    raise error


def at_once(_: int) -> float:
    return 0.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PASSING_PAUSE", 0.0)
    monkeypatch.setattr(module, "restart_pause", at_once)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("error", [TypeError("len() of None"), OSError(5, "EIO"), Unavailable("The disk is full.")])
def test_a_worker_continues_after_any_error(some: Some, error: Exception) -> None:
    rounds: list[int] = []
    done = Event()

    def work() -> None:
        rounds.append(1)
        if len(rounds) < 4:
            raise error
        done.set()

    some.workers.start("tending", work, every=0.001)
    assert done.wait(10)
    until(lambda: some.record.last_success is not None)
    assert (some.record.failures_in_a_row, some.record.failures, some.record.error) == (0, 3, None)


@pytest.mark.usefixtures("quick")
def test_a_worker_with_its_own_loop_is_restarted(some: Some) -> None:
    begun: list[int] = []

    def work() -> None:
        begun.append(1)
        if len(begun) == 1:
            raise LookupError
        some.workers.stop.wait()

    some.workers.start("embedding", work)
    until(lambda: len(begun) == 2)
    some.workers.report("embedding", None)
    assert (some.record.name, some.record.failures_in_a_row, some.record.last_success) == ("embedding", 0, START)


def test_the_pause_after_a_failure_grows(some: Some) -> None:
    tried: list[float] = []

    def work() -> None:
        tried.append(some.clock.monotonic() - 1_000.0)
        raise ValueError

    for _ in range(40):
        some.workers.attempt("tending", work)
        some.pass_time(0.5)
    assert tried == [0.0, 1.0, 3.0, 7.0, 15.0]


def test_an_unavailable_dependency_is_retried_soon(some: Some) -> None:
    tried: list[int] = []

    def work() -> None:
        tried.append(1)
        raise Unavailable("The disk is full.")

    for _ in range(40):
        some.workers.attempt("tending", work)
        some.pass_time(1.0)
    assert len(tried) == 40


def test_repeated_failures_are_a_problem_until_a_success(some: Some) -> None:
    for _ in range(STUCK):
        assert some.health.health().is_ready
        some.workers.attempt("tending", lambda: fails(TypeError("no")))
        some.pass_time()
    (problem,) = some.health.health().problems
    assert (problem.cause, problem.detail, problem.lasting) == (Cause.WORKER, "tending: TypeError", True)
    assert not some.health.health().is_ready
    some.workers.attempt("tending", lambda: None)
    assert some.health.health().problems == ()


def test_an_unavailable_dependency_is_no_problem(some: Some) -> None:
    for _ in range(3 * STUCK):
        some.workers.attempt("embedding", lambda: fails(Unavailable("The embedding server does not answer.")))
        some.pass_time()
    assert some.health.health().is_ready
    assert (some.record.failures_in_a_row, some.record.error) == (9, "The embedding server does not answer.")


def test_failures_without_secrets_and_recovery_are_logged(some: Some, caplog: pytest.LogCaptureFixture) -> None:
    secret = STRONG
    with caplog.at_level(logging.INFO, "hivelore"):
        some.workers.attempt("tending", lambda: fails(KeyError(f"api_key={secret}\0")))
        some.pass_time()
        some.workers.attempt("tending", lambda: fails(Unavailable(f"Cannot reach http://x?api_key={secret}")))
        some.pass_time()
        some.workers.attempt("tending", lambda: None)
    assert "Traceback" in caplog.text
    assert "works again" in caplog.text
    assert secret not in caplog.text
    assert secret not in str(some.health.health())


def test_a_continuing_failure_is_logged_once(some: Some, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hivelore"):
        for _ in range(10):
            some.workers.attempt("tending", lambda: fails(Unavailable("The disk is full.")))
            some.pass_time(1.0)
    assert len(caplog.records) == 1
