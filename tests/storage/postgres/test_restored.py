"""A dump that is read in on another server, whose transactions have other numbers."""

from contextlib import closing

import psycopg
import pytest

from hivelore.indexes.keywords.postings.compaction import Sizes
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.runtime.clock import SystemClock
from hivelore.storage.postgres.store import PostgresStore
from support.keywords import Indexed
from support.memories import EVERYTHING
from support.stores import read_changes

SIZES = Sizes(newest=3, segment=4, alike=2, postings=4)
LATER = (
    "UPDATE change SET tx = tx + 1000000000",
    "UPDATE terms SET tx = tx + 1000000000, dropped = CASE WHEN dropped = 0 THEN 0 ELSE dropped + 1000000000 END",
    "UPDATE dropped SET tx = tx + 1000000000, placed = placed + 1000000000",
    "UPDATE segment SET first = first + 1000000000, last = last + 1000000000",
)


class Unsettled(Indexed):
    def settle(self) -> None:
        pass


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 100])
def test_everything_is_found_and_can_be_written_as_before(url: str, steps: int) -> None:
    with closing(PostgresStore(url, clock=SystemClock())) as store:
        house = Unsettled(store, Postings(SIZES))
        documents = [house.add(f"ant {word}") for word in ("bee", "cat", "dog", "elk", "fox", "gnu", "hen")]
        house.remove(*house.chunk_keys(documents[1]))
        for _ in range(steps):
            house.index.compact(store)
        expected = house.found("ant")
        with store.read() as view:
            incarnation = view.setting("incarnation")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in LATER:
            connection.execute(statement.encode())
    with closing(PostgresStore(url, clock=SystemClock())) as store:
        house = Unsettled(store, Postings(SIZES))
        with store.read() as view:
            assert view.setting("incarnation") != incarnation
            assert read_changes(view, view.change_cursor()) == []
        assert house.found("ant") == expected
        fresh = house.add("ant owl")
        house.remove(*house.chunk_keys(documents[2]))
        while house.index.compact(store):
            pass
        expected = [*(one for one in expected if one != documents[2].key), fresh.key]
        for index in (house.index, Postings()):
            with store.read() as view:
                found = [one.document for one in index.search(view, ["ant"], EVERYTHING, 100)]
            assert sorted(found) == sorted(expected)
