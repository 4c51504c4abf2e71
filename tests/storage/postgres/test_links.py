"""A link that is written while one of its memories is deleted does not stay behind."""

from itertools import count

import pytest

from hivelore.storage.ports import Transaction
from hivelore.storage.postgres.store import PostgresStore
from support.links import a_link, put_links
from support.memories import a_memory
from support.stores import add, forget


def count_links(store: PostgresStore) -> int:
    with store.read() as view:
        return view.counts().links


@pytest.mark.parametrize("end", [0, 1])
def test_a_link_of_a_memory_that_was_deleted_meanwhile_is_not_stored(store: PostgresStore, end: int) -> None:
    stored = [add(store, a_memory()) for _ in range(2)]
    attempts = count()

    def put(tx: Transaction) -> None:
        if next(attempts) == 0:
            forget(store, stored[end].key)
        tx.put_link(a_link(stored[0], stored[1]))

    store.write(put)
    assert count_links(store) == 0


@pytest.mark.parametrize("end", [0, 1])
def test_a_link_that_was_stored_meanwhile_is_deleted_with_its_memory(store: PostgresStore, end: int) -> None:
    stored = [add(store, a_memory()) for _ in range(2)]
    attempts = count()

    def delete(tx: Transaction) -> None:
        if next(attempts) == 0:
            put_links(store, a_link(stored[0], stored[1]))
        tx.forget(stored[end].key)

    store.write(delete)
    assert count_links(store) == 0
