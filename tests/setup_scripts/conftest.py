"""Worlds on both databases."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from support.clocks import SteppingClock
from support.stores import KEYWORDS, STORES
from support.world import World


@pytest.fixture(params=["postings", "postings on postgres"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[World]:
    kind, clock = KEYWORDS[request.param], SteppingClock()
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock)
