"""Many services write at once, and a reader of the change log sees every change exactly once."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from threading import Event

import psycopg
import pytest

from hivelore.indexing.model import BEGINNING, Change
from hivelore.memories.stored import DocumentKey
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.postgres.store import PostgresStore
from support.memories import a_memory

PATIENCE = 1_500.0
REPLICAS, WRITERS, FOLLOWERS = 4, 8, 2
UNIT = 50
"""Changes that are written at once."""


@pytest.fixture
def replicas(url: str) -> Generator[list[PostgresStore]]:
    with ExitStack() as open_ones:
        yield [
            open_ones.enter_context(closing(PostgresStore(url, clock=SystemClock(), connections=WRITERS)))
            for _ in range(REPLICAS)
        ]


def write(store: MemoryStore, units: int) -> list[list[DocumentKey]]:
    return [store.write(lambda tx: [tx.add(a_memory(), ()).key for _ in range(UNIT)]) for _ in range(units)]


def write_slowly(store: MemoryStore, halfway: Event, go_on: Event) -> list[DocumentKey]:
    def write_memories(tx: Transaction) -> list[DocumentKey]:
        first = tx.add(a_memory(), ()).key
        halfway.set()
        assert go_on.wait(PATIENCE)
        return [first, tx.add(a_memory(), ()).key]

    return store.write(write_memories)


def follow(store: MemoryStore, over: Event) -> list[Change]:
    heard: list[Change] = []
    moment, is_last = BEGINNING, False
    while not is_last:
        is_last = over.is_set()
        with store.read() as view:
            for reached, batch in view.changes(moment):
                heard.extend(batch)
                moment = reached
    return heard


@contextmanager
def an_idle_transaction(url: str) -> Generator[None]:
    """It has a number, and does nothing with it."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_current_xact_id()")
        yield


@pytest.mark.timeout(PATIENCE)
@pytest.mark.parametrize("changes", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_change_is_lost_or_repeated(replicas: list[PostgresStore], url: str, changes: int) -> None:
    halfway, go_on, over = Event(), Event(), Event()
    with ThreadPoolExecutor(WRITERS + FOLLOWERS + 1) as pool, an_idle_transaction(url):
        slow = pool.submit(write_slowly, replicas[0], halfway, go_on)
        assert halfway.wait(PATIENCE)
        following = [pool.submit(follow, store, over) for store in replicas[:FOLLOWERS]]
        units = changes // UNIT // WRITERS
        writing = [pool.submit(write, replicas[number % REPLICAS], units) for number in range(WRITERS)]
        written = [unit for done in writing for unit in done.result(PATIENCE)]
        go_on.set()
        written.append(slow.result(PATIENCE))
        over.set()
        reported = [done.result(PATIENCE) for done in following]
    expected = {key for unit in written for key in unit}
    assert len(expected) == changes + 2
    for heard in reported:
        place = {change.document: number for number, change in enumerate(heard)}
        assert len(heard) == len({change.seq for change in heard}) == len(place)
        assert place.keys() == expected
        assert all(sorted(unit, key=place.__getitem__) == unit for unit in written)
