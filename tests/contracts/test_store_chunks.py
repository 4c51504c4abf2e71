"""Every store: a document that is indexed again keeps the keys and vectors of what did not change (X18)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.indexing.model import ModelKey, Vector
from hivelore.memories.model import Chunk
from hivelore.memories.stored import DocumentKey, PassageKey, Stored, StoredChunk
from hivelore.storage.ports import MemoryStore
from support.memories import a_memory, document, instant, next_version
from support.stores import Fresh, add, change, chunks, law


def embedded(store: MemoryStore, *texts: str, passage: int = 500) -> tuple[Stored, ModelKey]:
    """A document of these texts, each passage of which has a vector: its own key."""
    content, pieces = document(*texts, passage=passage)
    stored = add(store, a_memory(content), pieces)
    model = store.write(lambda tx: tx.register_model("m", 1))
    keys = passages(chunks(store, stored.key))
    store.write(lambda tx: tx.put_vectors(model, {key: vector(key) for key in keys}))
    return stored, model


def vector(key: PassageKey) -> Vector:
    return np.array([key], dtype=np.float32)


def passages(stored: Sequence[StoredChunk]) -> list[PassageKey]:
    return [key for chunk in stored for key in chunk.passages]


def write_again(store: MemoryStore, stored: Stored, content: str, pieces: Sequence[Chunk]) -> Sequence[StoredChunk]:
    change(store, stored.key, next_version(stored.memory, content), pieces)
    return chunks(store, stored.key)


def vectors_of(store: MemoryStore, model: ModelKey, stored: Sequence[StoredChunk]) -> set[PassageKey]:
    """The passages that still have the vector they were given."""
    with store.read() as view:
        found = view.vectors(model, passages(stored))
    assert {key: list(its) for key, its in found.items()} == {key: [float(key)] for key in found}
    return set(found)


def waiting(store: MemoryStore, model: ModelKey, document: DocumentKey) -> list[PassageKey]:
    with store.read() as view:
        return [one.passage for one in view.queued_passages(model, instant(0), 1_000) if one.document == document]


def text_of(content: str, stored: StoredChunk) -> str:
    return content[stored.chunk.start : stored.chunk.stop]


def test_a_change_without_chunks_keeps_them(store: MemoryStore) -> None:
    stored, model = embedded(store, "one", "two")
    before = chunks(store, stored.key)
    change(store, stored.key, next_version(stored.memory))
    assert chunks(store, stored.key) == before
    assert vectors_of(store, model, before) == set(passages(before))


def test_the_same_chunks_again_keep_everything(store: MemoryStore) -> None:
    stored, model = embedded(store, "one", "two", passage=2)
    before = chunks(store, stored.key)
    after = write_again(store, stored, stored.memory.content, [chunk.chunk for chunk in before])
    assert after == before
    assert vectors_of(store, model, after) == set(passages(before))
    assert waiting(store, model, stored.key) == []


def test_only_a_changed_chunk_gets_new_keys_and_is_queued(store: MemoryStore) -> None:
    stored, model = embedded(store, "one", "two", "three")
    before = chunks(store, stored.key)
    content, pieces = document("one", "TWO!", "three")
    after = write_again(store, stored, content, pieces)
    assert [chunk.chunk for chunk in after] == list(pieces)
    assert (after[0], after[2].key, after[2].passages) == (before[0], before[2].key, before[2].passages)
    assert after[1].key not in {chunk.key for chunk in before}
    assert not set(after[1].passages) & set(passages(before))
    assert vectors_of(store, model, before) == {*after[0].passages, *after[2].passages}
    assert waiting(store, model, stored.key) == list(after[1].passages)


def test_a_moved_chunk_keeps_its_key(store: MemoryStore) -> None:
    stored, model = embedded(store, "one", "two")
    one, two = chunks(store, stored.key)
    content, pieces = document("\U0001f41d new at the top", "two", "one")
    new, moved_two, moved_one = write_again(store, stored, content, pieces)
    assert (moved_one.key, moved_one.passages) == (one.key, one.passages)
    assert (moved_two.key, moved_two.passages) == (two.key, two.passages)
    assert [chunk.chunk for chunk in (new, moved_two, moved_one)] == list(pieces)
    assert vectors_of(store, model, [moved_one, moved_two]) == {*one.passages, *two.passages}
    with store.read() as view:
        assert [one.text for one in view.queued_passages(model, instant(0), 10)] == ["\U0001f41d new at the top"]


def test_a_chunk_with_other_headings_is_new(store: MemoryStore) -> None:
    stored, model = embedded(store, "one")
    (before,) = chunks(store, stored.key)
    (after,) = write_again(store, stored, "one", [replace(before.chunk, headings=("# New",))])
    assert after.key != before.key
    assert vectors_of(store, model, [before, after]) == set()
    assert waiting(store, model, stored.key) == list(after.passages)


def test_a_chunk_with_other_boundaries_is_new(store: MemoryStore) -> None:
    stored, model = embedded(store, "abcdef", passage=3)
    (before,) = chunks(store, stored.key)
    _, pieces = document("abcdef", passage=2)
    (after,) = write_again(store, stored, "abcdef", pieces)
    assert after.key != before.key
    assert not set(after.passages) & set(before.passages)
    assert vectors_of(store, model, [before]) == set()
    assert waiting(store, model, stored.key) == list(after.passages)


def test_a_removed_chunk_loses_its_vectors(store: MemoryStore) -> None:
    stored, model = embedded(store, "one", "two")
    before = chunks(store, stored.key)
    content, pieces = document("two")
    after = write_again(store, stored, content, pieces)
    assert [chunk.key for chunk in after] == [before[1].key]
    assert vectors_of(store, model, before) == set(after[0].passages)
    assert store.write(lambda tx: tx.put_vectors(model, {key: vector(key) for key in before[0].passages})) == 0


def test_remaining_chunks_with_equal_text_keep_their_keys(store: MemoryStore) -> None:
    stored, _ = embedded(store, "same", "same", "same")
    before = {chunk.key for chunk in chunks(store, stored.key)}
    content, pieces = document("same", "same")
    fewer = {chunk.key for chunk in write_again(store, stored, content, pieces)}
    assert len(fewer) == 2
    assert fewer < before


def test_equal_texts_of_two_documents_do_not_share_chunks(store: MemoryStore) -> None:
    first, _ = embedded(store, "same")
    second, model = embedded(store, "same")
    content, pieces = document("other")
    write_again(store, first, content, pieces)
    assert vectors_of(store, model, chunks(store, second.key)) == set(passages(chunks(store, second.key)))


words = st.lists(st.sampled_from(["a", "b", "cc", "\U0001f41d\U0001f41d", "e\u0301"]), min_size=1, max_size=5)


@law
@given(versions=st.lists(words, min_size=2, max_size=5))
def test_common_chunks_of_two_versions_keep_their_keys(fresh: Fresh, versions: list[list[str]]) -> None:
    with fresh() as store:
        stored, model = embedded(store, *versions[0], passage=1)
        memory, before = stored.memory, chunks(store, stored.key)
        chunks_ever, passages_ever = {chunk.key for chunk in before}, set(passages(before))
        with_vector = set(passages(before))
        for version in versions[1:]:
            old = {chunk.key: (text_of(memory.content, chunk), chunk.passages) for chunk in before}
            content, pieces = document(*version, passage=1)
            memory = next_version(memory, content)
            change(store, stored.key, memory, pieces)
            after = chunks(store, stored.key)
            assert [chunk.chunk for chunk in after] == list(pieces)

            kept = [chunk for chunk in after if chunk.key in old]
            assert all(old[chunk.key] == (text_of(content, chunk), chunk.passages) for chunk in kept)
            common = Counter(text for text, _ in old.values()) & Counter(version)
            assert Counter(text_of(content, chunk) for chunk in kept) == common

            added = [chunk for chunk in after if chunk.key not in old]
            assert not {chunk.key for chunk in added} & chunks_ever
            assert not set(passages(added)) & passages_ever

            with_vector &= set(passages(kept))
            assert vectors_of(store, model, [*before, *after]) == with_vector
            assert set(waiting(store, model, stored.key)) == set(passages(after)) - with_vector
            chunks_ever |= {chunk.key for chunk in added}
            passages_ever |= set(passages(added))
            before = after


def test_the_chunks_of_many_documents_are_those_of_each(store: MemoryStore) -> None:
    texts = ["the quick brown fox " * 20, "jumps over", "the lazy dog " * 40]
    keys = [embedded(store, *texts[:count], passage=100)[0].key for count in (3, 1, 2)]
    with store.read() as view:
        found = view.chunks_of([*keys, DocumentKey(max(keys) + 1)])()
        assert {key: list(one) for key, one in found.items()} == {key: list(view.chunks(key)) for key in keys}
        assert [len(found[key]) for key in keys] == [3, 1, 2]
        assert view.chunks_of([])() == {}
