"""The event log: written and read by all agents, bounded, and without private data."""

from datetime import timedelta, timezone
from typing import Any

import pytest

from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.ids import event_id
from hivelore.core.paging import cursor_of
from hivelore.core.text import Clean
from hivelore.errors import Invalid, NotFound, TooLarge
from hivelore.events.log import MAX_COMPARED, EventLog
from hivelore.events.model import TEXT_LENGTH, Event, Level, LoggedId
from hivelore.maintenance.housekeeper import PRUNE_BATCH, PRUNE_EVERY, Housekeeper
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Scope
from hivelore.memories.normalizer import CLOCK_SLACK, SESSION_LENGTH
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import GENERAL, SERVICE_LENGTH
from hivelore.observations.naming import Naming
from support.events import an_event, log_events, logged_events
from support.fake_secrets import shapes
from support.reference.keywords import ReferenceKeywords
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

DAY = timedelta(days=1)
AWS_KEY = shapes("event")["aws-key"][0]
EVERYBODY = (AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR)


def page(world: World, viewer: Viewer = AS_BOB, limit: int = 100) -> tuple[Event, ...]:
    return world.events.page(viewer, None, limit).events


def test_all_agents_record_and_read_events(world: World) -> None:
    recorded = [world.events.record(Level.INFO, f"{viewer.role} was here", viewer) for viewer in EVERYBODY]
    for viewer in EVERYBODY:
        assert set(page(world, viewer)) == set(recorded)


def test_an_event_has_its_actor_time_and_interface(world: World) -> None:
    event = world.events.record(Level.ERROR, " The disk is full \n", AS_ADA, service="jellyfin", session="s1")
    assert (event.text, event.service, event.session) == ("The disk is full", "jellyfin", "s1")
    assert (event.at, event.actor, event.interface, event.memory) == (world.clock.now(), ADA, AS_ADA.interface, None)
    assert world.events.page(AS_ADA, None, 9).events == (event,)
    assert world.events.record(Level.INFO, "Backup done", AS_OPERATOR).actor is None


def test_an_event_may_be_reported_late(world: World) -> None:
    happened = (world.clock.now() - DAY).astimezone(timezone(timedelta(hours=2)))
    assert world.events.record(Level.INFO, "Rebooted", AS_ADA, at=happened).at == world.clock.now() - DAY


def test_a_repetition_by_the_session_returns_the_stored_event(world: World) -> None:
    first = world.events.record(Level.ERROR, "The disk is full", AS_ADA, session="s1")
    world.clock.advance(timedelta(minutes=59))
    assert world.events.record(Level.ERROR, "The disk is full ", AS_ADA, service="general", session="s1") == first
    world.clock.advance(timedelta(minutes=1))
    assert world.events.record(Level.ERROR, "The disk is full", AS_ADA, session="s1") != first
    for _ in range(2):
        world.events.record(Level.ERROR, "The disk is full", AS_ADA)
    assert len(page(world)) == 4


DISK_FULL, S2 = Clean("The disk is full"), Clean("s2")


class CountingNaming(Naming):
    compared = 0

    def service_key(self, name: str) -> str:
        self.compared += 1
        return super().service_key(name)


@pytest.mark.parametrize(("session", "most"), [(None, 3), ("s1", 4), ("s2", MAX_COMPARED + 3)])
def test_recording_an_event_compares_few_services(world: World, session: str | None, most: int) -> None:
    flood = [
        an_event(text=DISK_FULL, service=Clean(f"host {number}"), session=S2, at=world.clock.now())
        for number in range(MAX_COMPARED + 50)
    ]
    log_events(world.store, *flood)
    naming = CountingNaming()
    log = EventLog(world.store, world.redactor, world.clock, LeadSees.SHARED, event_id, naming)
    first = log.record(Level.WARNING, DISK_FULL, AS_ADA, service="jellyfin", session=session)
    assert naming.compared <= most
    again = log.record(Level.WARNING, DISK_FULL, AS_ADA, service="jellyfin", session=session)
    assert (again == first) is (session is not None)


def test_general_is_no_service(world: World) -> None:
    event = world.events.record(Level.INFO, "Rebooted", AS_ADA, service=" general ")
    world.events.record(Level.INFO, "Rebooted", AS_ADA, service="bind")
    assert event.service is None
    assert world.events.page(AS_ADA, None, 9, service=GENERAL).events == (event,)


def test_secrets_are_masked_before_storage(world: World) -> None:
    event = world.events.record(Level.INFO, f"key {AWS_KEY}", AS_ADA, service=AWS_KEY, session=AWS_KEY)
    assert AWS_KEY not in repr((event, page(world)))
    assert world.events.page(AS_ADA, None, 9, service=AWS_KEY, session=AWS_KEY).events == (event,)


@pytest.mark.parametrize("text", ["", " \n\t", "a\0b", "a\ud800b"])
def test_an_empty_or_invalid_text_is_refused(world: World, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        world.events.record(Level.INFO, text, AS_ADA)
    assert refused.value.field == "text"
    assert page(world) == ()


def test_every_field_has_a_maximum_length(world: World) -> None:
    longest: dict[str, Any] = {"service": "s" * SERVICE_LENGTH, "session": "s" * SESSION_LENGTH}
    world.events.record(Level.INFO, "é" * TEXT_LENGTH, AS_ADA, **longest)
    for name, value in longest.items():
        with pytest.raises(TooLarge) as refused:
            world.events.record(Level.INFO, "Rebooted", AS_ADA, **{name: value + "s"})
        assert refused.value.field == name
    with pytest.raises(TooLarge, match="4,001 characters"):
        world.events.record(Level.INFO, "x" * (TEXT_LENGTH + 1), AS_ADA)
    assert len(page(world)) == 1


def test_an_event_lies_in_the_future_at_most_by_clock_differences(world: World) -> None:
    world.events.record(Level.INFO, "Rebooted", AS_ADA, at=world.clock.now() + CLOCK_SLACK)
    with pytest.raises(Invalid, match="future"):
        world.events.record(Level.INFO, "Rebooted", AS_ADA, at=world.clock.now() + CLOCK_SLACK + timedelta(seconds=1))
    with pytest.raises(Invalid, match="time zone"):
        world.events.record(Level.INFO, "Rebooted", AS_ADA, at=world.clock.now().replace(tzinfo=None))


def test_pages_are_filtered_and_continue_where_the_last_one_ended(world: World) -> None:
    for number in range(6):
        world.clock.advance(timedelta(seconds=1))
        level = Level.ERROR if number % 2 else Level.INFO
        world.events.record(level, f"{number}", AS_ADA, service="bind", session=f"s{number // 4}")
    start = world.clock.now() - timedelta(seconds=5)
    first = world.events.page(AS_BOB, None, 2, level=Level.WARNING)
    assert [one.text for one in first.events] == ["5", "3"]
    last = first.events[-1]
    assert first.next == cursor_of(last.at, last.id)
    second = world.events.page(AS_BOB, (last.at, last.id), 2, level=Level.WARNING)
    assert ([one.text for one in second.events], second.next) == (["1"], None)
    for viewer, texts in ((AS_ADA, ["5", "4"]), (AS_LEA, ["5", "4"]), (AS_BOB, [])):
        of_session = world.events.page(viewer, None, 9, session="s1", service="bind")
        assert [one.text for one in of_session.events] == texts
    between = world.events.page(AS_BOB, None, 9, since=start + timedelta(seconds=1), until=start + timedelta(seconds=3))
    assert [one.text for one in between.events] == ["2", "1"]


def test_an_event_about_a_memory_is_as_private_and_deleted_with_it(world: World) -> None:
    memory = world.remember("Takes 60s to start", scope=Scope.SWARM)
    event = world.events.build(Level.INFO, "New: takes 60s to start", AS_ADA, memory=memory.id)
    assert page(world) == ()
    log_events(world.store, event)
    assert page(world) == (event,)
    world.memory_service.edit(memory.id, Edit(scope=Scope.AGENT), AS_ADA)
    assert (page(world), page(world, AS_LEA), page(world, AS_OPERATOR)) == ((), (event,), (event,))
    world.memory_service.forget(memory.id, AS_ADA)
    assert page(world, AS_OPERATOR) == ()


def test_a_lead_limited_to_shared_memories_reads_no_event_of_a_private_one(world: World) -> None:
    memory = world.remember("Takes 60s to start")
    event = world.events.build(Level.INFO, "New: takes 60s to start", AS_ADA, memory=memory.id)
    log_events(world.store, event)
    for sees, seen in ((LeadSees.SHARED, ()), (LeadSees.ALL, (event,))):
        narrow = World(world.store, ReferenceKeywords(), world.clock, lead_sees=sees)
        assert page(narrow, AS_LEA) == seen


def test_an_event_is_removed_once(world: World) -> None:
    event = world.events.record(Level.INFO, "Rebooted", AS_ADA)
    world.events.forget(event.id)
    assert page(world) == ()
    with pytest.raises(NotFound, match="e0"):
        world.events.forget(event.id)
    with pytest.raises(NotFound):
        world.events.forget(LoggedId("x" * 100_000))


# Growing old.


def test_old_events_are_removed_in_batches(world: World) -> None:
    housekeeping = Housekeeper(world.store, world.keywords, world.clock, events=10 * DAY)
    log_events(world.store, *(an_event(at=world.clock.now()) for _ in range(PRUNE_BATCH + 1)))
    world.clock.advance(10 * DAY + timedelta(seconds=1))
    log_events(world.store, an_event(at=world.clock.now()))
    left: list[int] = []
    for _ in range(3):
        housekeeping.run_step()
        left.append(len(logged_events(world.store)))
    assert left == [2, 1, 1]


def test_events_beyond_the_maximum_are_removed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.maintenance.housekeeper.MAX_EVENTS", 3)
    recorded = [an_event(at=world.clock.now() + timedelta(seconds=number)) for number in range(5)]
    log_events(world.store, *recorded)
    housekeeping = Housekeeper(world.store, world.keywords, world.clock)
    housekeeping.run_step()
    assert list(logged_events(world.store)) == recorded[:1:-1]
    log_events(world.store, an_event(at=world.clock.now() + DAY))
    housekeeping.run_step()
    assert len(logged_events(world.store)) == 4
    world.clock.advance(timedelta(seconds=PRUNE_EVERY))
    housekeeping.run_step()
    assert len(logged_events(world.store)) == 3


def test_workers_do_not_see_the_sessions_of_others(world: World) -> None:
    for viewer, session in ((AS_ADA, "s1"), (AS_BOB, "s2")):
        world.events.record(Level.INFO, f"The disk of {session} is full", viewer, session=session)
    recorded = {
        viewer.agent: [one.session for one in world.events.page(viewer, None, 9).events] for viewer in (AS_ADA, AS_LEA)
    }
    assert recorded == {AS_ADA.agent: [None, "s1"], AS_LEA.agent: ["s2", "s1"]}
    seen = world.observe("The crane takes 60s to start.", session="s3").memory.id
    for viewer, session in ((AS_ADA, "s3"), (AS_BOB, None), (AS_LEA, "s3")):
        assert [one.session for one in world.curation.timeline(seen, viewer).observations] == [session]
    for viewer, session in ((AS_ADA, "s3"), (AS_BOB, None), (AS_LEA, "s3")):
        (rated,) = world.curation.page(RatedQuery(), viewer, None).memories
        assert (rated.memory.session, world.curation.get(seen, viewer).memory.session) == (session, session)
    world.cooldowns.set("crane", "restart", AS_ADA, minutes=5, session="s4")
    assert [world.cooldowns.list_visible(viewer)[0].session for viewer in (AS_ADA, AS_BOB, AS_LEA)] == [
        "s4",
        None,
        "s4",
    ]


def test_events_of_a_service_with_a_name_older_than_the_rules_are_listed(world: World) -> None:
    event = an_event(service=Clean("post\u034fgres"), at=world.clock.now())
    log_events(world.store, event)
    assert world.events.page(AS_BOB, None, 9, service="post\u034fgres").events == (event,)
    with pytest.raises(Invalid, match="invisible"):
        world.events.record(Level.INFO, "Rebooted", AS_ADA, service="post\u034fgres")
