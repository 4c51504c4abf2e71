"""Writes to a SQLite store that form one group, and the stored result."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event

from hivelore.memories.stored import Stored
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import a_memory, whole
from support.stores import listed
from support.vfs import PATIENCE


def contents(store: SqliteStore) -> list[str]:
    """Returns the contents of the memories, newest id first, after checking the integrity."""
    assert list(store.check()) == []
    return [memory.content for memory in listed(store)]


def adding(content: str) -> Callable[[Transaction], Stored]:
    return lambda tx: tx.add(a_memory(content), whole(content))


@contextmanager
def held(store: SqliteStore) -> Generator[None]:
    """Keeps the writer busy: transactions submitted meanwhile form one group and run afterwards."""
    busy, over = Event(), Event()

    def hold(tx: Transaction) -> None:
        busy.set()
        assert over.wait(PATIENCE)

    holding = submit(store, hold)
    assert busy.wait(PATIENCE)
    try:
        yield
    finally:
        over.set()
        holding.result(PATIENCE)


def submit(store: SqliteStore, work: Callable[[Transaction], object], deadline: float | None = None) -> Future[object]:
    """Writes like ``write``, without waiting for the result."""
    return store._writer.submit(work, deadline)
