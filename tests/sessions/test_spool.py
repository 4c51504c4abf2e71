"""Draining: events that hooks put aside are taken in their order, once, for who they belong to."""

from collections.abc import Sequence

import pytest

from hivelore.core.redaction import Redactor
from hivelore.errors import Invalid, Unavailable
from hivelore.memories.model import Json
from hivelore.sessions.capture import HookService
from hivelore.sessions.spool import SpoolDelivery
from support.world import AS_OPERATOR, BOB, World

URL = "http://127.0.0.1:4483"
FIRST, SECOND = "The parser was moved to Rust.", "And then it was moved to Zig."


class Listed:
    """Implements ``sessions.ports.Spool`` over what it is given; None: what cannot be read."""

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


def drained(world: World, spool: Listed, url: str | None = URL) -> int:
    hooks = HookService(world.capture, Redactor(b"a key for tests only"), world.clock)
    return SpoolDelivery(spool, hooks, world.agents, url).deliver()


def kept(world: World) -> list[str]:
    where = world.reading.widest_filter(AS_OPERATOR)
    return [memory.content for memory in world.reading.page(where, None, 10, AS_OPERATOR).memories]


def test_what_waits_is_taken_in_its_order_for_the_agent_of_this_machine(world: World) -> None:
    spool = Listed(compacted(FIRST), compacted(SECOND), compacted(SECOND))
    assert drained(world, spool) == 3
    assert spool.waiting() == []
    assert kept(world) == [SECOND]
    (memory,) = world.reading.page(world.reading.widest_filter(AS_OPERATOR), None, 10, AS_OPERATOR).memories
    assert memory.owner == world.agents.local_agent().id
    assert memory.version == 2


def test_what_came_with_a_key_is_taken_for_its_holder(world: World) -> None:
    key = world.agents.issue(BOB).text.rpartition("_")[0]
    assert drained(world, Listed(compacted(FIRST, key=key))) == 1
    (memory,) = world.reading.page(world.reading.widest_filter(AS_OPERATOR), None, 10, AS_OPERATOR).memories
    assert memory.owner == BOB


@pytest.mark.parametrize("key", ["", "hl_1_ffffffffff", "hl_2_0123456789", "x", "revoked", "operator"])
def test_a_key_that_lets_no_agent_in_is_no_reason_to_take_it_for_another(world: World, key: str) -> None:
    issued = world.agents.issue(None if key == "operator" else BOB)
    if key == "revoked":
        world.agents.revoke(issued.key.id)
    told = {"revoked": issued.text.rpartition("_")[0], "operator": issued.text.rpartition("_")[0]}.get(key, key)
    spool = Listed(compacted(FIRST, key=told or "hl__"))
    assert drained(world, spool) == 0
    assert spool.aside == ["000"]
    assert kept(world) == []


def test_what_cannot_be_read_or_is_of_no_known_program_is_set_aside_and_the_rest_is_taken(world: World) -> None:
    spool = Listed(None, [], compacted(FIRST, program="tetris"), compacted(FIRST))
    assert drained(world, spool) == 1
    assert spool.aside == ["000", "001", "002"]
    assert kept(world) == [FIRST]


def test_what_was_meant_for_another_service_is_left_where_it_is(world: World) -> None:
    spool = Listed(compacted(FIRST, url="http://elsewhere"), compacted(SECOND, session="s2", url=f"{URL}/"))
    assert drained(world, spool) == 1
    assert spool.waiting() == ["000"]
    assert kept(world) == [SECOND]


@pytest.mark.parametrize("url", ["http://localhost:4483", "http://[::1]:4483/", "http://127.0.0.1:4483//"])
def test_this_machine_has_several_names(world: World, url: str) -> None:
    spool = Listed(compacted(FIRST, url=url))
    assert drained(world, spool) == 1
    assert kept(world) == [FIRST]


@pytest.mark.parametrize("url", ["http://localhost:4484", "https://localhost:4483", "http://localhost", "http://[::1"])
def test_another_port_is_another_service(world: World, url: str) -> None:
    assert drained(world, Listed(compacted(FIRST, url=url))) == 0
    assert kept(world) == []


def test_what_is_for_another_service_is_read_once(world: World) -> None:
    spool = Listed(compacted(FIRST, url="http://elsewhere"))
    hooks = HookService(world.capture, Redactor(b"a key for tests only"), world.clock)
    spool_drain = SpoolDelivery(spool, hooks, world.agents, URL)
    assert spool_drain.deliver() == 0
    spool.works = False
    assert spool_drain.deliver() == 0
    spool.works = True
    spool.events = {"001": compacted(SECOND)}
    assert spool_drain.deliver() == 1


def test_what_cannot_be_kept_now_waits_with_all_behind_it(world: World) -> None:
    spool = Listed(compacted(FIRST), compacted(SECOND))
    spool.works = False
    with pytest.raises(Unavailable):
        drained(world, spool)
    assert spool.waiting() == ["000", "001"]
    spool.works = True
    assert drained(world, spool) == 2


def test_it_says_how_many_wait_and_how_many_were_lost(world: World) -> None:
    hooks = HookService(world.capture, Redactor(b"a key for tests only"), world.clock)
    spool_drain = SpoolDelivery(Listed(compacted(FIRST), None), hooks, world.agents, None)
    assert (spool_drain.waiting(), spool_drain.lost()) == (2, 3)
