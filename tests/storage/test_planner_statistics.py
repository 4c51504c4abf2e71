"""A store looks at what it has after great loads, and not after small ones."""

from collections.abc import Generator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.memories.drafts import Draft
from hivelore.storage import planner_statistics
from hivelore.storage.planner_statistics import MANY, PlannerStatistics
from support.clocks import SteppingClock
from support.memories import a_memory
from support.migrations import moving
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.stores import add
from support.world import AS_ADA, AS_OPERATOR, World, hashing


class AnalyzeCountingStore(ReferenceStore):
    """Counts how often it looks."""

    def __init__(self) -> None:
        super().__init__(SteppingClock())
        self.looks = 0

    def analyze(self) -> None:
        self.looks += 1


@pytest.fixture
def store() -> Generator[AnalyzeCountingStore]:
    with closing(AnalyzeCountingStore()) as store:
        yield store


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_statistics, "MANY", 3)


def a_world(store: AnalyzeCountingStore) -> World:
    return World(store, ReferenceKeywords(), SteppingClock(), embedder=hashing())


def test_a_small_load_is_not_analyzed(store: AnalyzeCountingStore) -> None:
    load = PlannerStatistics(store)
    load.rows_written(MANY - 1)
    load.load_ended()
    assert store.looks == 0
    load.rows_written(1)
    assert store.looks == 1


@given(st.lists(st.integers(1, 3 * MANY), min_size=1, max_size=200))
def test_a_large_load_is_analyzed_each_time_it_doubles(counts: list[int]) -> None:
    with closing(AnalyzeCountingStore()) as store:
        load, known, written = PlannerStatistics(store), 0, 0
        for count in counts:
            looks = store.looks
            load.rows_written(count)
            written += count
            known = written if store.looks > looks else known
            assert written < known + max(known, MANY)
        assert store.looks <= 1 + (written // MANY).bit_length()
        looks = store.looks
        load.load_ended()
        assert store.looks - looks == (written - known >= MANY)


@pytest.mark.usefixtures("few_are_many")
def test_a_store_is_analyzed_after_many_embeddings_and_again_after_a_reembedding(
    store: AnalyzeCountingStore,
) -> None:
    world = a_world(store)
    world.remember("One.")
    assert store.looks == 0
    for number in range(4):
        world.remember(f"Number {number}.")
    assert store.looks == 1
    world.reembedder.begin(AS_OPERATOR, everything=True)
    world.embed()
    assert store.looks == 2


@pytest.mark.usefixtures("few_are_many")
def test_a_store_is_analyzed_after_its_keywords_were_rebuilt(store: AnalyzeCountingStore) -> None:
    world = a_world(store)
    for number in range(4):
        world.memory_service.remember(Draft(content=f"Number {number}."), AS_ADA)
    world.index_rebuild.request_rebuild()
    world.index_rebuild.run_step()
    assert (store.looks, world.index_rebuild.is_complete()) == (1, True)


@pytest.mark.usefixtures("few_are_many")
def test_the_target_of_a_migration_is_analyzed_before_the_comparison(store: AnalyzeCountingStore) -> None:
    with closing(ReferenceStore(SteppingClock())) as source:
        for _ in range(4):
            add(source, a_memory())
        move = moving(source, store, ReferenceKeywords())
        move.begin()
        for _ in range(2):
            move.follow()
            assert store.looks == 1
        move.index()
        assert store.looks == 2
        assert move.finish() is not None
        assert store.looks == 3
