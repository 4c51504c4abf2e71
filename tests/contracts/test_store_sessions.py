"""Every store: sessions of agents."""

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.sessions.model import (
    AnsweredPrompt,
    Delegation,
    EventId,
    InjectedMemory,
    KnownLesson,
    LessonProgress,
    Session,
)
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, BOB, instant, memory_id

SESSION = Session(
    agent=ADA,
    id=Clean("claude-code:s1"),
    updated_at=instant(5),
    begun_at=instant(2),
    goal=Clean("Fix the login – 直す"),
    last_prompt=Clean("and the tests"),
    context_event=EventId("e1"),
    injected=(InjectedMemory(memory_id(1), 1, EventId("e1")), InjectedMemory(memory_id(2), 3, EventId("e2"))),
    delegated=(Delegation("Explore", Clean("Look."), instant(4)),),
    work=Clean("fix login login.py"),
    owed=(Clean("Where is the key?"), Clean("Go on.")),
    answered=(AnsweredPrompt(Clean("And the door?"), EventId("e2")),),
    missed=(EventId("e3"), EventId("e4")),
    progress=LessonProgress(
        "d1", (KnownLesson(Clean("lesson:claude-code:s1:a"), ("s1", "s2"), "c1"),), has_taught=True
    ),
    nudge_event=EventId("e5"),
)
EMPTY = Session(agent=ADA, id=Clean("codex:s2"), updated_at=instant(6))


def put(store: MemoryStore, *sessions: Session) -> None:
    for session in sessions:
        store.write(lambda tx, session=session: tx.put_session(session))


def found(store: MemoryStore, like: Session) -> Session | None:
    with store.read() as view:
        return view.session(like.agent, like.id)


@pytest.mark.parametrize("session", [SESSION, EMPTY])
def test_a_session_is_read_as_it_was_written(store: MemoryStore, session: Session) -> None:
    assert found(store, session) is None
    put(store, session)
    assert found(store, session) == session


def test_writing_again_replaces_the_earlier_value(store: MemoryStore) -> None:
    later = replace(SESSION, updated_at=instant(9), context_event=None, injected=())
    put(store, SESSION, later)
    assert found(store, SESSION) == later


def test_each_agent_has_its_own_session(store: MemoryStore) -> None:
    of_bob = replace(SESSION, agent=BOB, goal=None)
    put(store, SESSION, of_bob)
    assert found(store, SESSION) == SESSION
    assert found(store, of_bob) == of_bob


def test_a_failed_transaction_writes_nothing(store: MemoryStore) -> None:
    with pytest.raises(RuntimeError):
        store.write(lambda tx: (tx.put_session(SESSION), _fail()))
    assert found(store, SESSION) is None


def _fail() -> None:
    raise RuntimeError


@pytest.mark.parametrize(
    ("before", "keep", "limit", "left"),
    [
        (3, 10, 10, {3, 4}),
        (0, 2, 10, {3, 4}),
        (3, 1, 10, {4}),
        (5, 10, 2, {3, 4}),
        (5, 10, 10, set[int]()),
        (0, 10, 10, {1, 2, 3, 4}),
    ],
)
def test_old_and_excess_sessions_are_pruned(
    store: MemoryStore, before: int, keep: int, limit: int, left: set[int]
) -> None:
    sessions = {at: replace(EMPTY, id=Clean(f"codex:{at}"), updated_at=instant(at)) for at in (1, 2, 3, 4)}
    put(store, *sessions.values())
    gone = store.write(lambda tx: tx.prune_sessions(instant(before), keep, limit))
    assert {at for at, session in sessions.items() if found(store, session) is not None} == left
    assert gone == 4 - len(left)


def test_many_sessions_of_one_agent_do_not_prune_others(store: MemoryStore) -> None:
    of_ada = replace(EMPTY, updated_at=instant(1))
    of_bob = [replace(EMPTY, agent=BOB, id=Clean(f"codex:{at}"), updated_at=instant(at)) for at in (2, 3, 4)]
    put(store, of_ada, *of_bob)
    assert store.write(lambda tx: tx.prune_sessions(instant(0), 2, 10)) == 1
    assert [found(store, one) is not None for one in (of_ada, *of_bob)] == [True, False, True, True]


def test_sessions_since_an_instant_are_found_newest_first(store: MemoryStore) -> None:
    of_ada = [replace(EMPTY, id=Clean(f"codex:{at}"), updated_at=instant(at)) for at in (1, 2, 4)]
    of_bob = replace(SESSION, agent=BOB, updated_at=instant(3))
    put(store, *of_ada, of_bob)
    with store.read() as view:
        assert list(view.sessions_since(instant(2), 10)) == [of_ada[2], of_bob, of_ada[1]]
        assert list(view.sessions_since(instant(2), 2)) == [of_ada[2], of_bob]
        assert list(view.sessions_since(instant(5), 10)) == []
