"""A world whose keys and files are in a temporary folder."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from support.clocks import SteppingClock
from support.configuration import ConfigDesk, made_desk
from support.stores import KEYWORDS, STORES
from support.world import World


@pytest.fixture(params=["postings", "postings on postgres"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[ConfigDesk]:
    kind, clock = KEYWORDS[request.param], SteppingClock()
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield made_desk(World(store, kind.index(), clock), tmp_path)
