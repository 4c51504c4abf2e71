"""Rebuild and repair of the keyword index by any process, across kills."""

from collections.abc import Callable, Collection, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexing import rebuild
from hivelore.indexing.rebuild import BUILDING, REPAIR, IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.stored import ChunkKey, DocumentKey, Stored
from hivelore.search.service import INCOMPLETE
from hivelore.storage.ports import Transaction, View
from support.clocks import SteppingClock
from support.memories import EVERYTHING
from support.places import IN_MEMORY
from support.reference.keywords import ReferenceKeywords
from support.stores import KEYWORDS, STORES, law
from support.world import AS_ADA, World


class Replica(IndexRebuild):
    """Another process on the same store; ``meanwhile`` is done in the middle of each step."""

    def __init__(self, world: World, meanwhile: Callable[[], object] = lambda: None) -> None:
        class Interrupted(IndexWriter):
            def precompute_entries(self, view: View, documents: Collection[Stored]) -> None:
                super().precompute_entries(view, documents)
                meanwhile()

        super().__init__(world.store, world.keywords, (), Interrupted(world.keywords), world.clock)
        self.begin()

    def finish(self) -> None:
        for _ in range(10):
            self.run_step()


def write(world: World, size: int) -> None:
    Replica(world)  # It names the engine, so that nobody takes the index for that of another one.
    for number in range(size):
        world.remember(f"The kettle number {number} boils.", session="s")


def found(world: World) -> int:
    with world.store.read() as view:
        return len(world.keywords.search(view, ["kettl"], EVERYTHING, 1_000))


def setting(world: World, name: str) -> str | None:
    with world.store.read() as view:
        return view.setting(name)


def lose(world: World, *documents: int) -> None:
    """Let the index lack the first chunk of the documents at these places, in the order in which they came."""
    with world.store.read() as view:
        keys = sorted(view.matching_keys(EVERYTHING))
        chunks = [view.chunks(keys[at])[0].key for at in documents]
    world.store.write(lambda tx: world.keywords.remove(tx, chunks))


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "STEP_DOCUMENTS", 2)


def once_a_step() -> Callable[[], bool]:
    """Stops ``go_on`` after one step."""
    answers = [True, False]
    return answers.pop


def test_requests_during_a_rebuild_join_it(world: World) -> None:
    write(world, 5)
    leader = Replica(world, meanwhile=lambda: leader.request_rebuild())
    world.store.write(world.keywords.clear)
    leader.request_rebuild()
    leader.run_step(once_a_step())
    assert leader.remaining == 3
    leader = Replica(world)
    leader.finish()
    assert (found(world), leader.remaining, setting(world, BUILDING)) == (5, 0, "")


def test_the_leader_runs_a_rebuild_requested_from_another_replica(world: World) -> None:
    write(world, 5)
    leader, other = Replica(world), Replica(world)
    leader.finish()
    world.store.write(world.keywords.clear)
    other.request_rebuild()
    assert (leader.remaining, other.remaining) == (5, 5)
    leader.finish()
    assert (found(world), leader.remaining, other.remaining) == (5, 0, 0)


def test_search_finds_everything_during_a_requested_rebuild(world: World) -> None:
    write(world, 5)
    leader = Replica(world)
    leader.finish()
    leader.request_rebuild()
    for left in (5, 3, 1, 0):
        assert (found(world), leader.remaining, leader.is_complete()) == (5, left, True)
        leader.run_step(once_a_step())


def test_another_process_continues_the_rebuild_of_a_killed_leader(world: World) -> None:
    write(world, 5)
    killed = Replica(world)
    world.store.write(world.keywords.clear)
    killed.request_rebuild()
    killed.run_step(once_a_step())
    heir = Replica(world)
    assert (heir.remaining, found(world)) == (3, 2)
    heir.finish()
    assert (heir.remaining, found(world)) == (0, 5)


def test_two_processes_that_both_lead_do_no_harm(world: World) -> None:
    write(world, 7)
    other = Replica(world)
    one = Replica(world, meanwhile=lambda: other.run_step(once_a_step()))
    world.store.write(world.keywords.clear)
    one.request_rebuild()
    one.finish()
    assert (found(world), one.remaining, other.remaining) == (7, 0, 0)


def test_a_leader_begins_by_indexing_missing_memories(world: World) -> None:
    write(world, 7)
    lose(world, 0, 3, 5)
    leader, other = Replica(world), Replica(world)
    assert found(world) == 4
    leader.run_step(once_a_step())
    other.refresh()
    assert (leader.remaining, leader.is_complete(), other.is_complete()) == (1, False, False)
    leader.finish()
    other.refresh()
    assert (found(world), leader.remaining, leader.is_complete(), other.is_complete()) == (7, 0, True, True)


def test_the_leader_runs_a_repair_requested_by_any_process(world: World) -> None:
    write(world, 5)
    leader, other = Replica(world), Replica(world)
    leader.finish()
    lose(world, 1, 2, 4)
    leader.finish()
    assert found(world) == 2  # Nobody has noticed yet.
    other.request_repair()
    assert (leader.remaining, other.is_complete()) == (3, False)
    leader.finish()
    assert (found(world), leader.remaining, setting(world, REPAIR)) == (5, 0, "")


def test_index_entries_without_a_memory_are_removed(world: World) -> None:
    write(world, 3)
    with world.store.read() as view:
        (key, *_) = sorted(view.matching_keys(EVERYTHING))
    world.store.write(lambda tx: tx.forget(key))
    with world.store.read() as view:
        assert len(world.keywords.orphaned_chunks(view, 10)) == 1
    Replica(world).finish()
    with world.store.read() as view:
        assert not world.keywords.orphaned_chunks(view, 10)


def test_a_memory_that_cannot_be_indexed_is_reported_and_blocks_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(world, 3)
    lose(world, 0, 1, 2)
    tried: list[int] = []

    def fail(index_writer: IndexWriter, tx: Transaction, documents: Collection[Stored]) -> None:
        tried.append(len(documents))

    monkeypatch.setattr(IndexWriter, "index_all", fail)
    leader = Replica(world)
    for _ in range(20):
        leader.run_step()
    assert (leader.remaining, leader.is_complete(), tried) == (3, False, [2, 1])
    leader.request_repair()
    leader.finish()
    assert tried == [2, 1, 2, 1]


def test_answers_say_that_words_are_missing_until_they_are_indexed(clock: SteppingClock, tmp_path: Path) -> None:
    with closing(STORES["sqlite"].open(tmp_path, clock)) as store:
        plain = World(store, KEYWORDS["postings"].index(), clock)
        write(plain, 3)
        leader = Replica(plain)
        world = World(store, plain.keywords, clock, keywords_complete=leader.is_complete)
        leader.finish()
        lose(world, 1)
        leader.request_repair()
        assert INCOMPLETE in world.recall("kettle").message
        leader.finish()
        assert INCOMPLETE not in world.recall("kettle").message


@pytest.mark.parametrize("kind", ["postings", "fts5"])
def test_many_requests_while_the_leader_rebuilds(kind: str, clock: SteppingClock, tmp_path: Path) -> None:
    with closing(STORES["sqlite"].open(tmp_path, clock)) as store:
        world = World(store, KEYWORDS[kind].index(), clock)
        write(world, 40)
        leader, stop, failures = Replica(world), Event(), list[BaseException]()

        def build() -> None:
            try:
                while not stop.is_set():
                    leader.run_step(stop.is_set)
            except BaseException as error:
                failures.append(error)
                raise

        def ask() -> None:
            for _ in range(15):
                leader.request_rebuild()

        threads = [Thread(target=build), *(Thread(target=ask) for _ in range(4))]
        for thread in threads:
            thread.start()
        for thread in threads[1:]:
            thread.join()
        stop.set()
        threads[0].join()
        leader.finish()
        with store.read() as view:
            lacking = list(world.keywords.unindexed_documents(view, DocumentKey(0), 100))
        assert (failures, lacking, leader.remaining, found(world)) == ([], [], 0, 40)


# A law: whatever happens in whatever order, in the end each memory that is there is found, and nothing else.


@contextmanager
def _fresh() -> Generator[World]:
    clock = SteppingClock()
    with TemporaryDirectory(dir=IN_MEMORY) as folder, closing(STORES["reference"].open(Path(folder), clock)) as store:
        yield World(store, ReferenceKeywords(), clock)


steps = st.sampled_from(["remember", "forget", "ask", "ask elsewhere", "step", "step elsewhere", "restart", "lose"])


@law
@given(st.lists(steps, max_size=25))
def test_finally_each_memory_is_found_by_its_words(happened: list[str]) -> None:
    with _fresh() as world:
        write(world, 3)
        leader, other = Replica(world), Replica(world)
        kept = [world.remember("The first kettle.")]
        for number, what in enumerate(happened):
            match what:
                case "remember":
                    kept.append(world.remember(f"Another kettle {number}."))
                case "forget" if kept:
                    world.memory_service.forget(kept.pop().id, AS_ADA)
                case "ask" | "ask elsewhere":
                    (leader if what == "ask" else other).request_rebuild()
                case "step" | "step elsewhere":
                    (leader if what == "step" else other).run_step(once_a_step())
                case "restart":
                    leader = Replica(world)
                case "lose":
                    lose(world, 0)
                case _:
                    pass
        leader.request_repair()
        leader.finish()
        with world.store.read() as view:
            assert not world.keywords.unindexed_documents(view, DocumentKey(0), 100)
            assert not list[ChunkKey](world.keywords.orphaned_chunks(view, 100))
        assert (found(world), leader.remaining, leader.is_complete()) == (3 + len(kept), 0, True)
