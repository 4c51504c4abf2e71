"""Events and cooldowns for tests: plain examples, and strategies for all valid ones."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TypedDict, Unpack

from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import ACTION_LENGTH, Cooldown, Event, EventFilter, Level, LoggedId
from hivelore.memories.model import MemoryId
from hivelore.storage.ports import MemoryStore
from support.clocks import START
from support.memories import ADA, EVERYTHING, agents, characters, contents, instant, instants, services, texts

ALL_EVENTS = EventFilter(seen=EVERYTHING.visibility)

_numbers = count(1)


class EventParts(TypedDict, total=False):
    at: datetime
    level: Level
    text: Clean
    actor: AgentId | None
    service: Clean | None
    session: Clean | None
    memory: MemoryId | None


class CooldownParts(TypedDict, total=False):
    until: datetime
    set_at: datetime
    session: Clean | None
    reason: Clean | None
    count: int


def an_event(**parts: Unpack[EventParts]) -> Event:
    """Returns a warning of Ada; ids ascend in the order of calls."""
    number = LoggedId(f"e{next(_numbers):06}")
    plain = Event(
        id=number, at=START, level=Level.WARNING, text=Clean("It is late."), actor=ADA, interface=Interface.MCP
    )
    return replace(plain, **parts)


def a_cooldown(service: str = "jellyfin", action: str = "restart", **parts: Unpack[CooldownParts]) -> Cooldown:
    """Returns a cooldown of half an hour, set by Ada."""
    plain = Cooldown(
        service=Clean(service),
        action=Clean(action),
        until=instant(30),
        set_at=START,
        actor=ADA,
        interface=Interface.MCP,
    )
    return replace(plain, **parts)


@st.composite
def events(draw: st.DrawFn, memories: Sequence[MemoryId]) -> Event:
    """Generates events about one of these memories or none."""
    return Event(
        id=LoggedId(f"e{next(_numbers):06}"),
        at=draw(instants),
        level=draw(st.sampled_from(Level)),
        text=draw(contents),
        actor=draw(st.none() | agents),
        interface=draw(st.sampled_from(Interface)),
        service=draw(st.none() | services),
        session=draw(st.none() | texts),
        memory=draw(st.sampled_from([None, *memories])),
    )


actions = st.text(characters, min_size=1, max_size=ACTION_LENGTH).map(Clean)
cooldowns = st.builds(
    Cooldown,
    service=services,
    action=actions,
    until=instants,
    set_at=instants,
    actor=st.none() | agents,
    interface=st.sampled_from(Interface),
    session=st.none() | texts,
    reason=st.none() | texts,
    count=st.integers(1, 2**31),
)


def log_events(store: MemoryStore, *events: Event) -> None:
    store.write(lambda tx: tx.log_events(events))


def logged_events(store: MemoryStore, where: EventFilter = ALL_EVENTS) -> Sequence[Event]:
    with store.read() as view:
        return view.events(where, None, 1_000)


def put_cooldowns(store: MemoryStore, *cooldowns: Cooldown) -> None:
    for one in cooldowns:
        store.write(lambda tx, one=one: tx.put_cooldown(one))


def holding(store: MemoryStore, at: datetime) -> Sequence[Cooldown]:
    with store.read() as view:
        return view.cooldowns(at)
