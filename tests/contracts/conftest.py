"""Fixtures: every store, and every keyword engine on its store."""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from hivelore.indexes.ports import KeywordIndex
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.keywords import Indexed
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES, Fresh, OpenStore


def _fresh(open_store: OpenStore, clock: SteppingClock) -> Fresh:
    @contextmanager
    def fresh() -> Generator[MemoryStore]:
        with TemporaryDirectory(dir=IN_MEMORY) as folder, closing(open_store(Path(folder), clock)) as store:
            yield store

    return fresh


ON_PARTITIONS = (
    "test_store",
    "test_store_change",
    "test_store_changes",
    "test_store_chunks",
    "test_store_operational",
    "test_store_queue",
    "test_store_validity",
)
"""Tests that run on partitioned tables; the others would only repeat them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    partitioned = [item for item in items if "partitioned" in item.name and item.path.parent == Path(__file__).parent]
    dropped = {id(item) for item in partitioned if item.path.stem not in ON_PARTITIONS}
    items[:] = [item for item in items if id(item) not in dropped]


_SETTINGS = "_hypothesis_internal_use_settings"
"""Attribute in which hypothesis keeps the settings of a test."""
FEWER = 4


@pytest.fixture(autouse=True)
def fewer_examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs fewer examples on a server, where statements are slow; SQLite runs all of them."""
    known: settings | None = getattr(request.function, _SETTINGS, None)
    if known is not None and "postgres" in request.node.name:
        monkeypatch.setattr(request.function, _SETTINGS, settings(known, max_examples=known.max_examples // FEWER + 1))


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=STORES)
def fresh(request: pytest.FixtureRequest, clock: SteppingClock) -> Fresh:
    """Opens a new, empty store each time it is called."""
    return _fresh(STORES[request.param].open, clock)


@pytest.fixture
def store(fresh: Fresh) -> Generator[MemoryStore]:
    with fresh() as store:
        yield store


@pytest.fixture(params=[name for name, kind in STORES.items() if kind.durable])
def open_durable(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock) -> Callable[[], MemoryStore]:
    """Opens the same store each time it is called."""
    return lambda: STORES[request.param].open(tmp_path, clock)


@pytest.fixture(params=KEYWORDS)
def keyword_engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def keywords(keyword_engine: str) -> KeywordIndex:
    return KEYWORDS[keyword_engine].index()


@pytest.fixture
def fresh_searched(keyword_engine: str, clock: SteppingClock) -> Fresh:
    """Opens a new, empty store that ``keywords`` works on."""
    return _fresh(STORES[KEYWORDS[keyword_engine].store].open, clock)


@pytest.fixture
def indexed(fresh_searched: Fresh, keywords: KeywordIndex) -> Generator[Indexed]:
    with fresh_searched() as store:
        yield Indexed(store, keywords)
