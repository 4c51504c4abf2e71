"""Every store: the tokens of passages, which come and go with the vectors of the same passage and model."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexing.model import ModelKey, TokenCodes, Vector
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import a_memory, document
from support.stores import Fresh, add, chunks, forget, law

ONE: Vector = np.ones(1, np.float32)


def add_document(store: MemoryStore, *texts: str) -> tuple[DocumentKey, list[PassageKey]]:
    content, pieces = document(*texts, passage=500)
    stored = add(store, a_memory(content), pieces)
    return stored.key, [key for chunk in chunks(store, stored.key) for key in chunk.passages]


def register(store: MemoryStore, fingerprint: str = "m") -> ModelKey:
    return store.write(lambda tx: tx.register_model(fingerprint, 1))


def put(store: MemoryStore, model: ModelKey, tokens: Mapping[PassageKey, TokenCodes]) -> int:
    return store.write(lambda tx: tx.put_vectors(model, dict.fromkeys(tokens, ONE), tokens))


def kept(store: MemoryStore, model: ModelKey, keys: Sequence[PassageKey]) -> Mapping[PassageKey, TokenCodes]:
    with store.read() as view:
        return view.token_codes(model, keys)()


@law
@given(codes=st.binary(min_size=1, max_size=200))
def test_tokens_are_stored_exactly(fresh: Fresh, codes: bytes) -> None:
    with fresh() as store:
        _, (passage,) = add_document(store, "text")
        model = register(store)
        assert put(store, model, {passage: codes}) == 1
        assert kept(store, model, [passage, passage]) == {passage: codes}


def test_only_passages_with_tokens_are_returned(store: MemoryStore) -> None:
    _, (one, other, third) = add_document(store, "one", "other", "third")
    model = register(store)
    put(store, model, {one: b"one", other: b""})
    store.write(lambda tx: tx.put_vectors(model, {third: ONE}))
    assert kept(store, model, [one, other, third, PassageKey(third + 1_000)]) == {one: b"one"}
    assert kept(store, model, []) == {}
    with store.read() as view:
        assert len(view.vectors(model, [one, other, third])) == 3


def test_a_new_vector_replaces_the_tokens_of_the_old_one(store: MemoryStore) -> None:
    _, (one, other) = add_document(store, "one", "other")
    model = register(store)
    put(store, model, {one: b"old", other: b"old"})
    put(store, model, {one: b"new"})
    store.write(lambda tx: tx.put_vectors(model, {other: ONE}))
    assert kept(store, model, [one, other]) == {one: b"new"}


def test_each_model_has_its_own_tokens(store: MemoryStore) -> None:
    _, keys = add_document(store, "one", "two", "three")
    old, new = register(store, "old"), register(store, "new")
    put(store, old, dict.fromkeys(keys, b"old"))
    put(store, new, dict.fromkeys(keys, b"new"))
    assert kept(store, old, keys) == dict.fromkeys(keys, b"old")
    assert store.write(lambda tx: tx.drop_vectors(old, 2)) == 2
    with store.read() as view:
        assert view.token_codes(old, keys)().keys() == view.vectors(old, keys).keys()
        assert len(view.token_codes(old, keys)()) == 1
    store.write(lambda tx: tx.drop_vectors(old, 2))
    assert kept(store, old, keys) == {}
    assert kept(store, new, keys) == dict.fromkeys(keys, b"new")


def test_tokens_of_deleted_memories_are_deleted_and_refused(store: MemoryStore) -> None:
    doomed, (gone,) = add_document(store, "gone")
    _, (stays,) = add_document(store, "stays")
    model = register(store)
    put(store, model, {gone: b"gone", stays: b"stays"})
    forget(store, doomed)
    assert put(store, model, {gone: b"again"}) == 0
    assert kept(store, model, [gone, stays]) == {stays: b"stays"}


def test_several_reads_can_be_started_before_waiting(store: MemoryStore) -> None:
    key, (one, other) = add_document(store, "one", "other")
    model = register(store)
    put(store, model, {one: b"one", other: b"other"})
    with store.read() as view:
        first, second, parts = view.token_codes(model, [one]), view.token_codes(model, [other]), view.chunks_of([key])
        assert view.vectors(model, [one]).keys() == {one}
        assert (second(), first()) == ({other: b"other"}, {one: b"one"})
        assert parts() == {key: view.chunks(key)}


def test_a_started_read_need_not_be_awaited(store: MemoryStore) -> None:
    key, (one,) = add_document(store, "one")
    model = register(store)
    put(store, model, {one: b"one"})
    with store.read() as view:
        view.token_codes(model, [one])
        view.chunks_of([key])
        assert view.matching_keys(EVERYTHING) == [key]
        view.token_codes(model, [one])
    assert kept(store, model, [one]) == {one: b"one"}


def test_a_read_in_a_transaction_sees_the_state_at_its_start(store: MemoryStore) -> None:
    key, (one,) = add_document(store, "one")
    model = register(store)
    put(store, model, {one: b"one"})

    def work(tx: Transaction) -> Mapping[PassageKey, TokenCodes]:
        asked = tx.token_codes(model, [one])
        tx.forget(key)
        return asked()

    assert store.write(work) == {one: b"one"}
    assert kept(store, model, [one]) == {}
