"""Every store: adding memories, finding them by unique fields, deleting them."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.indexing.model import Change, ChangeKind, ModelKey
from hivelore.memories.model import Json, Memory, MemoryId, Scope, Statement
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import START
from support.memories import (
    ADA,
    BOB,
    EVERYTHING,
    a_memory,
    chunks_of,
    document,
    instant,
    memories,
    memory_id,
    next_version,
    whole,
)
from support.stores import Fresh, add, change, chunks, forget, history, law, listed, present, read_changes

PATH = Clean("/shared/memory/build.md")


# Adding.


@law
@given(memory=memories(), data=st.data())
def test_a_memory_is_read_as_it_was_added(fresh: Fresh, memory: Memory, data: st.DataObject) -> None:
    pieces = data.draw(chunks_of(memory.content))
    with fresh() as store:
        added = add(store, memory, pieces)
        found = present(store, memory)
        stored_chunks = chunks(store, found.key)
    assert added == found == Stored(found.key, memory)
    assert json.dumps(found.memory.metadata, sort_keys=True) == json.dumps(memory.metadata, sort_keys=True)
    assert [stored.chunk for stored in stored_chunks] == list(pieces)
    assert {stored.document for stored in stored_chunks} <= {found.key}
    assert [len(stored.passages) for stored in stored_chunks] == [len(piece.passages) for piece in pieces]


def test_a_memory_without_chunks_is_accepted(store: MemoryStore) -> None:
    assert list(chunks(store, add(store, a_memory(), ()).key)) == []


def test_documents_chunks_and_passages_have_unique_keys(store: MemoryStore) -> None:
    content, pieces = document("first part", "second part", passage=4)
    stored = [add(store, a_memory(content), pieces) for _ in range(3)]
    kept = [chunk for one in stored for chunk in chunks(store, one.key)]
    assert len({one.key for one in stored}) == 3
    assert len({chunk.key for chunk in kept}) == len(kept) == 6
    passages = [passage for chunk in kept for passage in chunk.passages]
    assert len(set(passages)) == len(passages) == 18


@pytest.mark.parametrize("unknown", ["", "%", "no id at all", memory_id(10**9), "é" * 100])
def test_an_unknown_id_is_not_found(store: MemoryStore, unknown: str) -> None:
    add(store, a_memory())
    with store.read() as view:
        assert view.get(MemoryId(unknown)) is None


def test_the_keys_of_known_ids_are_found(store: MemoryStore) -> None:
    first, second, third = (add(store, a_memory()) for _ in range(3))
    forget(store, third.key)
    with store.read() as view:
        assert view.keys_of([first.memory.id, third.memory.id, memory_id(999), second.memory.id]) == {
            first.memory.id: first.key,
            second.memory.id: second.key,
        }
        assert view.keys_of([]) == {}


def test_an_unknown_key_has_nothing(store: MemoryStore) -> None:
    unknown = DocumentKey(add(store, a_memory()).key + 1_000)
    with store.read() as view:
        assert list(view.chunks(unknown)) == []
        assert list(view.history(unknown)) == []
        assert list(view.earlier_in_session(unknown, 5)) == []
        assert list(view.later_in_session(unknown, 5)) == []
        assert view.memories_of([unknown], EVERYTHING) == {}
        assert view.attributes([unknown]) == {}


def test_changing_a_value_outside_does_not_change_the_store(store: MemoryStore) -> None:
    seen: list[Json] = [1]
    memory = a_memory(metadata={"inner": {"seen": seen}})
    add(store, memory)
    seen.append(2)
    handed_out = present(store, memory).memory.metadata
    assert handed_out == {"inner": {"seen": [1]}}
    inner = handed_out["inner"]
    assert isinstance(inner, dict)
    inner.clear()
    assert present(store, memory).memory.metadata == {"inner": {"seen": [1]}}


# What only one may have.


def refused(store: MemoryStore, memory: Memory) -> None:
    before = listed(store)
    with store.read() as view:
        newest = view.change_cursor()
    with pytest.raises(Conflict) as error:
        add(store, memory)
    assert str(error.value).strip()
    assert listed(store) == before
    with store.read() as view:
        assert read_changes(view, newest) == []


def test_ids_are_found_by_their_beginning(store: MemoryStore) -> None:
    ids = [MemoryId(one) for one in ("0190-a", "0190-b", "0190-ba", "0191-a")]
    for one in ids:
        add(store, a_memory(id=one, scope=Scope.AGENT if one.endswith("ba") else Scope.SWARM))
    shared = replace(EVERYTHING, visibility=Visibility(own=None, swarm=True))
    with store.read() as view:
        assert list(view.ids_from("0190", EVERYTHING, 10)) == ids[:3]
        assert list(view.ids_from("0190-b", EVERYTHING, 10)) == ids[1:3]
        assert list(view.ids_from("0190", shared, 10)) == ids[:2]
        assert list(view.ids_from("0190", EVERYTHING, 1)) == ids[:1]
        assert list(view.ids_from("0192", EVERYTHING, 10)) == []


def test_a_used_id_is_refused(store: MemoryStore) -> None:
    memory = a_memory()
    add(store, memory)
    refused(store, a_memory("Something else.", id=memory.id, owner=BOB))
    assert present(store, memory).memory == memory


def at_path(name: str, owner: AgentId | None, scope: Scope) -> Memory:
    return a_memory(source_path=Clean(name), owner=owner, scope=scope)


def with_external_id(name: str, owner: AgentId | None, scope: Scope) -> Memory:
    return a_memory(external_id=Clean(name), owner=owner, scope=scope)


MakeNamed = Callable[[str, AgentId | None, Scope], Memory]
each_name = pytest.mark.parametrize("named", [at_path, with_external_id])


@each_name
def test_a_private_name_is_unique_per_owner(store: MemoryStore, named: MakeNamed) -> None:
    add(store, named("n", ADA, Scope.AGENT))
    refused(store, named("n", ADA, Scope.AGENT))
    add(store, named("n", BOB, Scope.AGENT))


@each_name
def test_a_shared_name_is_unique_among_all_owners(store: MemoryStore, named: MakeNamed) -> None:
    add(store, named("n", ADA, Scope.SWARM))
    refused(store, named("n", BOB, Scope.SWARM))
    refused(store, named("n", None, Scope.SWARM))


@each_name
def test_the_name_of_a_memory_without_an_owner_is_unique(store: MemoryStore, named: MakeNamed) -> None:
    add(store, named("n", None, Scope.SWARM))
    refused(store, named("n", None, Scope.SWARM))


@each_name
def test_a_name_may_be_both_private_and_shared(store: MemoryStore, named: MakeNamed) -> None:
    add(store, named("n", ADA, Scope.SWARM))
    add(store, named("n", ADA, Scope.AGENT))
    assert len(listed(store)) == 2


@each_name
@pytest.mark.parametrize("other", ["N", "n ", "", "%", "_"])
def test_names_that_differ_at_all_are_different(store: MemoryStore, named: MakeNamed, other: str) -> None:
    add(store, named("n", ADA, Scope.AGENT))
    add(store, named(other, ADA, Scope.AGENT))
    assert len(listed(store)) == 2


def test_a_path_and_an_external_id_may_be_equal(store: MemoryStore) -> None:
    add(store, at_path("n", ADA, Scope.AGENT))
    add(store, with_external_id("n", ADA, Scope.AGENT))
    assert len(listed(store)) == 2


def test_a_document_is_found_by_its_path_in_its_scope_only(store: MemoryStore) -> None:
    private, shared = at_path(PATH, ADA, Scope.AGENT), at_path(PATH, BOB, Scope.SWARM)
    found = {add(store, memory).memory.id: memory for memory in (private, shared)}
    assert len(found) == 2
    with store.read() as view:
        assert list(view.memories_at_path(ADA, PATH)) == [view.get(private.id)]
        assert list(view.memories_at_path(None, PATH)) == [view.get(shared.id)]
        assert not view.memories_at_path(BOB, PATH)
        assert not view.memories_at_path(ADA, Clean(PATH.upper()))
        assert not view.memories_with_external_id(ADA, PATH)


def test_a_document_is_found_by_its_external_id_in_its_scope_only(store: MemoryStore) -> None:
    private, shared = with_external_id("x-1", ADA, Scope.AGENT), with_external_id("x-1", BOB, Scope.SWARM)
    found = {add(store, memory).memory.id: memory for memory in (private, shared)}
    assert len(found) == 2
    with store.read() as view:
        assert list(view.memories_with_external_id(ADA, Clean("x-1"))) == [view.get(private.id)]
        assert list(view.memories_with_external_id(None, Clean("x-1"))) == [view.get(shared.id)]
        assert not view.memories_with_external_id(BOB, Clean("x-1"))
        assert not view.memories_at_path(ADA, Clean("x-1"))


@each_name
@pytest.mark.parametrize("scope", Scope)
def test_a_name_is_unique_per_project(store: MemoryStore, named: MakeNamed, scope: Scope) -> None:
    memories = [replace(named("n", ADA, scope), project=project) for project in (None, Clean("p"), Clean("P"))]
    found = [add(store, memory) for memory in memories]
    for memory in memories:
        refused(store, replace(named("n", ADA, scope), project=memory.project))
    home = ADA if scope is Scope.AGENT else None
    with store.read() as view:
        assert [*view.memories_at_path(home, Clean("n")), *view.memories_with_external_id(home, Clean("n"))] == found


statements: st.SearchStrategy[Statement] = st.builds(
    Statement,
    owner=st.sampled_from([ADA, BOB]),
    scope=st.sampled_from(Scope),
    project=st.sampled_from([None, Clean("p"), Clean("P")]),
    session=st.sampled_from([None, Clean("s")]),
    name=st.sampled_from([Clean("build"), Clean("Build"), Clean("\u00e9"), Clean("e\u0301")]),
    content=st.sampled_from([Clean("Use Java 21."), Clean("Use Java 21. "), Clean("build")]),
)


@st.composite
def statements_and_query(draw: st.DrawFn) -> tuple[list[tuple[Statement, int]], Statement]:
    """Statements with their times, and a query: all equal except in one or two fields."""
    asked = draw(statements)
    other = st.tuples(statements, st.sets(st.sampled_from(Statement._fields), max_size=2))
    near = other.map(lambda one: asked._replace(**{field: getattr(one[0], field) for field in one[1]}))
    return draw(st.lists(st.tuples(near, st.integers(0, 3)), max_size=8)), asked


@law
@given(statements=statements_and_query())
def test_the_same_statement_is_the_newest_equal_one(
    fresh: Fresh, statements: tuple[list[tuple[Statement, int]], Statement]
) -> None:
    written, asked = statements
    with fresh() as store:
        for statement, minute in written:
            add(store, a_memory(created_at=instant(minute), **statement._asdict()))
        same = [memory for memory in listed(store) if memory.statement == asked]
        with store.read() as view:
            found = view.memory_with_statement(asked)
    newest = max(same, key=lambda memory: (memory.created_at, memory.id), default=None)
    assert (found.memory if found else None) == newest


def test_the_newest_statement_is_the_one_created_last(store: MemoryStore) -> None:
    newest = add(store, a_memory("Use Java 21.", created_at=instant(5)))
    add(store, a_memory("Use Java 21.", created_at=instant(4)))
    with store.read() as view:
        assert view.memory_with_statement(newest.memory.statement) == newest


def test_a_statement_without_an_owner_is_not_that_of_an_agent(store: MemoryStore) -> None:
    own = add(store, a_memory(owner=None, scope=Scope.SWARM))
    add(store, a_memory(owner=ADA, scope=Scope.SWARM))
    with store.read() as view:
        assert view.memory_with_statement(own.memory.statement) == own


def test_a_statement_that_was_changed_is_no_longer_the_same(store: MemoryStore) -> None:
    stored = add(store, a_memory("Use Java 17.", name=Clean("java")))
    after = next_version(stored.memory, "Use Java 21.")
    change(store, stored.key, after, whole("Use Java 21."))
    with store.read() as view:
        assert view.memory_with_statement(stored.memory.statement) is None
        assert view.memory_with_statement(after.statement) is not None


# Forgetting.


def test_deleting_a_memory_leaves_nothing(store: MemoryStore) -> None:
    content, pieces = document("first part", "second part", passage=4)
    memory = a_memory(
        content, source_path=PATH, external_id=Clean("x"), session=Clean("s"), tags=(Clean("t"),), expires_at=START
    )
    stored = add(store, memory, pieces)
    change(store, stored.key, next_version(memory))
    passages = [passage for chunk in chunks(store, stored.key) for passage in chunk.passages]

    def embed(tx: Transaction) -> ModelKey:
        model = tx.register_model("m", 2)
        tx.put_vectors(model, {passages[0]: np.array([1, 0], dtype=np.float32)})
        tx.embedding_failed(model, passages[1], Clean("too long"), instant(30))
        return model

    model = store.write(embed)
    forget(store, stored.key)
    with store.read() as view:
        assert view.get(memory.id) is None
        assert not view.memories_at_path(ADA, PATH)
        assert not view.memories_with_external_id(ADA, Clean("x"))
        assert view.memory_with_statement(memory.statement) is None
        assert list(view.page(EVERYTHING, None, 10)) == []
        assert list(view.matching_keys(EVERYTHING)) == []
        assert view.memories_of([stored.key], EVERYTHING) == {}
        assert view.attributes([stored.key]) == {}
        assert list(view.chunks(stored.key)) == []
        assert list(view.history(stored.key)) == []
        assert view.vectors(model, passages) == {}
        assert len(view.embedded(model, [stored.key])) == 0
        assert list(view.all_embedded(model)) == []
        assert list(view.queued_passages(model, instant(10), 10)) == []
        assert view.count_pending(model) == 0
        stats = view.stats(EVERYTHING, model, instant(10))
        assert (stats.total, stats.expired, stats.pending_embeddings, stats.failed) == (0, 0, 0, 0)
    assert store.write(lambda tx: tx.retry_failed(model, 10)) == 0
    assert store.write(lambda tx: tx.drop_vectors(model, 10)) == 0


def test_deleting_a_memory_is_in_the_change_log(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    with store.read() as view:
        before = view.change_cursor()
    forget(store, stored.key)
    with store.read() as view:
        (change,) = read_changes(view, before)
    assert change == Change(change.seq, ChangeKind.FORGOTTEN, stored.key)


def test_deleting_a_memory_twice_is_logged_once(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    forget(store, stored.key)
    forget(store, stored.key)
    forget(store, DocumentKey(stored.key + 1_000))
    with store.read() as view:
        kinds = [change.kind for change in read_changes(view)]
    assert kinds == [ChangeKind.CREATED, ChangeKind.FORGOTTEN]


def test_deleting_a_memory_does_not_affect_others(store: MemoryStore) -> None:
    twin, other = a_memory(tags=(Clean("t"),)), a_memory(tags=(Clean("t"),))
    doomed = add(store, twin)
    kept = add(store, other)
    before = chunks(store, kept.key)
    forget(store, doomed.key)
    assert listed(store) == [other]
    assert chunks(store, kept.key) == before
    assert len(history(store, kept.key)) == 1


def test_a_deleted_memory_can_be_added_again_with_new_keys(store: MemoryStore) -> None:
    content, pieces = document("first part", "second part")
    memory = a_memory(content, source_path=PATH, external_id=Clean("x"))
    first = add(store, memory, pieces)
    old = chunks(store, first.key)
    forget(store, first.key)
    second = add(store, memory, pieces)
    new = chunks(store, second.key)
    assert second.key != first.key
    assert not {chunk.key for chunk in old} & {chunk.key for chunk in new}
    assert not {key for chunk in old for key in chunk.passages} & {key for chunk in new for key in chunk.passages}
    assert len(history(store, second.key)) == 1


@law
@given(forgotten=st.lists(st.booleans(), min_size=1, max_size=12))
def test_keys_are_never_reused(fresh: Fresh, forgotten: list[bool]) -> None:
    documents: list[int] = []
    pieces: list[int] = []
    passages: list[int] = []
    with fresh() as store:
        for doomed in forgotten:
            stored = add(store, a_memory("some text"))
            documents.append(stored.key)
            for chunk in chunks(store, stored.key):
                pieces.append(chunk.key)
                passages.extend(chunk.passages)
            if doomed:
                forget(store, stored.key)
    for keys in (documents, pieces, passages):
        assert len(set(keys)) == len(keys) == len(forgotten)
