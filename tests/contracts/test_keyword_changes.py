"""Every keyword engine: indexing again, removing, units of work, snapshots."""

from collections.abc import Mapping

import pytest

from hivelore.memories.model import Scope
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View
from support.keywords import Columns, Indexed, entry, own
from support.memories import BOB, EVERYTHING, a_memory, document, next_version, whole
from support.stores import add, change, forget

# Changing what is indexed.


def test_indexing_a_chunk_again_replaces_its_terms(indexed: Indexed) -> None:
    stored = indexed.add(Columns(own=("old",), context=("older",), header=("kept",)))
    (chunk,) = indexed.chunk_keys(stored)
    indexed.put(stored, chunk, Columns(own=("new",), header=("kept",)))
    assert indexed.found("old older") == []
    assert indexed.found("new") == indexed.found("kept") == [stored.key]


def test_removed_chunks_are_not_found(indexed: Indexed) -> None:
    stored = indexed.add("java", "build")
    java, build = indexed.chunk_keys(stored)
    indexed.remove(java, ChunkKey(build + 1_000))
    indexed.remove(java)
    assert indexed.found("java") == []
    assert [candidate.chunk for candidate in indexed.search("build")] == [build]


def test_removed_chunks_do_not_affect_the_scores_of_others(indexed: Indexed) -> None:
    for _ in range(2):
        indexed.add("java one")
    indexed.add("python two three")
    before = indexed.search("java python")
    ballast = [indexed.add("java " * 30, "python " * 9) for _ in range(9)]
    for stored in ballast:
        indexed.remove(*indexed.chunk_keys(stored))
    assert [candidate.document for candidate in indexed.search("java python")] == [one.document for one in before]
    assert [one.score for one in indexed.search("java python")] == pytest.approx([one.score for one in before])


def test_replacing_terms_repeatedly_leaves_no_weight(indexed: Indexed) -> None:
    stored, other = indexed.add("java one"), indexed.add("python two three")
    before = indexed.search("java python")
    for terms in ("java " * 50, "", "python x y z", "java one"):
        indexed.put(stored, indexed.chunk_keys(stored)[0], terms)
    after = indexed.search("java python")
    assert [one.document for one in after] == [one.document for one in before]
    assert [one.score for one in after] == pytest.approx([one.score for one in before])
    assert {one.document for one in after} == {stored.key, other.key}


def test_a_deleted_document_is_not_found_before_its_terms_are_removed(indexed: Indexed) -> None:
    stored, other = indexed.add("java"), indexed.add("java build")
    keys = indexed.chunk_keys(stored)
    forget(indexed.store, stored.key)
    assert indexed.found("java") == [other.key]
    indexed.remove(*keys)
    assert indexed.found("java") == [other.key]


def test_a_rewritten_chunk_is_not_found_before_its_terms_are_removed(indexed: Indexed) -> None:
    stored = indexed.add("java", "build")
    gone, _ = indexed.chunk_keys(stored)
    content, pieces = document("something new", "chunk 1")
    change(indexed.store, stored.key, next_version(stored.memory, content), pieces)
    new, kept = indexed.chunk_keys(stored)
    assert gone not in (new, kept)
    assert indexed.found("java") == []
    assert [candidate.chunk for candidate in indexed.search("build")] == [kept]
    indexed.put(stored, new, "java")
    assert [candidate.chunk for candidate in indexed.search("java")] == [new]


def test_a_moved_chunk_stays_indexed(indexed: Indexed) -> None:
    stored = indexed.add("java", "build")
    _, build = indexed.chunk_keys(stored)
    content, pieces = document("chunk 1")
    change(indexed.store, stored.key, next_version(stored.memory, content), pieces)
    assert [candidate.chunk for candidate in indexed.search("build")] == [build]


def test_a_filter_applies_to_the_current_version(indexed: Indexed) -> None:
    stored = indexed.add("java")
    shared = Filter(visibility=Visibility(own=BOB, swarm=True))
    assert indexed.found("java", shared) == []
    change(indexed.store, stored.key, next_version(stored.memory, scope=Scope.SWARM))
    assert indexed.found("java", shared) == [stored.key]


# Transactions.


class Refused(Exception):
    """Raised inside a transaction to roll it back."""


def test_a_failed_transaction_does_not_change_the_index(indexed: Indexed) -> None:
    stored = indexed.add("java one")
    (chunk,) = indexed.chunk_keys(stored)
    before = list(indexed.search("java"))

    def work(tx: Transaction) -> None:
        indexed.index.put(tx, [entry(stored, chunk, own("python java java"))])
        other = tx.add(a_memory("other"), whole("other"))
        indexed.index.put(tx, [entry(other, tx.chunks(other.key)[0].key, own("java"))])
        indexed.index.remove(tx, [chunk])
        raise Refused

    with pytest.raises(Refused):
        indexed.store.write(work)
    assert list(indexed.search("java")) == before
    assert indexed.found("python") == []


def test_a_transaction_finds_documents_that_it_indexed(indexed: Indexed) -> None:
    def work(tx: Transaction) -> tuple[DocumentKey, list[DocumentKey]]:
        stored = tx.add(a_memory("text"), whole("text"))
        indexed.index.put(tx, [entry(stored, tx.chunks(stored.key)[0].key, own("java"))])
        return stored.key, [one.document for one in indexed.index.search(tx, ["java"], EVERYTHING, 10)]

    key, found = indexed.store.write(work)
    assert found == [key]


def test_a_snapshot_does_not_find_documents_indexed_later(indexed: Indexed) -> None:
    old = indexed.add("java")
    (chunk,) = indexed.chunk_keys(old)

    def found(view: View) -> Mapping[str, list[DocumentKey]]:
        return {
            term: [one.document for one in indexed.index.search(view, [term], EVERYTHING, 10)]
            for term in ("java", "python")
        }

    with indexed.store.read() as view:
        new = indexed.add("java")
        indexed.put(old, chunk, "python")
        assert found(view) == {"java": [old.key], "python": []}
    with indexed.store.read() as view:
        assert found(view) == {"java": [new.key], "python": [old.key]}


def test_an_engine_has_a_name(indexed: Indexed) -> None:
    assert indexed.index.name.strip()


def test_a_store_may_have_documents_without_an_index(indexed: Indexed) -> None:
    add(indexed.store, a_memory("java"))
    stored = indexed.add("java")
    assert indexed.found("java") == [stored.key]


# Comparing with the store.


def missing(indexed: Indexed, after: int = 0, limit: int = 100) -> list[DocumentKey]:
    with indexed.store.read() as view:
        return list(indexed.index.unindexed_documents(view, DocumentKey(after), limit))


def strays(indexed: Indexed, limit: int = 100) -> set[ChunkKey]:
    with indexed.store.read() as view:
        return set(indexed.index.orphaned_chunks(view, limit))


def test_indexed_chunks_without_terms_are_not_missing(indexed: Indexed) -> None:
    stored = indexed.add("java", "")
    indexed.put(stored, indexed.chunk_keys(stored)[0], "python")
    assert (missing(indexed), strays(indexed)) == ([], set())


def test_documents_with_unindexed_chunks_are_missing_in_order(indexed: Indexed) -> None:
    first, _, third, fourth = (indexed.add("java", "build") for _ in range(4))
    for stored in (third, first, fourth):
        indexed.remove(indexed.chunk_keys(stored)[1])
    assert missing(indexed) == [first.key, third.key, fourth.key]
    assert missing(indexed, after=first.key, limit=1) == [third.key]
    assert missing(indexed, after=fourth.key) == []


def test_indexed_chunks_that_the_store_lacks_are_strays(indexed: Indexed) -> None:
    gone, stored = indexed.add("java", "build"), indexed.add("java")
    keys = indexed.chunk_keys(gone)
    forget(indexed.store, gone.key)
    assert (strays(indexed), missing(indexed)) == (set(keys), [])
    assert strays(indexed, limit=1) < set(keys)
    indexed.store.write(lambda tx: indexed.index.forget(tx, keys))
    assert (strays(indexed), indexed.found("java")) == (set(), [stored.key])


def test_all_documents_are_missing_after_clearing(indexed: Indexed) -> None:
    stored = [indexed.add("java").key for _ in range(3)]
    indexed.store.write(indexed.index.clear)
    assert missing(indexed) == stored
