"""Applications whose memories are not linked."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hivelore.models.ports import PairReader
from hivelore.runtime.app import Application
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.settings import load

READY = 600.0
"""Seconds that the vectors may take until they can be searched."""


class WithoutJudge(Application):
    """An application without the model that compares notes."""

    def make_pair_reader(self) -> PairReader | None:
        return None


@contextmanager
def started(app: Application) -> Generator[Application]:
    """Runs the background workers of an application, with all vectors ready."""
    try:
        app.make_keys()
        app.start()
        if not app.embedding.wait(READY):
            raise RuntimeError("the vectors were not ready in time")
        yield app
    finally:
        app.close()


@contextmanager
def without_judge(home: Path, database: str | None = None) -> Generator[Application]:
    """``database``: the URL of one on PostgreSQL; None: SQLite in ``home``."""
    with started(WithoutJudge(load(home=home, database=database), clock=SystemClock())) as app:
        yield app
