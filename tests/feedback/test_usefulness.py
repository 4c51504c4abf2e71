"""Usefulness: ratings by agents, and evidence from opened memories."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.errors import Forbidden, Invalid, NotFound, TooLarge, Unavailable
from hivelore.feedback import usefulness
from hivelore.feedback.model import NO_USAGE, UsageCounts, Usefulness
from hivelore.feedback.recall_log import UNIT
from hivelore.feedback.recalls import Evidence, Sign
from hivelore.feedback.usefulness import RECENT, SESSION_LENGTH
from hivelore.memories.model import Action, Memory, Scope
from support.memories import ADA
from support.stores import present
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PROXY = "Port 8443 is taken by the proxy."
ABOUT_PROXY = "Which port is taken by the proxy?"
ACTING_FOR_ADA = Viewer(role=Role.WORKER, agent=ADA, interface=Interface.REST, acting=True)


def evidence_of(world: World, memory: Memory) -> Sequence[Evidence]:
    world.write_buffer.flush()
    with world.store.read() as view:
        return view.evidence(present(world.store, memory).key)


def use(world: World, memory: Memory) -> UsageCounts:
    world.write_buffer.flush()
    return world.rating.of(memory.id, AS_OPERATOR).use


# Rating.


def test_a_rating_counts_at_once_and_moves_the_factor(world: World) -> None:
    memory = world.remember(PROXY)
    assert world.rating.of(memory.id, AS_ADA) == Usefulness(1.0, NO_USAGE)
    result = world.rating.rate(memory.id, AS_ADA, useful=True)
    assert result == world.rating.of(memory.id, AS_ADA)
    assert (result.factor, result.use) == (pytest.approx(1.1), UsageCounts(useful=1))
    assert world.recall(ABOUT_PROXY).hits[0].score.usefulness == result.factor
    world.clock.advance(timedelta(seconds=1))
    result = world.rating.rate(memory.id, AS_ADA, useful=False)
    assert (result.factor, result.use) == (pytest.approx(0.9), UsageCounts(useless=1))


def test_a_later_rating_of_a_session_replaces_the_earlier_one(world: World) -> None:
    memory = world.remember(PROXY)
    for useful in (True, True, False):
        world.clock.advance(timedelta(seconds=1))
        world.rating.rate(memory.id, AS_ADA, useful=useful, session="s1")
    assert use(world, memory) == UsageCounts(useless=1)
    world.rating.rate(memory.id, AS_ADA, useful=True, session="s2")
    assert use(world, memory) == UsageCounts(useful=1, useless=1)


def test_without_a_session_a_day_counts_as_one(world: World) -> None:
    memory = world.remember(PROXY)
    for hours in (0, 1, 24):
        world.clock.advance(timedelta(hours=hours))
        world.rating.rate(memory.id, AS_ADA, useful=True, session=" ")
    assert use(world, memory) == UsageCounts(useful=2)


def test_each_agent_that_sees_a_memory_may_rate_it_and_an_operator_too(world: World) -> None:
    memory = world.remember(PROXY, scope=Scope.SWARM)
    for viewer in (AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR):
        world.rating.rate(memory.id, viewer, useful=True, session="s1")
    assert use(world, memory) == UsageCounts(useful=4)


def test_the_last_rating_of_anothers_memory_counts_whatever_sessions_are_named(world: World) -> None:
    memory = world.remember(PROXY, scope=Scope.SWARM)
    for session in ("s1", "s2", None):
        world.clock.advance(timedelta(days=1))
        world.rating.rate(memory.id, AS_BOB, useful=False, session=session)
    assert use(world, memory) == UsageCounts(useless=1)
    world.clock.advance(timedelta(days=1))
    world.rating.rate(memory.id, AS_BOB, useful=True, session="s4")
    assert use(world, memory) == UsageCounts(useful=1)


def test_an_invisible_memory_is_not_found(world: World) -> None:
    memory = world.remember(PROXY)
    with pytest.raises(NotFound):
        world.rating.rate(memory.id, AS_BOB, useful=True)
    with pytest.raises(NotFound):
        world.rating.of(memory.id, AS_BOB)
    assert use(world, memory) == NO_USAGE


def test_a_rating_has_the_recall_that_it_is_about(world: World) -> None:
    memory = world.remember(PROXY)
    first, second = (world.recall(ABOUT_PROXY).id for _ in range(2))
    world.recall(ABOUT_PROXY, AS_LEA)
    world.write_buffer.flush()
    world.rating.rate(memory.id, AS_ADA, useful=True, session="s1")
    assert [one.recall for one in evidence_of(world, memory)] == [second]
    assert first != second


def test_a_session_that_is_too_long_or_invalid_is_refused(world: World) -> None:
    memory = world.remember(PROXY)
    for session, error in (("s" * (SESSION_LENGTH + 1), TooLarge), ("\ud800", Invalid), ("a\0b", Invalid)):
        with pytest.raises(error):
            world.rating.rate(memory.id, AS_ADA, useful=True, session=session)
    world.rating.rate(memory.id, AS_ADA, useful=True, session="é" * SESSION_LENGTH)
    assert use(world, memory) == UsageCounts(useful=1)


def test_only_an_operator_resets_usefulness(world: World) -> None:
    memory = world.remember(PROXY)
    world.rating.rate(memory.id, AS_ADA, useful=False)
    for viewer in (AS_ADA, AS_LEA):
        with pytest.raises(Forbidden):
            world.rating.reset(memory.id, viewer)
    world.rating.reset(memory.id, AS_OPERATOR)
    assert world.rating.of(memory.id, AS_ADA) == Usefulness(1.0, NO_USAGE)


@pytest.mark.parametrize("viewer", [AS_OPERATOR, ACTING_FOR_ADA])
def test_a_reset_is_in_the_audit_trail_and_in_the_history(world: World, viewer: Viewer) -> None:
    memory, other = world.remember(PROXY), world.remember("Something else.")
    world.rating.rate(memory.id, AS_ADA, useful=False)
    before = world.audit()
    world.clock.advance(timedelta(seconds=1))
    world.rating.reset(memory.id, viewer)
    (entry,) = [one for one in world.audit() if one not in before and one.action is not Action.READ]
    assert (entry.at, entry.actor, entry.interface) == (world.clock.now(), viewer.agent, viewer.interface)
    assert (entry.action, entry.memory) == (Action.UNDONE, memory.id)
    (result,) = world.reading.history(memory.id, AS_ADA).taken_back
    assert (result.at, result.actor, result.change) == (entry.at, viewer.agent, "what was known of its use")
    assert world.reading.history(other.id, AS_ADA).taken_back == ()


def test_without_evidence_a_reset_leaves_no_trace(world: World) -> None:
    memory = world.remember(PROXY)
    world.rating.reset(memory.id, AS_OPERATOR)
    assert world.reading.history(memory.id, AS_ADA).taken_back == ()


def test_a_reset_and_its_record_are_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember(PROXY)
    world.rating.rate(memory.id, AS_ADA, useful=False)

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("No.")

    with monkeypatch.context() as broken:
        broken.setattr(usefulness, "AuditEntry", refuse)
        with pytest.raises(Unavailable):
            world.rating.reset(memory.id, AS_OPERATOR)
    assert use(world, memory) == UsageCounts(useless=1)


# Opening.


def test_a_memory_opened_after_a_recall_was_of_some_use(world: World) -> None:
    memory = world.remember(PROXY)
    recall = world.recall(ABOUT_PROXY).id
    for _ in range(3):
        world.clock.advance(timedelta(seconds=1))
        world.reading.get(memory.id, AS_ADA)
    (seen,) = evidence_of(world, memory)
    assert (seen.agent, seen.session, seen.sign, seen.recall) == (ADA, recall, Sign.OPENED, recall)


def test_opening_without_a_recent_recall_of_that_agent_is_no_evidence(world: World) -> None:
    memory = world.remember(PROXY, scope=Scope.SWARM)
    world.reading.get(memory.id, AS_ADA)
    world.clock.advance(timedelta(seconds=1))
    world.write_buffer.flush()
    world.recall(ABOUT_PROXY, AS_ADA)
    world.reading.get(memory.id, AS_BOB)
    world.reading.get(memory.id, AS_OPERATOR)
    world.clock.advance(RECENT + timedelta(seconds=1))
    world.reading.get(memory.id, AS_ADA)
    assert use(world, memory) == NO_USAGE


def test_opening_is_attributed_to_a_recall_that_waits_behind_many(world: World) -> None:
    memory = world.remember(PROXY)
    for _ in range(UNIT):
        world.recall("something else")
    world.recall(ABOUT_PROXY)
    world.reading.get(memory.id, AS_ADA)
    assert use(world, memory) == UsageCounts(opened=1)


def test_memories_opened_and_forgotten_since_are_skipped(world: World) -> None:
    memory = world.remember(PROXY)
    world.recall(ABOUT_PROXY)
    world.reading.get(memory.id, AS_ADA)
    world.memory_service.forget(memory.id, AS_ADA)
    world.write_buffer.flush()
    with world.store.read() as view:
        assert view.counts().evidence == 0


def test_a_recall_and_an_opening_write_nothing_themselves(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = world.remember(PROXY)

    def refuse(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.")

    with monkeypatch.context() as full:
        full.setattr(world.store, "write", refuse)
        world.recall(ABOUT_PROXY)
        world.reading.get(memory.id, AS_ADA)
        with pytest.raises(Unavailable):
            world.write_buffer.flush()
    assert use(world, memory) == UsageCounts(opened=1)
