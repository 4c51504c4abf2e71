"""A world of services on every kind of store."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from support.clocks import SteppingClock
from support.stores import KEYWORDS, STORES
from support.world import World, hashing


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


# Gathering is the same on both databases, and slow where each statement travels to a server.
@pytest.fixture(params=[name for name in KEYWORDS if name != "postings on postgres, gathered at once"])
def world(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing())
