"""Maintenance that pauses in the middle of its work until it is released or stopped."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Event

import pytest

from hivelore.core.progress import Progress
from hivelore.maintenance.duplicates import Duplicates, Pair

UNITS = 10


class Held:
    def __init__(self) -> None:
        self.reached = Event()
        self.let_go = Event()


@contextmanager
def held() -> Generator[Held]:
    """Makes searches for pairs wait, with three of ten units done."""
    barrier, find = Held(), Duplicates.find

    def late(duplicates: Duplicates, now: datetime, limit: int, progress: Progress) -> Sequence[Pair]:
        progress.expect(UNITS)
        progress.advance(3)
        barrier.reached.set()
        while not barrier.let_go.wait(0.01):
            progress.check()
        progress.advance(UNITS - 3)
        return find(duplicates, now, limit, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Duplicates, "find", late)
        try:
            yield barrier
        finally:
            barrier.let_go.set()
