"""Every store: the change log lists the changes to documents in order."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.errors import Conflict
from hivelore.indexing.model import BEGINNING, Change, ChangeKind
from hivelore.memories.model import Action, Scope
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import a_memory, document, instant, next_version, whole
from support.stores import Fresh, add, chunks, forget, law, read_changes

PATIENCE = 60.0
"""Seconds after which a test that hangs fails."""


def changes(store: MemoryStore) -> list[tuple[ChangeKind, DocumentKey]]:
    with store.read() as view:
        return [(one.kind, one.document) for one in read_changes(view)]


def news(store: MemoryStore, work: Callable[[Transaction], object]) -> list[tuple[ChangeKind, DocumentKey]]:
    """Returns the changes that a write adds to the log."""
    known = len(changes(store))
    store.write(work)
    return changes(store)[known:]


def test_the_log_of_a_new_store_is_empty(store: MemoryStore) -> None:
    with store.read() as view:
        assert read_changes(view) == []


def test_adding_a_memory_is_logged_as_a_creation(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    assert changes(store) == [(ChangeKind.CREATED, stored.key)]


def test_a_change_with_chunks_is_logged_as_content(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    changed = next_version(stored.memory, "Something else.")
    changes = news(store, lambda tx: tx.change(stored.key, changed, whole(changed.content), Action.EDITED))
    assert changes == [(ChangeKind.CONTENT, stored.key)]


def test_a_change_without_chunks_is_logged_as_attributes(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    shared = next_version(stored.memory, scope=Scope.SWARM)
    changes = news(store, lambda tx: tx.change(stored.key, shared, None, Action.PROMOTED))
    assert changes == [(ChangeKind.ATTRIBUTES, stored.key)]


def test_a_renewal_is_logged_as_attributes(store: MemoryStore) -> None:
    stored = add(store, a_memory(expires_at=instant(1)))
    changes = news(store, lambda tx: tx.set_expiry(stored.key, instant(2)))
    assert changes == [(ChangeKind.ATTRIBUTES, stored.key)]


def test_deleting_a_memory_is_logged(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    assert news(store, lambda tx: tx.forget(stored.key)) == [(ChangeKind.FORGOTTEN, stored.key)]


def test_new_vectors_are_logged_for_each_document(store: MemoryStore) -> None:
    content, pieces = document("first part", "second part", passage=4)
    one, other, bystander = (add(store, a_memory(content), pieces) for _ in range(3))
    model = store.write(lambda tx: tx.register_model("m", 1))
    passages = [key for stored in (one, other) for chunk in chunks(store, stored.key) for key in chunk.passages]
    vectors = {key: np.ones(1, dtype=np.float32) for key in passages}
    changes = news(store, lambda tx: tx.put_vectors(model, vectors))
    assert {kind for kind, _ in changes} == {ChangeKind.VECTORS}
    assert {key for _, key in changes} == {one.key, other.key}
    assert bystander.key not in {key for _, key in changes}


def test_changes_that_no_index_needs_are_not_logged(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    model = store.write(lambda tx: tx.register_model("m", 1))
    (chunk,) = chunks(store, stored.key)
    (passage,) = chunk.passages
    gone = add(store, a_memory())
    (gone_passage,) = chunks(store, gone.key)[0].passages
    forget(store, gone.key)
    assert news(store, lambda tx: tx.count_reads({stored.key: (1, instant(1))})) == []
    assert news(store, lambda tx: tx.embedding_failed(model, passage, Clean("no"), instant(30))) == []
    assert news(store, lambda tx: tx.retry_failed(model, 10)) == []
    assert news(store, lambda tx: tx.adopt_vectors(model, PassageKey(0), 10)) == []
    assert news(store, lambda tx: tx.requeue(model, PassageKey(0), 10)) == []
    assert news(store, lambda tx: tx.set_setting("a", "b")) == []
    assert news(store, lambda tx: tx.forget(gone.key)) == []
    assert news(store, lambda tx: tx.set_expiry(gone.key, instant(2))) == []
    assert news(store, lambda tx: tx.put_vectors(model, {gone_passage: np.ones(1, dtype=np.float32)})) == []
    assert news(store, lambda tx: tx.put_vectors(model, {})) == []


def test_the_changes_of_a_transaction_are_logged_in_order(store: MemoryStore) -> None:
    def work(tx: Transaction) -> list[DocumentKey]:
        one = tx.add(a_memory("one"), whole("one"))
        other = tx.add(a_memory("other"), whole("other"))
        tx.change(other.key, next_version(other.memory), None, Action.EDITED)
        tx.forget(one.key)
        return [one.key, other.key]

    one, other = store.write(work)
    assert changes(store) == [
        (ChangeKind.CREATED, one),
        (ChangeKind.CREATED, other),
        (ChangeKind.ATTRIBUTES, other),
        (ChangeKind.FORGOTTEN, one),
    ]


def test_a_failed_transaction_is_not_logged(store: MemoryStore) -> None:
    memory = a_memory()
    add(store, memory)

    def work(tx: Transaction) -> None:
        tx.add(a_memory(), ())
        tx.add(memory, ())

    with pytest.raises(Conflict):
        store.write(work)
    assert len(changes(store)) == 1


@law
@given(units=st.lists(st.integers(0, 3), max_size=5), looks=st.integers(0, 5))
def test_a_follower_reads_every_change_once(fresh: Fresh, units: list[int], looks: int) -> None:
    """However often they look, and whatever moment they go on from."""
    with fresh() as store:
        with store.read() as view:
            start = moment = view.change_cursor()
        heard: list[Change] = []
        for number, adding in enumerate(units):
            store.write(lambda tx, adding=adding: [tx.add(a_memory(), ()) for _ in range(adding)])
            if number < looks:
                with store.read() as view:
                    for reached, batch in view.changes(moment):
                        heard.extend(batch)
                        moment = reached
                    assert moment.number == view.change_cursor().number
        with store.read() as view:
            heard += read_changes(view, moment)
            assert heard == read_changes(view, start) == read_changes(view)
            assert len({one.seq for one in heard}) == len(heard) == sum(units)
            assert read_changes(view, view.change_cursor()) == []


def test_a_follower_continues_at_its_cursor(store: MemoryStore) -> None:
    for _ in range(5):
        store.write(lambda tx: [tx.add(a_memory(), ()) for _ in range(700)])
    with store.read() as view:
        batches = list(view.changes(BEGINNING))
        everything = read_changes(view)
        assert len(everything) == 3_500
        heard: list[Change] = []
        for moment, batch in batches:
            heard.extend(batch)
            assert heard + read_changes(view, moment) == everything


def test_later_cursors_are_greater(store: MemoryStore) -> None:
    with store.read() as before:
        add(store, a_memory())
        with store.read() as after, store.read() as same:
            assert before.change_cursor().number < after.change_cursor().number <= same.change_cursor().number
            assert read_changes(same, after.change_cursor()) == []
            assert [one.kind for one in read_changes(after, before.change_cursor())] == [ChangeKind.CREATED]


def test_changes_of_an_open_transaction_are_read_after_its_commit(store: MemoryStore) -> None:
    """Changes of a transaction that commits late are read, although later ones were read before."""
    halfway, go_on = Event(), Event()

    def slow(tx: Transaction) -> DocumentKey:
        stored = tx.add(a_memory("slow"), ())
        halfway.set()
        assert go_on.wait(PATIENCE)
        return stored.key

    with ThreadPoolExecutor(2) as pool:
        with store.read() as view:
            moment = view.change_cursor()
        first = pool.submit(store.write, slow)
        assert halfway.wait(PATIENCE)
        quick = pool.submit(add, store, a_memory("quick"))
        heard: list[DocumentKey] = []
        for ending in (False, True):
            if ending:
                go_on.set()
                first.result(PATIENCE)
                quick.result(PATIENCE)
            with store.read() as view:
                for reached, batch in view.changes(moment):
                    heard += [one.document for one in batch]
                    moment = reached
        assert sorted(heard) == sorted([first.result(), quick.result().key])


def test_numbers_are_not_reused_after_a_deletion(store: MemoryStore) -> None:
    seen: list[Change] = []
    for _ in range(3):
        stored = add(store, a_memory())
        forget(store, stored.key)
        with store.read() as view:
            seen = read_changes(view)
    assert [one.kind for one in seen] == [ChangeKind.CREATED, ChangeKind.FORGOTTEN] * 3
    assert [one.seq for one in seen] == sorted({one.seq for one in seen})
    assert len({one.document for one in seen}) == 3
