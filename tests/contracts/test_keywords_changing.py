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


def test_removed_chunks_are_not_found_and_removing_twice_is_fine(indexed: Indexed) -> None:
    stored = indexed.add("java", "build")
    java, build = indexed.chunk_keys(stored)
    indexed.remove(java, ChunkKey(build + 1_000))
    indexed.remove(java)
    assert indexed.found("java") == []
    assert [candidate.chunk for candidate in indexed.search("build")] == [build]


def test_what_was_removed_does_not_weigh_on_the_others(indexed: Indexed) -> None:
    for _ in range(2):
        indexed.add("java one")
    indexed.add("python two three")
    before = indexed.search("java python")
    ballast = [indexed.add("java " * 30, "python " * 9) for _ in range(9)]
    for stored in ballast:
        indexed.remove(*indexed.chunk_keys(stored))
    assert [candidate.document for candidate in indexed.search("java python")] == [one.document for one in before]
    assert [one.score for one in indexed.search("java python")] == pytest.approx([one.score for one in before])


def test_replacing_terms_again_and_again_leaves_no_weight_behind(indexed: Indexed) -> None:
    stored, other = indexed.add("java one"), indexed.add("python two three")
    before = indexed.search("java python")
    for terms in ("java " * 50, "", "python x y z", "java one"):
        indexed.put(stored, indexed.chunk_keys(stored)[0], terms)
    after = indexed.search("java python")
    assert [one.document for one in after] == [one.document for one in before]
    assert [one.score for one in after] == pytest.approx([one.score for one in before])
    assert {one.document for one in after} == {stored.key, other.key}


def test_a_forgotten_document_is_not_found_even_before_its_terms_are_removed(indexed: Indexed) -> None:
    stored, other = indexed.add("java"), indexed.add("java build")
    keys = indexed.chunk_keys(stored)
    forget(indexed.store, stored.key)
    assert indexed.found("java") == [other.key]
    indexed.remove(*keys)
    assert indexed.found("java") == [other.key]


def test_a_chunk_that_was_rewritten_is_not_proposed_even_before_its_terms_are_removed(indexed: Indexed) -> None:
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


def test_a_chunk_that_only_moved_stays_indexed(indexed: Indexed) -> None:
    stored = indexed.add("java", "build")
    _, build = indexed.chunk_keys(stored)
    content, pieces = document("chunk 1")
    change(indexed.store, stored.key, next_version(stored.memory, content), pieces)
    assert [candidate.chunk for candidate in indexed.search("build")] == [build]


def test_a_filter_sees_the_present_version(indexed: Indexed) -> None:
    stored = indexed.add("java")
    shared = Filter(visibility=Visibility(own=BOB, swarm=True))
    assert indexed.found("java", shared) == []
    change(indexed.store, stored.key, next_version(stored.memory, scope=Scope.SWARM))
    assert indexed.found("java", shared) == [stored.key]


# Transactions.


class Refused(Exception):
    """What a unit of work of these tests raises."""


def test_a_unit_that_fails_leaves_the_index_as_it_was(indexed: Indexed) -> None:
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


def test_a_unit_finds_what_it_indexed(indexed: Indexed) -> None:
    def work(tx: Transaction) -> tuple[DocumentKey, list[DocumentKey]]:
        stored = tx.add(a_memory("text"), whole("text"))
        indexed.index.put(tx, [entry(stored, tx.chunks(stored.key)[0].key, own("java"))])
        return stored.key, [one.document for one in indexed.index.search(tx, ["java"], EVERYTHING, 10)]

    key, found = indexed.store.write(work)
    assert found == [key]


def test_a_snapshot_does_not_find_what_was_indexed_later(indexed: Indexed) -> None:
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


def test_a_store_may_keep_documents_that_are_not_indexed(indexed: Indexed) -> None:
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


def test_nothing_is_missing_of_what_was_indexed_even_without_a_term(indexed: Indexed) -> None:
    stored = indexed.add("java", "")
    indexed.put(stored, indexed.chunk_keys(stored)[0], "python")
    assert (missing(indexed), strays(indexed)) == ([], set())


def test_documents_of_which_any_chunk_is_not_indexed_are_missing_in_their_order(indexed: Indexed) -> None:
    first, _, third, fourth = (indexed.add("java", "build") for _ in range(4))
    for stored in (third, first, fourth):
        indexed.remove(indexed.chunk_keys(stored)[1])
    assert missing(indexed) == [first.key, third.key, fourth.key]
    assert missing(indexed, after=first.key, limit=1) == [third.key]
    assert missing(indexed, after=fourth.key) == []


def test_chunks_that_are_indexed_without_being_in_the_store_are_strays(indexed: Indexed) -> None:
    gone, stored = indexed.add("java", "build"), indexed.add("java")
    keys = indexed.chunk_keys(gone)
    forget(indexed.store, gone.key)
    assert (strays(indexed), missing(indexed)) == (set(keys), [])
    assert strays(indexed, limit=1) < set(keys)
    indexed.store.write(lambda tx: indexed.index.forget(tx, keys))
    assert (strays(indexed), indexed.found("java")) == (set(), [stored.key])


def test_after_clearing_all_is_missing(indexed: Indexed) -> None:
    stored = [indexed.add("java").key for _ in range(3)]
    indexed.store.write(indexed.index.clear)
    assert missing(indexed) == stored
