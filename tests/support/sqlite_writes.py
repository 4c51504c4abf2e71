"""Writes to a SQLite store that form one group, and a look at what came of them."""

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
    """What is remembered, newest id first; the store is sound."""
    assert list(store.check()) == []
    return [memory.content for memory in listed(store)]


def adding(content: str) -> Callable[[Transaction], Stored]:
    return lambda tx: tx.add(a_memory(content), whole(content))


@contextmanager
def held(store: SqliteStore) -> Generator[None]:
    """Keep the writer busy: what is submitted meanwhile becomes one group, and runs afterwards."""
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
    """What ``write`` does, without waiting for the answer."""
    return store._writer.submit(work, deadline)
