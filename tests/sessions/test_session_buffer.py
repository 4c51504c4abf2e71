"""The write-behind buffer of sessions: reads see what is not written, and nothing is written twice."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.sessions import session_buffer
from hivelore.sessions.model import EventId, Session
from hivelore.sessions.session_buffer import SessionBuffer
from support.clocks import SteppingClock
from support.memories import ADA, START
from support.reference.store import ReferenceStore

ID = Clean("claude-code:s1")
NEW = Session(agent=ADA, id=ID, updated_at=START)


def miss(number: int) -> Callable[[Session | None], Session]:
    """Returns a change that appends an event."""

    def change(session: Session | None) -> Session:
        found = session or NEW
        return replace(found, missed=(*found.missed, EventId(f"e{number}")))

    return change


def missed(session: Session | None) -> list[str]:
    return [] if session is None else list(session.missed)


def stored(store: ReferenceStore) -> list[str]:
    with store.read() as view:
        return missed(view.session(ADA, ID))


@pytest.fixture
def store() -> ReferenceStore:
    return ReferenceStore(SteppingClock())


@pytest.fixture
def buffer(store: ReferenceStore) -> SessionBuffer:
    return SessionBuffer(store)


def test_changes_are_seen_before_they_are_written(store: ReferenceStore, buffer: SessionBuffer) -> None:
    buffer.change(ADA, ID, miss(1))
    buffer.change(ADA, ID, miss(2))
    assert missed(buffer.load(ADA, ID)) == ["e1", "e2"]
    assert stored(store) == []
    assert buffer.load(ADA, Clean("claude-code:s2")) is None


def test_a_flush_writes_each_change_once_and_in_order(store: ReferenceStore, buffer: SessionBuffer) -> None:
    buffer.change(ADA, ID, miss(1))
    buffer.flush()
    buffer.change(ADA, ID, miss(2))
    buffer.flush()
    buffer.flush()
    assert stored(store) == missed(buffer.load(ADA, ID)) == ["e1", "e2"]


def test_changes_that_cannot_be_written_stay(
    store: ReferenceStore, buffer: SessionBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        buffer.change(ADA, ID, miss(2))  # Another request, meanwhile.
        raise Unavailable("The disk is full.")

    buffer.change(ADA, ID, miss(1))
    with monkeypatch.context() as patched, suppress(Unavailable):
        patched.setattr(store, "write", fail)
        buffer.flush()
    assert missed(buffer.load(ADA, ID)) == ["e1", "e2"]
    buffer.flush()
    assert stored(store) == ["e1", "e2"]


def key(number: int) -> Clean:
    return Clean(f"claude-code:s{number}")


def kept(buffer: SessionBuffer) -> list[int]:
    return [number for number in range(9) if buffer.load(ADA, key(number)) is not None]


def test_the_sessions_that_were_quiet_longest_are_dropped(
    buffer: SessionBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_buffer, "MAX_SESSIONS", 2)
    for number in (0, 1, 0, 2):
        buffer.change(ADA, key(number), miss(number))
    assert kept(buffer) == [0, 2]


def test_the_sessions_that_were_quiet_longest_are_dropped_after_a_failed_write(
    store: ReferenceStore, buffer: SessionBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        for number in (0, 3):  # Other requests, meanwhile.
            buffer.change(ADA, key(number), miss(number))
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(session_buffer, "MAX_SESSIONS", 3)
    monkeypatch.setattr(store, "write", fail)
    for number in range(3):
        buffer.change(ADA, key(number), miss(number))
    with pytest.raises(Unavailable):
        buffer.flush()
    assert kept(buffer) == [0, 2, 3]


def test_the_oldest_changes_of_a_session_are_dropped(
    store: ReferenceStore, buffer: SessionBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(session_buffer, "MAX_CHANGES", 3)
    for number in range(9):
        with monkeypatch.context() as patched, suppress(Unavailable):
            patched.setattr(store, "write", fail)
            buffer.change(ADA, ID, miss(number))
            buffer.change(ADA, ID, miss(number + 100))
            buffer.flush()
    assert missed(buffer.load(ADA, ID)) == ["e107", "e8", "e108"]
    buffer.flush()
    assert stored(store) == ["e107", "e8", "e108"]
