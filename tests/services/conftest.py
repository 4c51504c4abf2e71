"""A world of services on every kind of store."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.clocks import SteppingClock
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES
from support.world import World, hashing


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


# Gathering is the same on both databases, and slow where each statement travels to a server.
@pytest.fixture(params=[name for name in KEYWORDS if name != "postings on postgres, gathered at once"])
def world(request: pytest.FixtureRequest, clock: SteppingClock) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with TemporaryDirectory(dir=IN_MEMORY) as folder, closing(STORES[kind.store].open(Path(folder), clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing())
