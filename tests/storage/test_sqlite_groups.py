"""Units of work that share a commit, on a clock and a queue that are moved by hand."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from queue import Empty
from threading import Event
from types import SimpleNamespace

import pytest

from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite import store as sqlite_store
from hivelore.storage.sqlite.connection import connect
from hivelore.storage.sqlite.store import GROUP_LIMIT, LINGER, LONGEST_WAIT, SqliteStore, Writer
from support.clocks import SteppingClock

MS = 0.001


class Timeline:
    """A queue whose units arrive at given instants. Waiting for one moves the clock."""

    def __init__(self, clock: SteppingClock, arrivals: Sequence[float]) -> None:
        self._clock = clock
        """In seconds from the beginning; the last one is that of the end."""
        self._arrivals = list(arrivals)
        self._began = clock.monotonic()
        self._units: list[object] = []
        self._all_there = Event()

    def put(self, unit: object) -> None:
        self._units.append(unit)
        if unit is None:
            self._all_there.set()

    def get(self, timeout: float | None = None) -> object:
        self._all_there.wait()
        left = self._arrivals[0] - self.now()
        if timeout is not None and left > timeout + 1e-9:
            self.pass_time(timeout)
            raise Empty
        self.pass_time(max(left, 0.0))
        return self._next()

    def get_nowait(self) -> object:
        if self.qsize() == 0:
            raise Empty
        return self._next()

    def qsize(self) -> int:
        return sum(arrival <= self.now() + 1e-9 for arrival in self._arrivals)

    def now(self) -> float:
        return self._clock.monotonic() - self._began

    def pass_time(self, seconds: float) -> None:
        self._clock.advance(timedelta(seconds=seconds))

    def _next(self) -> object:
        del self._arrivals[0]
        return self._units.pop(0)


Groups = Sequence[tuple[int, float]]
"""How many units each commit had, and when it was, in milliseconds from the beginning."""
Run = Callable[..., Groups]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Writes units that arrive at these milliseconds, each of which takes this many; at the end the store is closed.
    Answers the groups they were written in."""
    path = tmp_path / "hivelore.db"
    SqliteStore(path, clock=SystemClock()).close()
    clock = SteppingClock()

    def run(arrivals: Sequence[float], takes: float = 0.0, end: float = 1_000.0) -> Groups:
        timeline = Timeline(clock, [arrival * MS for arrival in (*arrivals, end)])
        monkeypatch.setattr(sqlite_store, "queue", SimpleNamespace(SimpleQueue=lambda: timeline, Empty=Empty))
        connection, groups, written = connect(path), list[tuple[int, float]](), list[int]()

        def committed() -> bool:
            groups.append((len(written), round(timeline.now() / MS, 3)))
            written.clear()
            return False

        connection.set_commit_hook(committed)

        def unit(number: int) -> Callable[[Transaction], None]:
            def take_time(tx: Transaction) -> None:
                tx.set_setting("number", str(number))
                written.append(number)
                timeline.pass_time(takes * MS)

            return take_time

        with closing(Writer(connection, 1, clock)) as writer:
            answers: list[Future[None]] = [writer.submit(unit(number), None) for number in range(len(arrivals))]
        assert [answer.result(0) for answer in answers] == [None] * len(arrivals)
        return groups

    return run


def test_a_single_writer_does_not_linger(run: Run) -> None:
    assert run([0, 5, 10.5]) == [(1, 0), (1, 5), (1, 10.5)]


def test_queued_units_are_committed_together(run: Run) -> None:
    assert run([0, 0, 0]) == [(3, 0)]


def test_as_many_as_wrote_together_are_waited_for_and_no_more(run: Run) -> None:
    assert run([0, 0, 0, 10, 10.3, 10.9, 11]) == [(3, 0), (3, 10.9), (1, 12)]


def test_a_missing_writer_delays_only_one_group(run: Run) -> None:
    assert run([0, 0, 20, 30]) == [(2, 0), (1, 20 + LINGER / MS), (1, 30)]


def test_a_group_grows_with_units_that_arrive_meanwhile(run: Run) -> None:
    assert run([0, 0, 20, 20.5, 20.5, 30]) == [(2, 0), (3, 20.5), (1, 31)]


def test_all_the_waiting_together_has_an_end(run: Run) -> None:
    every = 0.9
    trickle = [100 + every * number for number in range(40)]
    (first, _), (size, at), *_ = run([*[0.0] * 200, *trickle])
    assert first == 200
    longest = LONGEST_WAIT / MS
    assert longest <= at - 100 <= longest + LINGER / MS
    assert size == sum(arrival <= at for arrival in trickle) < 40


def test_a_group_has_an_end_however_many_there_are(run: Run) -> None:
    assert [size for size, _ in run([0.0] * (2 * GROUP_LIMIT + 88))] == [GROUP_LIMIT, GROUP_LIMIT, 88]


def test_waiting_writers_count_for_the_size_of_the_next_group(run: Run) -> None:
    assert run([0, 1, 1, 1, 1, 5.5], takes=5) == [(1, 5), (5, 30.5)]
    assert run([0, 1, 1, 1, 1], takes=5) == [(1, 5), (4, 5 + LINGER / MS + 20)]


def test_the_end_is_waited_for_like_anybody_else_and_ends_the_waiting(run: Run) -> None:
    assert run([0, 0, 50], end=50.5) == [(2, 0), (1, 50.5)]
