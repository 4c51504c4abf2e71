"""Every store: vectors of passages, of several models, bit for bit."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.errors import Invalid, NotFound
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    ModelKey,
    PassageVectors,
    Vector,
)
from hivelore.memories.model import Memory
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import a_memory, document, instant
from support.small_world import inhabitants
from support.stores import Fresh, add, chunks, forget, law

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
directions = st.lists(finite, min_size=1, max_size=9).filter(any)


def vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)


def add_document(store: MemoryStore, *texts: str, passage: int = 500) -> tuple[DocumentKey, list[PassageKey]]:
    content, pieces = document(*texts, passage=passage)
    stored = add(store, a_memory(content), pieces)
    return stored.key, [key for chunk in chunks(store, stored.key) for key in chunk.passages]


def register(store: MemoryStore, fingerprint: str, dimension: int) -> ModelKey:
    return store.write(lambda tx: tx.register_model(fingerprint, dimension))


def put(store: MemoryStore, model: ModelKey, vectors: dict[PassageKey, Vector]) -> int:
    return store.write(lambda tx: tx.put_vectors(model, vectors))


def stored_vectors(store: MemoryStore, model: ModelKey, keys: Sequence[PassageKey]) -> dict[PassageKey, bytes]:
    with store.read() as view:
        found = view.vectors(model, keys)
    assert all(one.dtype == np.float32 and one.ndim == 1 for one in found.values())
    return {key: one.tobytes() for key, one in found.items()}


# Models.


def test_a_model_keeps_its_key(store: MemoryStore) -> None:
    with store.read() as view:
        assert view.model_key("openai/small/512") is None
    key = register(store, "openai/small/512", 512)
    assert register(store, "openai/small/512", 512) == key
    assert register(store, "openai/small/256", 256) != key
    with store.read() as view:
        assert view.model_key("openai/small/512") == key
        assert view.model_key("OPENAI/small/512") is None


# Vectors.


@law
@given(numbers=directions)
def test_a_vector_is_stored_exactly(fresh: Fresh, numbers: list[float]) -> None:
    with fresh() as store:
        _, (passage,) = add_document(store, "text")
        model = register(store, "m", len(numbers))
        given_vector = vector(*numbers)
        assert put(store, model, {passage: given_vector}) == 1
        assert stored_vectors(store, model, [passage]) == {passage: given_vector.tobytes()}


def test_rows_and_columns_of_a_matrix_are_accepted_as_vectors(store: MemoryStore) -> None:
    _, keys = add_document(store, "one", "two")
    matrix = np.arange(9, dtype=np.float32).reshape(3, 3)
    model = register(store, "m", 3)
    assert put(store, model, {keys[0]: matrix[1], keys[1]: matrix[:, 1]}) == 2
    assert stored_vectors(store, model, keys) == {
        keys[0]: vector(3, 4, 5).tobytes(),
        keys[1]: vector(1, 4, 7).tobytes(),
    }


def test_changing_an_array_does_not_change_the_stored_vector(store: MemoryStore) -> None:
    _, (passage,) = add_document(store, "text")
    model = register(store, "m", 2)
    array = vector(1, 0)
    put(store, model, {passage: array})
    array[0] = 9
    with store.read() as view, suppress(ValueError):
        view.vectors(model, [passage])[passage][0] = 9
    assert stored_vectors(store, model, [passage]) == {passage: vector(1, 0).tobytes()}


def test_a_new_vector_replaces_the_old_one(store: MemoryStore) -> None:
    _, (passage,) = add_document(store, "text")
    model = register(store, "m", 2)
    put(store, model, {passage: vector(1, 0)})
    assert put(store, model, {passage: vector(0, 1)}) == 1
    assert stored_vectors(store, model, [passage]) == {passage: vector(0, 1).tobytes()}


@pytest.mark.parametrize("unfit", [(0, 0), (1, np.nan), (np.inf, 1), (1, -np.inf), (1,), (1, 2, 3), ()])
def test_an_invalid_vector_refuses_the_whole_write(store: MemoryStore, unfit: tuple[float, ...]) -> None:
    _, (one, other) = add_document(store, "one", "other")
    model = register(store, "m", 2)
    put(store, model, {one: vector(1, 0)})
    with pytest.raises(Invalid):
        put(store, model, {one: vector(0, 1), other: vector(*unfit)})
    assert stored_vectors(store, model, [one, other]) == {one: vector(1, 0).tobytes()}
    with pytest.raises(Invalid):
        put(store, model, {PassageKey(other + 1_000): vector(*unfit)})


def test_a_matrix_is_refused_as_a_vector(store: MemoryStore) -> None:
    _, (passage,) = add_document(store, "text")
    model = register(store, "m", 2)
    with pytest.raises(Invalid):
        put(store, model, {passage: np.ones((1, 2), dtype=np.float32)})


def test_vectors_of_an_unknown_model_are_refused(store: MemoryStore) -> None:
    _, (passage,) = add_document(store, "text")
    with pytest.raises(NotFound):
        put(store, ModelKey(99), {passage: vector(1)})


def test_vectors_of_missing_passages_are_ignored(store: MemoryStore) -> None:
    doomed, (gone,) = add_document(store, "gone")
    _, (kept,) = add_document(store, "kept")
    model = register(store, "m", 1)
    forget(store, doomed)
    unknown = PassageKey(kept + 1_000)
    assert put(store, model, {gone: vector(1), kept: vector(2), unknown: vector(3)}) == 1
    assert stored_vectors(store, model, [gone, kept, unknown]) == {kept: vector(2).tobytes()}


def test_only_passages_with_a_vector_are_returned(store: MemoryStore) -> None:
    _, keys = add_document(store, "one", "two")
    model = register(store, "m", 1)
    put(store, model, {keys[0]: vector(1)})
    assert stored_vectors(store, model, [*keys, *keys]) == {keys[0]: vector(1).tobytes()}
    assert stored_vectors(store, model, []) == {}


def test_two_models_have_separate_vectors(store: MemoryStore) -> None:
    key, (passage,) = add_document(store, "text")
    small, large = register(store, "small", 1), register(store, "large", 3)
    put(store, small, {passage: vector(1)})
    with store.read() as view:
        assert (view.count_pending(small), view.count_pending(large)) == (0, 1)
    put(store, large, {passage: vector(1, 2, 3)})
    assert stored_vectors(store, small, [passage]) == {passage: vector(1).tobytes()}
    assert stored_vectors(store, large, [passage]) == {passage: vector(1, 2, 3).tobytes()}
    with store.read() as view:
        assert (view.count_pending(small), view.count_pending(large)) == (0, 0)
        assert list(view.queued_passages(small, instant(0), 10)) == []
        assert list(view.queued_passages(large, instant(0), 10)) == []
        assert view.embedded(small, [key]).vectors.tolist() == [[1]]
        assert view.embedded(large, [key]).vectors.tolist() == [[1, 2, 3]]


def test_vectors_of_an_inactive_model_are_removed_in_batches(store: MemoryStore) -> None:
    _, keys = add_document(store, "one", "two", "three")
    old, new = register(store, "old", 1), register(store, "new", 1)
    for model in (old, new):
        put(store, model, {key: vector(1) for key in keys})
    assert store.write(lambda tx: tx.drop_vectors(old, 2)) == 2
    assert len(stored_vectors(store, old, keys)) == 1
    assert store.write(lambda tx: tx.drop_vectors(old, 2)) == 1
    assert store.write(lambda tx: tx.drop_vectors(old, 2)) == 0
    assert stored_vectors(store, old, keys) == {}
    assert len(stored_vectors(store, new, keys)) == 3
    with store.read() as view:
        assert (view.count_pending(old), view.count_pending(new)) == (3, 0)
        assert list(view.all_embedded(old)) == []


# Documents with their vectors.

VectorOf = tuple[DocumentKey, ChunkKey, bytes, Attributes]


def summary(batches: Iterable[PassageVectors]) -> dict[PassageKey, VectorOf]:
    found: dict[PassageKey, VectorOf] = {}
    for batch in batches:
        assert len(batch) > 0
        assert batch.vectors.dtype == np.float32
        for at, passage in enumerate(batch.passages.tolist()):
            assert passage not in found
            document, chunk = DocumentKey(int(batch.documents[at])), ChunkKey(int(batch.chunks[at]))
            found[passage] = (document, chunk, batch.vectors[at].tobytes(), attributes_at(batch.attributes, at))
    return found


def attributes_at(columns: AttributeColumns, at: int) -> Attributes:
    created_at = columns.created_at[at].item().replace(tzinfo=UTC)
    expires_at = columns.expires_at[at].item()
    return Attributes(
        owner=columns.owner[at],
        scope=columns.scope[at],
        source=columns.source[at],
        project=columns.project[at],
        session=columns.session[at],
        category=columns.category[at],
        created_at=created_at,
        expires_at=None if expires_at is None else expires_at.replace(tzinfo=UTC),
        superseded=columns.superseded[at],
    )


@law
@given(having=st.lists(st.tuples(inhabitants(), st.lists(st.booleans(), min_size=1, max_size=4)), max_size=6))
def test_passages_are_returned_with_vectors_and_attributes(
    fresh: Fresh, having: list[tuple[Memory, list[bool]]]
) -> None:
    with fresh() as store:
        model, other = register(store, "m", 1), register(store, "other", 1)
        documents: list[DocumentKey] = []
        expected: dict[PassageKey, VectorOf] = {}
        for memory, embedded in having:
            content, pieces = document(*["abcd"] * len(embedded), passage=2)
            key = add(store, replace(memory, id=a_memory().id, content=content), pieces).key
            keys = [passage for chunk in chunks(store, key) for passage in chunk.passages]
            documents.append(key)
            wanted = {p for position, p in enumerate(keys) if embedded[position // 2]}
            chunk_of = {p: chunk.key for chunk in chunks(store, key) for p in chunk.passages}
            put(store, model, {p: vector(p) for p in wanted})
            put(store, other, {p: vector(-1) for p in keys})
            with store.read() as view:
                attributes = view.attributes([key])[key]
            expected |= {p: (key, chunk_of[p], vector(p).tobytes(), attributes) for p in wanted}
        with store.read() as view:
            found = view.embedded(model, [*documents, *documents, DocumentKey(10**9)])
            assert summary([found] if found else []) == expected
            assert summary(view.all_embedded(model)) == expected


def test_all_vectors_of_a_large_store_are_returned(store: MemoryStore) -> None:
    model = register(store, "m", 1)
    content, pieces = document("text")

    def work(tx: Transaction) -> set[DocumentKey]:
        stored = [tx.add(a_memory(content), pieces) for _ in range(2_500)]
        keys = [key for one in stored for chunk in tx.chunks(one.key) for key in chunk.passages]
        tx.put_vectors(model, {key: vector(key) for key in keys})
        return {one.key for one in stored}

    keys = store.write(work)
    with store.read() as view:
        assert {key for batch in view.all_embedded(model) for key in batch.documents.tolist()} == keys
        assert set(view.embedded(model, list(keys)).documents.tolist()) == keys
