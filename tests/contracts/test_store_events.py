"""Every store: the log of events, and cooldowns."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Cooldown, Event, EventFilter, Level, LoggedId
from hivelore.memories.model import Scope
from hivelore.observations.model import GENERAL
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore
from support.events import (
    ALL_EVENTS,
    a_cooldown,
    an_event,
    cooldowns,
    events,
    holding,
    log_events,
    logged_events,
    put_cooldowns,
)
from support.memories import ADA, BOB, a_memory, instant, memory_id
from support.stores import Fresh, add, change, forget, law

MEMORIES = [memory_id(number) for number in (901, 902)]
EVER = datetime.min.replace(tzinfo=UTC)
JELLYFIN, CADDY, S1, S2 = (Clean(name) for name in ("jellyfin", "caddy", "s1", "s2"))


# Events.


@law
@given(written=st.lists(events(MEMORIES), max_size=4))
def test_an_event_is_read_as_it_was_logged(fresh: Fresh, written: list[Event]) -> None:
    with fresh() as store:
        for memory in MEMORIES:
            add(store, a_memory(id=memory))
        log_events(store, *written)
        assert list(logged_events(store)) == sorted(written, key=lambda one: (one.at, one.id), reverse=True)


def test_the_event_log_is_empty_at_first(store: MemoryStore) -> None:
    log_events(store)
    assert list(logged_events(store)) == []


def test_a_logged_event_is_not_changed(store: MemoryStore) -> None:
    event = an_event()
    log_events(store, event)
    log_events(store, replace(event, text=Clean("Another text.")), an_event(at=instant(1)))
    assert [one.text for one in logged_events(store)] == ["It is late.", "It is late."]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_hold_every_event_once_newest_first(store: MemoryStore, limit: int) -> None:
    written = [an_event(at=instant(minute)) for minute in (3, 1, 2, 2, 2, 0)]
    log_events(store, *written[:3])
    log_events(store, *written[3:])
    found: list[Event] = []
    after: tuple[datetime, LoggedId] | None = None
    while True:
        with store.read() as view:
            page = view.events(ALL_EVENTS, after, limit)
        found += page
        if len(page) < limit:
            break
        after = page[-1].at, page[-1].id
    assert sorted(found, key=lambda one: one.id) == written
    assert all((one.at, one.id) > (next_one.at, next_one.id) for one, next_one in pairwise(found))


FILTERS = [
    EventFilter(seen=ALL_EVENTS.seen, level=level, services=services, session=session, since=since, until=until)
    for level, services, session, since, until in product(
        (None, Level.WARNING, Level.CRITICAL),
        (None, *map(frozenset, ({JELLYFIN}, {GENERAL}, {Clean("Jellyfin")}, {JELLYFIN, CADDY}, {JELLYFIN, GENERAL}))),
        (None, S1),
        (None, instant(1)),
        (None, instant(1), instant(2)),
    )
]


def test_events_are_filtered_by_agent(store: MemoryStore) -> None:
    written = [an_event(actor=actor, session=S1) for actor in (ADA, BOB, None)]
    log_events(store, *written)
    with store.read() as view:
        assert list(view.events(replace(ALL_EVENTS, session=S1, actor=BOB), None, 9)) == [written[1]]


def test_every_filter_of_events_is_applied(store: MemoryStore) -> None:
    written = [
        an_event(level=level, service=service, session=session, at=instant(minute))
        for level, service, session, minute in product(Level, (None, JELLYFIN, CADDY), (None, S1, S2), (0, 1, 2))
    ]
    log_events(store, *written)
    graver = {None: set(Level), Level.WARNING: set(Level) - {Level.INFO}, Level.CRITICAL: {Level.CRITICAL}}
    for where in FILTERS:
        expected = {
            one
            for one in written
            if one.level in graver[where.level]
            and (where.services is None or (one.service or GENERAL) in where.services)
            and where.session in (None, one.session)
            and (where.since is None or one.at >= where.since)
            and (where.until is None or one.at < where.until)
        }
        assert set(logged_events(store, where)) == expected, where


def test_events_are_found_by_the_beginning_of_their_id(store: MemoryStore) -> None:
    of_ada = add(store, a_memory(owner=ADA)).memory.id
    ids = [LoggedId(one) for one in ("0190-a", "0190-b", "0191-a")]
    log_events(store, *(replace(an_event(memory=of_ada if one.endswith("b") else None), id=one) for one in ids))
    found = [logged_events(store, replace(ALL_EVENTS, prefix=prefix)) for prefix in ("0190", "0191-a", "0192")]
    assert [[one.id for one in each] for each in found] == [[ids[1], ids[0]], [ids[2]], []]
    by_bob = logged_events(store, EventFilter(seen=Visibility(own=BOB, swarm=True), prefix="0190"))
    assert [one.id for one in by_bob] == [ids[0]]


def test_events_are_found_under_many_spellings(store: MemoryStore) -> None:
    spellings = [Clean(f"s{number}") for number in range(12)]
    written = [an_event(at=instant(minute), service=one) for minute in (1, 2) for one in (*spellings, JELLYFIN)]
    log_events(store, *written)
    where = replace(ALL_EVENTS, services=frozenset(spellings))
    assert [one.at for one in logged_events(store, where)] == [instant(2)] * 12 + [instant(1)] * 12


def test_each_spelling_of_a_service_is_listed_once(store: MemoryStore) -> None:
    log_events(store, *(an_event(service=service) for service in (JELLYFIN, CADDY, None, JELLYFIN)))
    with store.read() as view:
        assert sorted(view.event_services()) == [CADDY, JELLYFIN]


def test_a_filter_applies_to_later_pages(store: MemoryStore) -> None:
    written = [an_event(at=instant(minute), service=JELLYFIN if minute % 2 else None) for minute in range(6)]
    log_events(store, *written)
    with store.read() as view:
        page = view.events(replace(ALL_EVENTS, services=frozenset({JELLYFIN})), (written[5].at, written[5].id), 1)
    assert list(page) == [written[3]]


def test_an_event_about_a_memory_is_visible_like_the_memory(store: MemoryStore) -> None:
    stored = add(store, a_memory(owner=ADA))
    about, plain = an_event(memory=stored.memory.id), an_event()
    log_events(store, about, plain)
    as_bob, as_ada = (replace(ALL_EVENTS, seen=Visibility(own=who, swarm=True)) for who in (BOB, ADA))
    assert (list(logged_events(store, as_bob)), list(logged_events(store, as_ada))) == ([plain], [plain, about])
    change(store, stored.key, replace(stored.memory, version=2, scope=Scope.SWARM))
    assert list(logged_events(store, as_bob)) == [plain, about]
    assert list(logged_events(store, replace(as_bob, seen=Visibility(own=BOB, swarm=False)))) == [plain]


def test_deleting_a_memory_deletes_the_events_about_it(store: MemoryStore) -> None:
    kept, doomed = add(store, a_memory()), add(store, a_memory())
    log_events(store, *(an_event(memory=one.memory.id) for one in (kept, doomed)))
    forget(store, doomed.key)
    add(store, doomed.memory)
    assert [one.memory for one in logged_events(store)] == [kept.memory.id]


def test_an_event_about_a_missing_memory_is_not_logged(store: MemoryStore) -> None:
    doomed = add(store, a_memory())
    forget(store, doomed.key)
    plain = an_event()
    log_events(store, an_event(memory=doomed.memory.id), plain)
    assert list(logged_events(store)) == [plain]


def test_a_memory_and_its_event_may_be_written_in_one_transaction(store: MemoryStore) -> None:
    memory = a_memory()
    event = an_event(memory=memory.id)
    store.write(lambda tx: (tx.add(memory, ()), tx.log_events([event])))
    assert list(logged_events(store)) == [event]


def test_an_event_is_dropped_once(store: MemoryStore) -> None:
    event, other = an_event(), an_event()
    log_events(store, event, other)
    assert [store.write(lambda tx: tx.drop_event(event.id)) for _ in range(2)] == [True, False]
    assert list(logged_events(store)) == [other]


SAID = an_event(service=JELLYFIN, session=S1, at=instant(0))
WITHIN = timedelta(hours=1)


def same(store: MemoryStore, event: Event, limit: int = 9) -> list[Event]:
    """Returns the result in a transaction; it is the same in a snapshot."""
    found = list(store.write(lambda tx: tx.same_events(event, WITHIN, limit)))
    with store.read() as view:
        assert list(view.same_events(event, WITHIN, limit)) == found
    return found


@pytest.mark.parametrize("minute", [-59.9, 0, 59.9])
@pytest.mark.parametrize("service", [None, JELLYFIN])
def test_the_same_event_of_a_session_is_found(store: MemoryStore, minute: float, service: Clean | None) -> None:
    written = replace(SAID, service=service)
    log_events(store, written, replace(an_event(), service=service, session=S1, at=instant(30)))
    again = replace(written, id=LoggedId("new"), actor=BOB, interface=Interface.REST, at=instant(minute))
    assert same(store, again)[0] == written


@pytest.mark.parametrize("service", [None, JELLYFIN])
def test_the_same_events_about_the_same_service_come_first(store: MemoryStore, service: Clean | None) -> None:
    others = CADDY, JELLYFIN if service is None else None
    first, second = (an_event(service=one, session=S1, at=instant(at)) for at, one in enumerate(others))
    own = an_event(service=service, session=S1, at=instant(5))
    log_events(store, own, second, first)
    assert same(store, replace(own, at=instant(9))) == [own, first, second]
    assert same(store, replace(own, at=instant(9)), 2) == [own, first]


@pytest.mark.parametrize(
    "differing",
    [
        {"at": instant(60)},
        {"at": instant(-60)},
        {"level": Level.ERROR},
        {"text": Clean("it is late.")},
        {"session": S2},
        {"session": None},
    ],
    ids=str,
)
def test_a_different_or_older_event_is_not_the_same(store: MemoryStore, differing: dict[str, Any]) -> None:
    log_events(store, SAID)
    assert same(store, replace(SAID, **differing)) == []


def test_events_without_a_session_are_never_the_same(store: MemoryStore) -> None:
    log_events(store, replace(SAID, session=None))
    assert same(store, replace(SAID, session=None)) == []


def test_events_about_a_memory_are_never_the_same(store: MemoryStore) -> None:
    log_events(store, replace(SAID, memory=add(store, a_memory()).memory.id))
    assert same(store, SAID) == []


@pytest.mark.parametrize("at", [EVER, datetime.max.replace(tzinfo=UTC)])
def test_events_at_the_latest_possible_time_are_compared(store: MemoryStore, at: datetime) -> None:
    written = replace(SAID, at=at)
    log_events(store, written)
    assert same(store, written) == [written]


@law
@given(
    minutes=st.lists(st.integers(0, 5), max_size=8),
    before=st.integers(-1, 6),
    keep=st.integers(1, 9),
    limit=st.integers(1, 9),
)
def test_pruning_deletes_the_oldest_beyond_age_or_number(
    fresh: Fresh, minutes: list[int], before: int, keep: int, limit: int
) -> None:
    with fresh() as store:
        written = sorted((an_event(at=instant(minute)) for minute in minutes), key=lambda one: (one.at, one.id))
        log_events(store, *written)
        doomed = [one for place, one in enumerate(written) if one.at < instant(before) or len(written) - place > keep]
        gone = store.write(lambda tx: tx.prune_events(instant(before), keep, limit))
        assert gone == min(limit, len(doomed))
        assert list(reversed(logged_events(store))) == written[gone:]


# Cooldowns.


@law
@given(written=st.lists(cooldowns, max_size=4, unique_by=lambda one: (one.service, one.action)))
def test_a_cooldown_is_read_as_it_was_written(fresh: Fresh, written: list[Cooldown]) -> None:
    with fresh() as store:
        put_cooldowns(store, *written)
        with store.read() as view:
            listed = [one for one in written if one.until > EVER]
            assert list(view.cooldowns(EVER)) == sorted(listed, key=lambda one: (one.service, one.action))


def test_an_action_of_a_service_has_one_cooldown(store: MemoryStore) -> None:
    first, other = a_cooldown(), a_cooldown("caddy")
    again = a_cooldown(until=instant(60), set_at=instant(5), reason=Clean("no use"), count=2)
    put_cooldowns(store, first, other, again)
    assert list(holding(store, instant(0))) == [other, again]


@pytest.mark.parametrize(("minute", "left"), [(0, [1, 2]), (1, [2]), (2, [])])
def test_expired_cooldowns_are_not_listed(store: MemoryStore, minute: int, left: list[int]) -> None:
    put_cooldowns(store, *(a_cooldown(f"s{end}", until=instant(end)) for end in (1, 2)))
    assert [one.until for one in holding(store, instant(minute))] == list(map(instant, left))


def test_dropping_a_cooldown_affects_one_action(store: MemoryStore) -> None:
    kept, doomed = a_cooldown(action="stop"), a_cooldown()
    put_cooldowns(store, kept, doomed)
    for _ in range(2):
        store.write(lambda tx: tx.drop_cooldown(doomed.service, doomed.action))
    assert list(holding(store, EVER)) == [kept]


@pytest.mark.parametrize(("at", "limit", "gone"), [(0, 10, 0), (2, 10, 2), (2, 1, 1), (9, 10, 4)])
def test_expired_cooldowns_are_pruned_in_batches(store: MemoryStore, at: int, limit: int, gone: int) -> None:
    put_cooldowns(store, *(a_cooldown(f"s{end}", until=instant(end)) for end in (1, 2, 3, 4)))
    assert store.write(lambda tx: tx.prune_cooldowns(instant(at), limit)) == gone
    left = {one.until for one in holding(store, EVER)}
    assert len(left) == 4 - gone
    assert left >= {instant(end) for end in (3, 4) if end > at}


def test_events_and_cooldowns_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    event, cooldown = an_event(service=JELLYFIN, session=S1), a_cooldown(reason=Clean("no use"), count=3)
    with closing(open_durable()) as store:
        log_events(store, event)
        put_cooldowns(store, cooldown)
    with closing(open_durable()) as store:
        assert (list(logged_events(store)), list(holding(store, EVER))) == ([event], [cooldown])
