"""Delivery of spooled events: in order, once, and for the right agent."""

import errno
from collections.abc import Sequence

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.redaction import Redactor
from hivelore.errors import Broken, Invalid, Unavailable
from hivelore.health.model import Cause
from hivelore.memories.model import Json
from hivelore.sessions.capture import HookService
from hivelore.sessions.missed_answers import MissedAnswers
from hivelore.sessions.programs import SpooledEvent
from hivelore.sessions.spool import SpoolDelivery
from support.world import AS_OPERATOR, BOB, World

URL = "http://127.0.0.1:4483"
FIRST, SECOND = "The parser was moved to Rust.", "And then it was moved to Zig."


class FakeSpool:
    """Implements ``Spool`` in memory. None stands for an unreadable event."""

    def __init__(self, *events: Json) -> None:
        self.events = {f"{number:03}": event for number, event in enumerate(events)}
        self.aside: list[str] = []
        self.works = True

    def waiting(self) -> Sequence[str]:
        return sorted(self.events)

    def read(self, name: str) -> Json:
        if not self.works:
            raise Unavailable("The disk is away.")
        if self.events[name] is None:
            raise Invalid("no JSON")
        return self.events[name]

    def remove(self, name: str) -> None:
        self.events.pop(name, None)

    def set_aside(self, name: str) -> None:
        self.aside.append(name)
        self.remove(name)

    def lost(self) -> int:
        return 3


def compacted(summary: str, session: str = "s1", **more: Json) -> Json:
    payload: dict[str, Json] = {"hook_event_name": "PostCompact", "session_id": session, "compact_summary": summary}
    return {"program": "claude-code", "id": summary, "at": "2026-03-01T00:00:00Z", "payload": payload, **more}


def deliver(world: World, spool: FakeSpool, url: str | None = URL) -> int:
    return delivery_of(world, spool, url).deliver()


def delivery_of(world: World, spool: FakeSpool, url: str | None) -> SpoolDelivery:
    redactor = Redactor(b"a key for tests only")
    return SpoolDelivery(spool, HookService(world.capture, redactor, world.clock), world.agents, redactor, url)


def stored_texts(world: World) -> list[str]:
    where = world.reading.widest_filter(AS_OPERATOR)
    return [memory.content for memory in world.reading.page(where, None, 10, AS_OPERATOR).memories]


def test_events_are_delivered_in_order_for_the_local_agent(world: World) -> None:
    spool = FakeSpool(compacted(FIRST), compacted(SECOND), compacted(SECOND))
    assert deliver(world, spool) == 3
    assert spool.waiting() == []
    assert stored_texts(world) == [SECOND]
    (memory,) = world.reading.page(world.reading.widest_filter(AS_OPERATOR), None, 10, AS_OPERATOR).memories
    assert memory.owner == world.agents.local_agent().id
    assert memory.version == 2


def test_an_event_with_a_key_is_delivered_for_its_agent(world: World) -> None:
    key = world.agents.issue(BOB).text.rpartition("_")[0]
    assert deliver(world, FakeSpool(compacted(FIRST, key=key))) == 1
    (memory,) = world.reading.page(world.reading.widest_filter(AS_OPERATOR), None, 10, AS_OPERATOR).memories
    assert memory.owner == BOB


@pytest.mark.parametrize("key", ["", " ", 7, "hl_1_ffffffffff", "hl_2_0123456789", "x", "revoked", "operator"])
def test_an_event_with_an_invalid_key_is_set_aside(world: World, key: Json) -> None:
    issued = world.agents.issue(None if key == "operator" else BOB)
    if key == "revoked":
        world.agents.revoke(issued.key.id)
    key_id = issued.text.rpartition("_")[0] if key in ("revoked", "operator") else key
    spool = FakeSpool(compacted(FIRST, key=key_id))
    assert deliver(world, spool) == 0
    assert spool.aside == ["000"]
    assert stored_texts(world) == []


@pytest.mark.parametrize("key", ["", "hl_1_ffffffffff"])
def test_the_missed_answer_of_an_event_with_an_invalid_key_is_counted(world: World, key: str) -> None:
    prompt: Json = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Which port?"}
    event: dict[str, Json] = {"program": "claude-code", "id": "e1", "payload": prompt, "key": key, "missed": "refused"}
    assert deliver(world, FakeSpool(event, compacted(FIRST, key=key))) == 0
    assert world.capture.missed_answers() == (MissedAnswers(program="claude-code", refused=1),)


def test_an_event_without_a_key_is_the_local_agents(world: World) -> None:
    assert deliver(world, FakeSpool(compacted(FIRST, key=None))) == 1


def test_unreadable_and_unknown_events_are_set_aside_and_the_rest_is_delivered(world: World) -> None:
    spool = FakeSpool(None, [], compacted(FIRST, program="tetris"), compacted(FIRST))
    assert deliver(world, spool) == 1
    assert spool.aside == ["000", "001", "002"]
    assert stored_texts(world) == [FIRST]


def test_events_for_another_service_are_left_in_place(world: World) -> None:
    spool = FakeSpool(compacted(FIRST, url="http://elsewhere"), compacted(SECOND, session="s2", url=f"{URL}/"))
    assert deliver(world, spool) == 1
    assert spool.waiting() == ["000"]
    assert stored_texts(world) == [SECOND]


@pytest.mark.parametrize("url", ["http://localhost:4483", "http://[::1]:4483/", "http://127.0.0.1:4483//"])
def test_local_urls_with_other_host_names_are_the_same_service(world: World, url: str) -> None:
    spool = FakeSpool(compacted(FIRST, url=url))
    assert deliver(world, spool) == 1
    assert stored_texts(world) == [FIRST]


@pytest.mark.parametrize("url", ["http://localhost:4484", "https://localhost:4483", "http://localhost", "http://[::1"])
def test_another_port_is_another_service(world: World, url: str) -> None:
    assert deliver(world, FakeSpool(compacted(FIRST, url=url))) == 0
    assert stored_texts(world) == []


def test_an_event_for_another_service_is_read_once(world: World) -> None:
    spool = FakeSpool(compacted(FIRST, url="http://elsewhere"))
    delivery = delivery_of(world, spool, URL)
    assert delivery.deliver() == 0
    spool.works = False
    assert delivery.deliver() == 0
    spool.works = True
    spool.events = {"001": compacted(SECOND)}
    assert delivery.deliver() == 1


def test_an_unavailable_spool_keeps_the_order_of_events(world: World) -> None:
    spool = FakeSpool(compacted(FIRST), compacted(SECOND))
    spool.works = False
    with pytest.raises(Unavailable):
        deliver(world, spool)
    assert spool.waiting() == ["000", "001"]
    spool.works = True
    assert deliver(world, spool) == 2


def test_events_wait_while_the_database_is_damaged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = FakeSpool(compacted(FIRST), compacted(SECOND))

    def fail(*_: object, **__: object) -> None:
        raise Broken("The database is damaged.", cause=Cause.DAMAGED)

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store), "read", fail)
        with pytest.raises(Broken):
            deliver(world, spool)
    assert spool.waiting() == ["000", "001"]
    assert deliver(world, spool) == 2


def let_first_event_fail(patch: pytest.MonkeyPatch, error: Exception) -> None:
    handle_late = HookService.handle_late

    def fail(hooks: HookService, received: SpooledEvent, viewer: Viewer) -> None:
        if received.id == FIRST:
            raise error
        handle_late(hooks, received, viewer)

    patch.setattr(HookService, "handle_late", fail)


def test_an_event_with_a_deeply_nested_task_file_is_delivered(world: World) -> None:
    spool = FakeSpool(compacted(FIRST, taskFile="[" * 16_000), compacted(SECOND))
    assert deliver(world, spool) == 2
    assert spool.aside == []


@pytest.mark.parametrize(
    "error", [RecursionError(), KeyError("id"), OSError(errno.ENAMETOOLONG, "name too long"), Broken("no cause")]
)
def test_an_event_that_cannot_be_handled_is_set_aside_and_the_rest_is_delivered(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    spool = FakeSpool(compacted(FIRST), compacted(SECOND))
    let_first_event_fail(monkeypatch, error)
    assert deliver(world, spool) == 1
    assert spool.aside == ["000"]
    assert stored_texts(world) == [SECOND]
    assert "000" in caplog.text


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError(errno.ENOSPC, "disk full"), OSError(errno.EMFILE, "too many open files")]
)
def test_events_wait_while_the_machine_lacks_resources(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    spool = FakeSpool(compacted(FIRST), compacted(SECOND))
    with monkeypatch.context() as patch:
        let_first_event_fail(patch, error)
        with pytest.raises(type(error)):
            deliver(world, spool)
    assert (spool.waiting(), spool.aside) == (["000", "001"], [])
    assert deliver(world, spool) == 2


def test_waiting_and_lost_events_are_counted(world: World) -> None:
    delivery = delivery_of(world, FakeSpool(compacted(FIRST), None), None)
    assert (delivery.waiting(), delivery.lost()) == (2, 3)
