"""Every store: which passages wait for a vector, which failed, which are tried again."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.indexing.model import ModelKey
from hivelore.memories.model import Scope
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.sql.view import SqlTransaction
from support.memories import ADA, BOB, EVERYTHING, a_memory, document, instant
from support.stores import Fresh, add, chunks, forget, law

NOW = instant(10)
LATER = instant(11)
BEFORE_ALL = PassageKey(0)


def add_document(store: MemoryStore, *texts: str, owner: AgentId = ADA) -> tuple[DocumentKey, list[PassageKey]]:
    content, pieces = document(*texts)
    stored = add(store, a_memory(content, owner=owner), pieces)
    return stored.key, [key for chunk in chunks(store, stored.key) for key in chunk.passages]


def register(store: MemoryStore, fingerprint: str = "m") -> ModelKey:
    return store.write(lambda tx: tx.register_model(fingerprint, 1))


def embed(store: MemoryStore, model: ModelKey, *keys: PassageKey) -> None:
    store.write(lambda tx: tx.put_vectors(model, {key: np.ones(1, dtype=np.float32) for key in keys}))


def fail(store: MemoryStore, model: ModelKey, key: PassageKey, not_before: datetime = LATER) -> None:
    store.write(lambda tx: tx.embedding_failed(model, key, Clean("no answer"), not_before))


def queue_again(
    store: MemoryStore, model: ModelKey, after: PassageKey = BEFORE_ALL, limit: int = 1_000
) -> Sequence[PassageKey]:
    return store.write(lambda tx: tx.requeue(model, after, limit))


def leave_queue(store: MemoryStore, model: ModelKey, limit: int = 1_000) -> int:
    return store.write(lambda tx: tx.cancel_requeue(model, limit))


def retry_failed(store: MemoryStore, model: ModelKey, limit: int = 1_000) -> int:
    return store.write(lambda tx: tx.retry_failed(model, limit))


def take_up(
    store: MemoryStore, model: ModelKey, after: PassageKey = BEFORE_ALL, limit: int = 1_000
) -> list[PassageKey]:
    return list(store.write(lambda tx: tx.adopt_vectors(model, after, limit)))


def waiting(
    store: MemoryStore, model: ModelKey, now: datetime = NOW, limit: int = 1_000, *, newest_first: bool = False
) -> list[PassageKey]:
    with store.read() as view:
        return [one.passage for one in view.queued_passages(model, now, limit, newest_first=newest_first)]


def counts(store: MemoryStore, model: ModelKey, where: Filter = EVERYTHING) -> tuple[int, int]:
    """Pending and failed."""
    with store.read() as view:
        stats = view.stats(where, model, NOW)
        if where == EVERYTHING:
            assert (stats.pending_embeddings, stats.failed) == (view.count_pending(model), view.count_failing(model))
    return stats.pending_embeddings, stats.failed


def test_added_passages_are_queued_with_their_text(store: MemoryStore) -> None:
    model = register(store)
    texts = ("caf\u00e9 \U0001f41d bees", "second e\u0301", "third")
    key, keys = add_document(store, *texts)
    with store.read() as view:
        found = view.queued_passages(model, NOW, 10)
    assert [(one.passage, one.document, one.text) for one in found] == [
        (passage, key, text) for passage, text in zip(keys, texts, strict=True)
    ]


def test_the_oldest_passages_come_first(store: MemoryStore) -> None:
    model = register(store)
    expected = [passage for _ in range(60) for passage in add_document(store, "one", "two")[1]]
    for limit in (1, 3, 120, 121):
        assert waiting(store, model, limit=limit) == expected[:limit]


def test_the_newest_passages_come_first_on_request(store: MemoryStore) -> None:
    model = register(store)
    expected = [passage for _ in range(60) for passage in add_document(store, "one", "two")[1]][::-1]
    fail(store, model, expected.pop(1))
    fail(store, model, expected.pop(2), instant(11))
    for limit in (1, 3, 118, 119):
        assert waiting(store, model, limit=limit, newest_first=True) == expected[:limit]


def test_the_oldest_passages_come_first_despite_vectors_of_another_model(store: MemoryStore) -> None:
    model, other = register(store, "wanted"), register(store, "other")
    newest = register(store, "newest")
    expected = [passage for _ in range(4) for passage in add_document(store, "one", "two")[1]]
    embed(store, other, expected[0], expected[3])
    embed(store, newest, expected[1])
    for limit in (1, 2, 3, 5, 8):
        assert waiting(store, model, limit=limit) == expected[:limit]
        assert waiting(store, model, limit=limit, newest_first=True) == expected[::-1][:limit]


def test_a_passage_with_a_vector_is_not_queued(store: MemoryStore) -> None:
    model = register(store)
    _, keys = add_document(store, "one", "two")
    embed(store, model, keys[0])
    assert waiting(store, model) == [keys[1]]
    assert counts(store, model) == (1, 0)
    embed(store, model, keys[1])
    assert waiting(store, model) == []
    assert counts(store, model) == (0, 0)


def test_a_failed_passage_waits_until_it_is_due(store: MemoryStore) -> None:
    model = register(store)
    _, (failed, fine) = add_document(store, "one", "two")
    fail(store, model, failed, instant(10))
    assert waiting(store, model, instant(9.99)) == [fine]
    assert waiting(store, model, instant(10)) == [failed, fine]
    assert counts(store, model) == (1, 1)


def test_the_last_failure_counts(store: MemoryStore) -> None:
    model = register(store)
    _, (passage,) = add_document(store, "one")
    fail(store, model, passage)
    fail(store, model, passage, instant(5))
    assert waiting(store, model) == [passage]
    fail(store, model, passage, instant(50))
    assert waiting(store, model) == []
    assert counts(store, model) == (0, 1)


def test_a_failure_concerns_one_model_only(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, (passage,) = add_document(store, "one")
    fail(store, model, passage)
    assert waiting(store, other) == [passage]
    assert counts(store, other) == (1, 0)
    with store.read() as view:
        assert (view.embedding_attempts(model, passage), view.embedding_attempts(other, passage)) == (1, 0)


def test_failures_are_counted_until_a_success(store: MemoryStore) -> None:
    model = register(store)
    _, (passage, other) = add_document(store, "one", "two")
    for attempt in range(1, 4):
        fail(store, model, passage, instant(attempt))
        with store.read() as view:
            assert view.embedding_attempts(model, passage) == attempt
            assert view.embedding_attempts(model, other) == 0
    embed(store, model, passage)
    with store.read() as view:
        assert view.embedding_attempts(model, passage) == 0
    assert counts(store, model) == (1, 0)


def test_all_failures_of_a_model_are_retried(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two", "three")
    fail(store, model, keys[0])
    fail(store, model, keys[1], instant(99))
    fail(store, other, keys[0])
    assert retry_failed(store, model) == 2
    assert waiting(store, model) == keys
    assert counts(store, model) == (3, 0)
    assert counts(store, other) == (2, 1)
    with store.read() as view:
        assert view.embedding_attempts(model, keys[0]) == 0
    assert retry_failed(store, model) == 0


def test_failures_are_deleted_in_batches(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two", "three")
    for key in keys:
        fail(store, model, key)
        fail(store, other, key)
    assert [retry_failed(store, model, 2) for _ in range(3)] == [2, 1, 0]
    assert (counts(store, model), counts(store, other)) == ((3, 0), (0, 3))


def test_a_failure_of_a_missing_passage_is_ignored(store: MemoryStore) -> None:
    model = register(store)
    key, (passage,) = add_document(store, "one")
    forget(store, key)
    fail(store, model, passage)
    assert counts(store, model) == (0, 0)
    assert retry_failed(store, model) == 0


# Going back to a model.


def test_a_model_is_adopted_in_batches_with_the_same_queue(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two", "three", "four", "five")
    embed(store, model, *keys[:4])
    embed(store, other, *keys)
    forget(store, add_document(store, "six")[0])
    assert take_up(store, model, limit=3) == keys[:3]
    assert (waiting(store, model), waiting(store, other)) == (keys[4:], [])
    assert take_up(store, model, after=keys[2], limit=3) == keys[3:4]
    assert (waiting(store, model), waiting(store, other)) == (keys[4:], [])
    assert take_up(store, model, after=keys[3]) == []
    embed(store, model, keys[4])
    assert waiting(store, model) == []


def test_adopted_passages_can_be_queued_again_and_dropped(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two")
    for each in (model, other):
        embed(store, each, *keys)
    queue_again(store, other)
    take_up(store, model)
    assert (waiting(store, model), waiting(store, other)) == ([], keys)
    assert store.write(lambda tx: tx.drop_vectors(model, 10)) == 2
    assert (waiting(store, model), waiting(store, other)) == (keys, keys)


# Embedding again.


def test_a_passage_queued_again_keeps_its_vector_until_the_new_one(store: MemoryStore) -> None:
    model = register(store)
    key, keys = add_document(store, "one", "two", "three")
    embed(store, model, *keys)
    assert queue_again(store, model) == keys
    assert waiting(store, model) == keys
    assert counts(store, model) == (3, 0)
    with store.read() as view:
        assert set(view.vectors(model, keys)) == set(keys)
        assert set(view.embedded(model, [key]).passages.tolist()) == set(keys)
        assert [len(batch) for batch in view.all_embedded(model)] == [3]
    embed(store, model, keys[0])
    assert waiting(store, model) == keys[1:]
    assert counts(store, model) == (2, 0)


def test_only_passages_with_a_vector_can_leave_the_queue(store: MemoryStore) -> None:
    model = register(store)
    _, keys = add_document(store, "one", "two")
    embed(store, model, *keys)
    queue_again(store, model)
    _, (new,) = add_document(store, "three")
    embed(store, model, keys[0])
    assert leave_queue(store, model) == 1
    assert waiting(store, model) == [new]
    assert leave_queue(store, model) == 0


def test_queueing_one_model_again_does_not_affect_another(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two")
    embed(store, model, *keys)
    embed(store, other, *keys)
    queue_again(store, model)
    assert waiting(store, model) == keys
    assert waiting(store, other) == []
    leave_queue(store, model)
    assert waiting(store, model) == []


def test_all_passages_are_queued_again_in_batches(store: MemoryStore) -> None:
    model = register(store)
    documents = [add_document(store, "one", "two") for _ in range(4)]
    keys = [passage for _, passages in documents for passage in passages]
    without = keys.pop(3)
    embed(store, model, *keys)
    assert queue_again(store, model, limit=3) == keys[:3]
    assert waiting(store, model) == sorted([*keys[:3], without])
    embed(store, model, keys[0])
    forget(store, documents[2][0])
    left = [key for key in keys if key not in documents[2][1]]
    assert queue_again(store, model, after=keys[2], limit=3) == left[3:]
    assert queue_again(store, model, after=left[-1], limit=3) == []
    assert waiting(store, model) == sorted([*left[1:], without])


def test_passages_leave_the_queue_in_batches(store: MemoryStore) -> None:
    model = register(store)
    _, keys = add_document(store, "one", "two", "three")
    embed(store, model, *keys)
    queue_again(store, model)
    assert [leave_queue(store, model, 2) for _ in range(3)] == [2, 1, 0]
    assert waiting(store, model) == []


def test_a_passage_is_queued_again_for_one_model_at_a_time(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two")
    embed(store, model, *keys)
    embed(store, other, *keys)
    queue_again(store, model)
    queue_again(store, other, limit=1)
    assert waiting(store, other) == keys[:1]
    assert waiting(store, model) == keys[1:]
    assert (counts(store, model), counts(store, other)) == ((1, 0), (1, 0))


def test_a_passage_queued_again_is_queued_once_when_its_vectors_are_removed(store: MemoryStore) -> None:
    model, other = register(store, "one"), register(store, "other")
    _, keys = add_document(store, "one", "two")
    embed(store, model, *keys)
    embed(store, other, *keys)
    queue_again(store, model)
    assert store.write(lambda tx: tx.drop_vectors(model, 10)) == 2
    assert waiting(store, model) == keys
    assert counts(store, model) == (2, 0)
    assert leave_queue(store, model) == 0


# Counted under a filter.


def test_only_visible_passages_are_counted(store: MemoryStore) -> None:
    model = register(store)
    _, adas = add_document(store, "one", "two", owner=ADA)
    _, bobs = add_document(store, "three", "four", "five", owner=BOB)
    fail(store, model, adas[0])
    fail(store, model, bobs[0])
    embed(store, model, bobs[1])
    assert counts(store, model, Filter(visibility=Visibility(own=ADA, swarm=True))) == (1, 1)
    assert counts(store, model, Filter(visibility=Visibility(own=BOB, swarm=True))) == (1, 1)
    assert counts(store, model, Filter(visibility=Visibility(own=None, swarm=True))) == (0, 0)
    assert counts(store, model) == (2, 2)


fates = st.sampled_from(["nothing", "embedded", "failed", "due", "failed, then embedded"])


@law
@given(fates=st.lists(st.tuples(st.sampled_from([Scope.AGENT, Scope.SWARM]), fates), max_size=10))
def test_every_passage_is_embedded_or_pending_or_failed(fresh: Fresh, fates: list[tuple[Scope, str]]) -> None:
    with fresh() as store:
        model = register(store)
        keys: list[tuple[Scope, str, PassageKey]] = []
        for scope, fate in fates:
            content, pieces = document("text")
            stored = add(store, a_memory(content, scope=scope), pieces)
            (passage,) = chunks(store, stored.key)[0].passages
            keys.append((scope, fate, passage))
            if fate in ("failed", "failed, then embedded"):
                fail(store, model, passage)
            if fate == "due":
                fail(store, model, passage, NOW)
            if fate in ("embedded", "failed, then embedded"):
                embed(store, model, passage)
        shared = Filter(visibility=Visibility(own=None, swarm=True))
        for where, seen in ((EVERYTHING, keys), (shared, [one for one in keys if one[0] is Scope.SWARM])):
            pending = sum(fate == "nothing" for _, fate, _ in seen)
            failed = sum(fate in ("failed", "due") for _, fate, _ in seen)
            assert counts(store, model, where) == (pending, failed)
        assert waiting(store, model) == [passage for _, fate, passage in keys if fate in ("nothing", "due")]


def test_registered_models_are_known_by_fingerprint(store: MemoryStore) -> None:
    with store.read() as view:
        assert view.model_keys() == {}
    one, other = register(store, "one"), register(store, "other")
    register(store, "one")
    with store.read() as view:
        assert view.model_keys() == {"one": one, "other": other}


def test_no_stored_or_pending_vector_is_lost(store: MemoryStore) -> None:
    model, other = register(store), register(store, "other")
    _, keys = add_document(store, "one", "two", "three")
    embed(store, model, keys[0])
    embed(store, other, keys[1])
    with store.read() as view:
        assert view.count_lost_vectors() == 0
    assert store.write(lambda tx: tx.requeue_lost(10)) == 0


# What only damage, or an earlier release, leaves behind.


def sql_of(tx: Transaction) -> SqlTransaction:
    assert isinstance(tx, SqlTransaction)
    return tx


def test_passages_without_a_vector_are_queued_again(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        model, other = register(store), register(store, "other")
        _, keys = add_document(store, "one", "two", "three")
        embed(store, other, *keys)
        embed(store, model, *keys)
        store.write(lambda tx: sql_of(tx).count("vectors_drop", {"model": model, "limit": 2}))
        with store.read() as view:
            assert (view.count_lost_vectors(), view.count_pending(model)) == (2, 0)
        assert store.write(lambda tx: tx.requeue_lost(1)) == 1
        with store.read() as view:
            assert (view.count_lost_vectors(), view.count_pending(model)) == (1, 1)
        assert store.write(lambda tx: tx.requeue_lost(10)) == 1
        assert waiting(store, model) == keys[:2]


def test_failures_given_up_by_an_earlier_release_are_due(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        model = register(store)
        _, (failed, fine) = add_document(store, "one", "two")
        given_up = {"model": model, "passage": failed, "not_before": None, "error": "no"}
        store.write(lambda tx: sql_of(tx).run("failure_put", given_up))
        assert waiting(store, model) == [failed, fine]
        assert counts(store, model) == (1, 1)
