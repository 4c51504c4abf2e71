"""Every store: ends of sessions that wait to be distilled."""

from collections.abc import Callable
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface, Role, Viewer
from hivelore.core.values import replace
from hivelore.sessions.model import EventId, Handover, HandoverState, SessionEnd, SubAgent, Task
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, filled_texts, instant, instants, texts
from support.sessions import an_end
from support.stores import Fresh, law

BY_ADA = Viewer(role=Role.WORKER, agent=ADA, interface=Interface.HOOK)

events = filled_texts.map(EventId)
maybe = st.none() | texts
handovers = st.builds(
    Handover,
    ended=st.builds(
        SessionEnd,
        id=events,
        program=filled_texts,
        session=filled_texts,
        at=instants,
        transcript=maybe,
        text=maybe,
        last_message=maybe,
        project=maybe,
        task=st.none() | st.builds(Task, texts, texts),
        subagent=st.none() | st.builds(SubAgent, texts, texts),
        is_partial=st.booleans(),
    ),
    by=st.builds(
        Viewer, role=st.sampled_from(Role), agent=filled_texts.map(AgentId), interface=st.sampled_from(Interface)
    ),
    state=st.sampled_from(HandoverState),
    attempts=st.integers(0, 9),
    not_before=instants,
)


def a_handover(minutes: float = 0, state: HandoverState = HandoverState.WAITING, **more: object) -> Handover:
    ended = replace(an_end(), at=instant(minutes), **more)
    return Handover(ended=ended, by=BY_ADA, state=state, not_before=instant(minutes))


def put(store: MemoryStore, *some: Handover) -> None:
    for one in some:
        store.write(lambda tx, one=one: tx.put_handover(one))


def due(store: MemoryStore, minutes: float, limit: int = 10) -> list[Handover]:
    with store.read() as view:
        return list(view.handovers_due(instant(minutes), limit))


@law
@given(handover=handovers)
def test_a_handover_is_read_as_it_was_written(fresh: Fresh, handover: Handover) -> None:
    with fresh() as store:
        put(store, handover)
        with store.read() as view:
            assert view.handover(handover.ended.id) == handover
            assert list(view.handovers_after(EventId(""), 10)) == [handover]


def test_an_unknown_event_is_none(store: MemoryStore) -> None:
    put(store, a_handover())
    with store.read() as view:
        assert view.handover(EventId("nobody")) is None


def test_writing_a_handover_again_replaces_its_state(store: MemoryStore) -> None:
    before = a_handover()
    after = replace(before, attempts=2, not_before=instant(9), ended=replace(before.ended, text=None, project="shop"))
    put(store, before, after)
    with store.read() as view:
        assert view.handover(before.ended.id) == after
        assert sum(view.handover_counts().values()) == 1


def test_due_handovers_are_ordered_by_the_end_of_their_session(store: MemoryStore) -> None:
    late, early, later = a_handover(2), a_handover(1), a_handover(3)
    put(store, late, early, later)
    assert due(store, 2) == [early, late]
    assert due(store, 3) == [early, late, later]
    assert due(store, 3, limit=1) == [early]


def test_done_failed_and_delayed_handovers_are_not_due(store: MemoryStore) -> None:
    put_off = replace(a_handover(), not_before=instant(5))
    put(store, a_handover(state=HandoverState.DONE), a_handover(state=HandoverState.FAILED), put_off)
    assert due(store, 4) == []
    assert due(store, 5) == [put_off]


def test_handovers_are_counted_by_state(store: MemoryStore) -> None:
    put(store, a_handover(), a_handover(), a_handover(state=HandoverState.FAILED))
    with store.read() as view:
        counts = view.handover_counts()
    assert counts == {HandoverState.WAITING: 2, HandoverState.DONE: 0, HandoverState.FAILED: 1}


def test_all_handovers_are_read_in_pages(store: MemoryStore) -> None:
    every = sorted((a_handover() for _ in range(5)), key=lambda one: one.ended.id)
    put(store, *reversed(every))
    with store.read() as view:
        first = list(view.handovers_after(EventId(""), 3))
        assert first == every[:3]
        assert list(view.handovers_after(first[-1].ended.id, 3)) == every[3:]


def test_only_old_finished_handovers_are_pruned(store: MemoryStore) -> None:
    waits = a_handover(0)
    old = [a_handover(minutes, HandoverState.DONE) for minutes in range(3)]
    failed, young = a_handover(1, HandoverState.FAILED), a_handover(3, HandoverState.DONE)
    put(store, waits, *old, failed, young)
    assert store.write(lambda tx: tx.prune_handovers(instant(3), 3)) == 3
    assert store.write(lambda tx: tx.prune_handovers(instant(3), 3)) == 1
    with store.read() as view:
        assert {one.ended.id for one in view.handovers_after(EventId(""), 9)} == {waits.ended.id, young.ended.id}


def test_handovers_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    handover = a_handover()
    with closing(open_durable()) as store:
        put(store, handover)
    with closing(open_durable()) as store:
        assert due(store, 0) == [handover]
