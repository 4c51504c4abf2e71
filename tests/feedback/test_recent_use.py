"""When agents were lately given a memory."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from hivelore.core.text import Clean
from hivelore.feedback.recalls import Evidence, Sign
from hivelore.feedback.recent_use import times_given
from hivelore.memories.model import Memory
from hivelore.search.model import RecallId
from hivelore.sessions.model import EventId, Session, ShownMemory
from support.clocks import START
from support.recalls import a_recall, log
from support.stores import present
from support.world import ADA, World

HOUR = timedelta(hours=1)


@pytest.fixture
def memory(world: World) -> Memory:
    return world.remember("The heron sleeps.")


def times(world: World, memory: Memory, since: datetime = START) -> Sequence[datetime]:
    with world.store.read() as view:
        keys = view.keys_of([memory.id])
        return sorted(times_given(view, keys, since).get(memory.id, ()))


def show(world: World, *shown: ShownMemory, at: datetime) -> None:
    session = Session(agent=ADA, id=Clean("codex:s1"), updated_at=at, shown=shown)
    world.store.write(lambda tx: tx.put_session(session))


def test_recalls_of_agents_count_and_those_of_operators_do_not(world: World, memory: Memory) -> None:
    other = world.remember("The stork flies.")
    log(
        world.store,
        a_recall(memory.id, at=START + HOUR),
        a_recall(memory.id, at=START + HOUR, agent=None),
        a_recall(other.id, at=START + HOUR),
        a_recall(memory.id, at=START - HOUR),
    )
    assert times(world, memory) == [START + HOUR]
    assert times(world, memory, START - HOUR) == [START - HOUR, START + HOUR]


def test_injections_without_a_recall_count(world: World, memory: Memory) -> None:
    recalled = a_recall(memory.id, at=START + 2 * HOUR)
    log(world.store, recalled)
    show(
        world,
        ShownMemory(memory.id, None, EventId("e0"), START - HOUR),
        ShownMemory(memory.id, None, EventId("e1"), START + HOUR),
        ShownMemory(memory.id, RecallId(recalled.id), EventId("e2"), START + 2 * HOUR),
        at=START + 2 * HOUR,
    )
    assert times(world, memory) == [START + HOUR, START + 2 * HOUR]


def test_evidence_of_use_counts_and_what_was_not_used_or_rated_does_not(world: World, memory: Memory) -> None:
    key = present(world.store, memory).key
    evidence = [
        Evidence(agent=ADA, session=Clean(f"s{number}"), sign=sign, at=START + number * HOUR)
        for number, sign in enumerate(Sign, start=1)
    ]
    operator = Evidence(agent=None, session=Clean("s"), sign=Sign.APPLIED, at=START + HOUR)
    old = Evidence(agent=ADA, session=Clean("s"), sign=Sign.APPLIED, at=START - HOUR)
    world.store.write(lambda tx: tx.add_evidence({key: [*evidence, operator, old]}))
    used = [Sign.REPEATED, Sign.OPENED, Sign.CITED, Sign.APPLIED]
    assert times(world, memory) == [one.at for one in evidence if one.sign in used]


def test_a_memory_that_nobody_was_given_has_no_times(world: World, memory: Memory) -> None:
    assert times(world, memory) == []
