"""Every store: who embeds what, and who does what only one has to do, where several work on it."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.indexing.model import ModelKey
from hivelore.memories.stored import PassageKey
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.memories import a_memory, document, instant
from support.stores import STORES, add, chunks

NOW = instant(10)
HOUR, NO_TIME = timedelta(hours=1), timedelta()
PATIENCE = 60.0


def queued(store: MemoryStore, size: int) -> tuple[ModelKey, list[PassageKey]]:
    content, pieces = document(*(f"part {number}" for number in range(size)))
    stored = add(store, a_memory(content), pieces)
    model = store.write(lambda tx: tx.register_model("m", 1))
    return model, [key for chunk in chunks(store, stored.key) for key in chunk.passages]


def lease(
    store: MemoryStore, model: ModelKey, limit: int, time: timedelta = HOUR, *, newest_first: bool = False
) -> list[PassageKey]:
    leased = store.write(lambda tx: tx.lease_passages(model, NOW, limit, lease=time, newest_first=newest_first))
    return [one.passage for one in leased]


def waiting(store: MemoryStore, model: ModelKey) -> list[PassageKey]:
    with store.read() as view:
        return [one.passage for one in view.queued_passages(model, NOW, 100)]


def test_leased_passages_are_not_given_to_others(store: MemoryStore) -> None:
    model, keys = queued(store, 5)
    assert lease(store, model, 2) == keys[:2]
    assert lease(store, model, 1, newest_first=True) == keys[4:]
    assert lease(store, model, 9) == keys[2:4]
    assert lease(store, model, 9) == []


def test_leased_passages_still_count_as_pending(store: MemoryStore) -> None:
    model, keys = queued(store, 3)
    lease(store, model, 2)
    assert waiting(store, model) == keys
    with store.read() as view:
        assert view.count_pending(model) == 3


def test_an_expired_lease_can_be_taken_over(store: MemoryStore) -> None:
    model, keys = queued(store, 2)
    assert lease(store, model, 9, NO_TIME) == keys
    assert lease(store, model, 9, NO_TIME) == keys


def test_released_passages_are_given_to_the_next(store: MemoryStore) -> None:
    model, keys = queued(store, 3)
    lease(store, model, 9)
    store.write(lambda tx: tx.release_passages([keys[1], PassageKey(10**9)]))
    assert lease(store, model, 9) == keys[1:2]


def test_a_passage_queued_again_is_not_leased(store: MemoryStore) -> None:
    model, keys = queued(store, 2)
    lease(store, model, 9)
    store.write(lambda tx: tx.put_vectors(model, {keys[0]: np.ones(1, np.float32)}))
    store.write(lambda tx: tx.requeue(model, PassageKey(0), 9))
    assert lease(store, model, 9) == keys[:1]


def test_a_failed_passage_is_free_once_it_is_due(store: MemoryStore) -> None:
    model, keys = queued(store, 2)
    lease(store, model, 9)
    store.write(lambda tx: tx.embedding_failed(model, keys[1], Clean("no"), NOW))
    assert lease(store, model, 9) == keys[1:]


def test_a_failed_transaction_leases_nothing(store: MemoryStore) -> None:
    model, keys = queued(store, 2)

    def work(tx: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(lambda tx: work(tx.lease_passages(model, NOW, 9, lease=HOUR)))
    assert lease(store, model, 9) == keys


def test_one_name_has_one_holder_at_a_time(store: MemoryStore) -> None:
    def lead(holder: str, time: timedelta = HOUR, name: str = "tending") -> bool:
        return store.write(lambda tx: tx.acquire_lease(name, holder, NOW, time))

    assert lead("one")
    assert not lead("other")
    assert lead("one")
    assert lead("other", name="another thing")
    assert lead("one", NO_TIME)
    assert lead("other")
    assert not lead("one")


@pytest.fixture(params=[name for name, kind in STORES.items() if kind.durable])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[MemoryStore, MemoryStore]]:
    """One store, opened twice where it may be."""
    with closing(STORES[request.param].open(tmp_path, SteppingClock())) as one:
        if not one.is_shared:
            yield one, one
            return
        with closing(STORES[request.param].open(tmp_path, SteppingClock())) as other:
            yield one, other


def test_concurrent_workers_share_the_whole_queue(two: tuple[MemoryStore, MemoryStore]) -> None:
    model, keys = queued(two[0], 60)
    start = Barrier(4)

    def work(number: int) -> list[PassageKey]:
        start.wait(PATIENCE)
        mine: list[PassageKey] = []
        while batch := lease(two[number % 2], model, 4):
            mine += batch
        return mine

    with ThreadPoolExecutor(4) as pool:
        taken = [key for done in [pool.submit(work, number) for number in range(4)] for key in done.result(PATIENCE)]
    assert sorted(taken) == keys


def test_one_of_several_concurrent_candidates_becomes_leader(two: tuple[MemoryStore, MemoryStore]) -> None:
    start = Barrier(4)

    def ask(number: int) -> bool:
        start.wait(PATIENCE)
        return two[number % 2].write(lambda tx: tx.acquire_lease("tending", str(number), NOW, HOUR))

    with ThreadPoolExecutor(4) as pool:
        assert sum(done.result(PATIENCE) for done in [pool.submit(ask, number) for number in range(4)]) == 1
