"""When the engine in memory hands over to the store's own."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.indexes.vectors.scan import CappedVectors
from hivelore.storage.sqlite.store import SqliteStore
from support.clocks import SteppingClock
from support.vector_engines import NORTH, Library, capped, clustered, near

DIMENSION = 16


@pytest.fixture
def store(tmp_path: Path) -> Generator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SteppingClock())) as store:
        yield store


def _built(store: SqliteStore) -> CappedVectors:
    index = capped("the model", DIMENSION)
    with store.read() as view:
        assert index.build(view)
    return index


def test_vectors_within_the_limit_are_searched_in_memory(store: SqliteStore) -> None:
    index = _built(store)
    library = Library(store, index)
    keys = library.add_all([NORTH, near(10), near(20)])
    assert [one.document for one in library.nearest(NORTH).nearest] == keys
    assert index.name == "scan"


def test_one_too_many_and_the_store_answers_the_same(store: SqliteStore) -> None:
    index = _built(store)
    library = Library(store, index)
    keys = library.add_all([NORTH, near(10), near(20)])
    keys += library.add_all([near(30)])
    assert [one.document for one in library.nearest(NORTH).nearest] == keys
    assert index.name == "sqlite-vec"
    assert index.ready


def test_vectors_beyond_the_limit_are_ready_at_once(store: SqliteStore) -> None:
    Library(store, _built(store)).add_all(clustered(50))
    again = _built(store)
    assert (again.name, again.ready) == ("sqlite-vec", True)
    assert len(Library(store, again).nearest(NORTH, limit=50).nearest) == 50


def test_a_new_start_begins_in_memory_again(store: SqliteStore) -> None:
    library = Library(store, _built(store))
    keys = library.add_all(clustered(4))
    assert library.nearest(NORTH).spread.count == 4
    library.forget(keys[0])
    assert _built(store).name == "scan"
