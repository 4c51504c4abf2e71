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


@pytest.fixture(params=KEYWORDS)
def world(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing())
