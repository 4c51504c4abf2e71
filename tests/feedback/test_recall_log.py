"""The recall log: queries, callers, returned memories and scores; written once a second, bounded."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.paging import cursor_of
from hivelore.errors import NotFound, Unavailable
from hivelore.feedback.recall_log import RECALLS, UNIT, WriteBehindBuffer
from hivelore.feedback.recalls import QUESTION_LENGTH, Recall
from hivelore.maintenance.housekeeper import PRUNE_BATCH, PRUNE_EVERY, Housekeeper
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Scope
from hivelore.search.model import RetrievalMode
from hivelore.storage.ports import Transaction
from support.clocks import SteppingClock
from support.recalls import a_recall, logged
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, BOB, World

T = TypeVar("T")
DAY = timedelta(days=1)


class Faulty(ReferenceStore):
    """A store that cannot be written while ``full``."""

    full = False
    writes = 0

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        self.writes += 1
        if self.full:
            raise Unavailable("The disk is full.")
        return super().write(work, deadline)


@pytest.fixture
def store(clock: SteppingClock) -> Faulty:
    return Faulty(clock)


@pytest.fixture
def small(store: Faulty, clock: SteppingClock) -> World:
    """A world in memory, for behaviour that does not depend on the store."""
    return World(store, ReferenceKeywords(), clock)


def page(world: World, viewer: Viewer = AS_OPERATOR, limit: int = 100) -> tuple[Recall, ...]:
    return world.recall_log.page(viewer, None, limit).recalls


def questions(world: World, viewer: Viewer) -> list[str]:
    return [one.question for one in page(world, viewer)]


def test_a_recall_is_logged_with_its_caller_and_the_scores(world: World) -> None:
    world.remember("The build needs Java 21.", project="hive")
    world.remember("Java is an island.")
    world.clock.advance(DAY)
    answer = world.recall("Which Java does the build need?", AS_ADA, project="hive", session=None)
    (one,) = page(world)
    assert (one.id, one.at, one.agent, one.role, one.interface) == (
        answer.id,
        world.clock.now(),
        ADA,
        AS_ADA.role,
        AS_ADA.interface,
    )
    assert (one.question, one.project, one.session) == ("Which Java does the build need?", "hive", None)
    assert (one.path, one.candidates) == (answer.path, 2)
    assert [hit.memory for hit in one.hits] == [hit.memory.id for hit in answer.hits]
    for logged_hit, hit in zip(one.hits, answer.hits, strict=True):
        assert astuple(logged_hit.score) == pytest.approx(astuple(hit.score))
        assert (logged_hit.relevance, logged_hit.fits) == (pytest.approx(hit.relevance), hit.fits)


def test_an_answer_with_recent_memories_is_logged_as_that(small: World) -> None:
    memory = small.remember("The build needs Java 21.")
    small.recall("wombat")
    (one,) = page(small)
    assert (one.path, one.candidates, [hit.memory for hit in one.hits]) == (RetrievalMode.RECENT, 0, [memory.id])


def test_a_recall_waits_for_no_write(small: World, store: Faulty) -> None:
    before = store.writes
    small.recall("wombat")
    assert store.writes == before
    small.write_buffer.flush()
    assert len(logged(store)) == 1


def test_the_beginning_of_a_long_query_is_kept(small: World) -> None:
    small.recall("wombat " * 1_000)
    assert questions(small, AS_ADA) == [("wombat " * 1_000)[:QUESTION_LENGTH]]


def test_nothing_is_logged_if_the_log_is_off(store: Faulty, clock: SteppingClock) -> None:
    world = World(store, ReferenceKeywords(), clock, logged_for=timedelta(0))
    assert world.recall("wombat").id is None
    assert page(world) == ()


def test_a_recall_that_cannot_be_logged_is_answered_and_logged_later(small: World, store: Faulty) -> None:
    store.full = True
    first = small.recall("wombat")
    with pytest.raises(Unavailable):
        small.write_buffer.flush()
    assert page(small) == ()
    second = small.recall("numbat")
    store.full = False
    assert {one.id for one in page(small)} == {first.id, second.id}


def test_a_memory_forgotten_before_the_write_is_not_logged(world: World) -> None:
    memory = world.remember("The build needs Java 21.")
    world.recall("Java")
    world.memory_service.forget(memory.id, AS_ADA)
    assert [(one.hits, one.withheld) for one in page(world)] == [((), 1)]


@pytest.mark.parametrize(
    ("viewer", "lead_sees", "seen"),
    [
        (AS_ADA, LeadSees.ALL, {"ada"}),
        (AS_BOB, LeadSees.ALL, {"bob"}),
        (AS_LEA, LeadSees.ALL, {"ada", "bob", "lea"}),
        (AS_LEA, LeadSees.SHARED, {"lea"}),
        (AS_OPERATOR, LeadSees.SHARED, {"ada", "bob", "lea", "operator"}),
    ],
)
def test_visibility_of_queries(
    store: Faulty, clock: SteppingClock, viewer: Viewer, lead_sees: LeadSees, seen: set[str]
) -> None:
    world = World(store, ReferenceKeywords(), clock, lead_sees=lead_sees)
    for name, asker in (("ada", AS_ADA), ("bob", AS_BOB), ("lea", AS_LEA), ("operator", AS_OPERATOR)):
        world.recall(name, asker)
    assert set(questions(world, viewer)) == seen
    of_bob = world.recall_log.page(viewer, None, 10, agent=BOB).recalls
    assert [one.question for one in of_bob] == (["bob"] if "bob" in seen else [])


def test_a_memory_that_became_private_again_is_omitted_for_others(small: World) -> None:
    memory = small.remember("The build needs Java 21.", scope=Scope.SWARM)
    small.recall("Java", AS_BOB)
    assert [len(one.hits) for one in page(small, AS_BOB)] == [1]
    small.memory_service.edit(memory.id, Edit(scope=Scope.AGENT), AS_ADA)
    assert [(one.hits, one.withheld) for one in page(small, AS_BOB)] == [((), 1)]
    with pytest.raises(NotFound):
        small.recall_log.page(AS_BOB, None, 10, memory=memory.id)
    assert len(small.recall_log.page(AS_OPERATOR, None, 10, memory=memory.id).recalls) == 1


def test_pages_continue_where_the_last_one_ended(small: World) -> None:
    for number in range(5):
        small.clock.advance(timedelta(seconds=1))
        small.recall(f"wombat {number}")
    first = small.recall_log.page(AS_ADA, None, 4)
    assert first.next == cursor_of(first.recalls[-1].at, first.recalls[-1].id)
    last = first.recalls[-1]
    second = small.recall_log.page(AS_ADA, (last.at, last.id), 4)
    assert [one.question for one in (*first.recalls, *second.recalls)] == [f"wombat {n}" for n in (4, 3, 2, 1, 0)]
    assert second.next is None


# The buffer.


@given(steps=st.lists(st.one_of(st.integers(1, UNIT), st.booleans()), max_size=15))
def test_while_writes_fail_the_oldest_recalls_are_dropped_and_counted(steps: list[int | bool]) -> None:
    """A number of recalls, or a flush that succeeds (True) or fails (False)."""
    store = Faulty(SteppingClock())
    write_buffer = WriteBehindBuffer(store, recalls=2 * UNIT + 50)
    noted: list[Recall] = []
    waiting: list[Recall] = []
    written: list[Recall] = []
    for step in steps:
        if isinstance(step, bool):
            store.full = not step
            if step:
                write_buffer.flush()
                written, waiting = [*written, *waiting], []
            elif waiting:
                with pytest.raises(Unavailable):
                    write_buffer.flush()
        else:
            for _ in range(step):
                noted.append(recall := a_recall())
                write_buffer.log(recall)
                waiting = [*waiting, recall][-2 * UNIT - 50 :]
    store.full = False
    write_buffer.flush()
    written += waiting
    assert list(reversed(logged(store))) == written
    assert write_buffer.lost_recalls == len(noted) - len(written)


def test_recalls_are_written_in_units(store: Faulty) -> None:
    write_buffer = WriteBehindBuffer(store)
    for _ in range(3 * UNIT + 1):
        write_buffer.log(a_recall())
    write_buffer.flush()
    assert (store.writes, len(logged(store)), write_buffer.lost_recalls) == (4, 3 * UNIT + 1, 0)
    assert RECALLS > 3 * UNIT


# Growing old.


def test_old_recalls_are_removed_in_batches(store: Faulty, clock: SteppingClock) -> None:
    housekeeping = Housekeeper(store, ReferenceKeywords(), clock, recalls=10 * DAY)
    old = [a_recall(at=clock.now()) for _ in range(2 * PRUNE_BATCH + 1)]
    store.write(lambda tx: tx.log_recalls(old))
    clock.advance(10 * DAY)
    store.write(lambda tx: tx.log_recalls([a_recall(at=clock.now())]))
    housekeeping.run_step()
    assert len(logged(store)) == 2 * PRUNE_BATCH + 2
    clock.advance(timedelta(seconds=PRUNE_EVERY))
    left: list[int] = []
    for _ in range(4):
        housekeeping.run_step()
        left.append(len(logged(store)))
    assert left == [PRUNE_BATCH + 2, 2, 1, 1]


def test_recalls_beyond_the_maximum_are_removed(
    store: Faulty, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.maintenance.housekeeper.MAX_RECALLS", 3)
    noted = [a_recall(at=clock.now() + timedelta(seconds=number)) for number in range(5)]
    store.write(lambda tx: tx.log_recalls(noted))
    Housekeeper(store, ReferenceKeywords(), clock).run_step()
    assert list(logged(store)) == noted[:1:-1]


def test_a_log_that_was_turned_off_is_emptied(store: Faulty, clock: SteppingClock) -> None:
    store.write(lambda tx: tx.log_recalls([a_recall(at=clock.now())]))
    clock.advance(timedelta(seconds=1))
    Housekeeper(store, ReferenceKeywords(), clock, recalls=timedelta(0)).run_step()
    assert list(logged(store)) == []
