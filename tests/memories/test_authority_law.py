"""The law of authority: no call of a worker changes the shared memories of others."""

from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import HiveloreError
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, MemoryId, Scope, Source
from hivelore.observations.model import Confidence, Held, Operational
from hivelore.review.model import Decision, ProposalId
from support.clocks import START, SteppingClock
from support.laws import examples
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World, hashing

PATH, FILE, NAME = "/notes/a.md", "/workspace/shared/memory/plan.md", "x"
DAYS = st.none() | st.integers(-20, 20)
SUBJECTS = st.sampled_from([None, "db.port", "on.call"])


class Swarm(NamedTuple):
    world: World
    others: Mapping[MemoryId, Memory]
    """Shared memories of agents other than Ada."""


@pytest.fixture(scope="module", params=["exact", "postings", "postings on postgres"])
def swarm(request: pytest.FixtureRequest) -> Generator[Swarm]:
    kind, clock = KEYWORDS[request.param], SteppingClock()
    with TemporaryDirectory(dir=IN_MEMORY) as folder, closing(STORES[kind.store].open(Path(folder), clock)) as store:
        world = World(store, kind.index(), clock, embedder=hashing())
        scan = replace(AS_LEA, interface=Interface.SERVICE)
        ids = [
            shared(world, AS_LEA, "A note of the lead.", expires_at=START + timedelta(days=90)),
            shared(world, AS_BOB, "A document of Bob.", source=Source.FILE_INDEX, source_path=PATH),
            shared(world, AS_BOB, "A record of Bob.", external_id=NAME),
            shared(world, scan, "What the file says.", source=Source.FILE_INDEX, source_path=FILE),
            shared(world, AS_LEA, "The port was 5432.", subject="db.port", valid_from=START - timedelta(days=9)),
            shared(world, AS_LEA, "The port is 6543.", subject="db.port"),
            shared(world, AS_OPERATOR, "Bob is on call.", subject="on.call"),
            world.observe("The crane takes 60s to start.", viewer=AS_BOB).memory.id,
        ]
        yield Swarm(world, {one: seen(world, one) for one in ids})


def shared(world: World, by: Any, content: str, **more: Any) -> MemoryId:
    return world.remember(content, by, scope=Scope.SWARM, **more).id


def seen(world: World, memory: MemoryId) -> Memory:
    """Returns the memory as Bob sees it, without its access count."""
    return replace(world.reading.get(memory, AS_BOB), access_count=0, accessed_at=None)


def at(days: int | None) -> Any:
    return None if days is None else START + timedelta(days=days)


class Call(NamedTuple):
    what: str
    which: int
    content: str
    scope: Scope
    subject: str | None
    path: str | None
    external: str | int | None
    supersedes: str | int | None
    expires: int | None
    since: int | None
    created: int | None
    sure: bool


KINDS = [
    *["index"] * 6,
    "batch",
    "edit",
    "edit",
    "place",
    "share",
    "forget",
    "path",
    "undo",
    "decide",
    "renew",
    "merge",
]
CALLS = st.builds(
    Call,
    st.sampled_from(KINDS),
    st.integers(0, 30),
    st.sampled_from(["Mine.", "Mine, too.", "A document of Bob.", "A record of Bob.", "The port is 6543."]),
    st.sampled_from([Scope.SWARM, Scope.SWARM, Scope.AGENT]),
    SUBJECTS,
    st.sampled_from([None, None, PATH, FILE]),
    st.none() | st.just(NAME) | st.integers(0, 9),
    st.none() | st.just(NAME) | st.integers(0, 9),
    DAYS,
    DAYS,
    DAYS,
    st.booleans(),
)


@settings(max_examples=examples(16), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(calls=st.lists(CALLS, min_size=1, max_size=8))
def test_no_call_of_a_worker_changes_the_shared_memories_of_others(swarm: Swarm, calls: list[Call]) -> None:
    world = swarm.world
    for one in mine(world):
        world.memory_service.forget(one.id, AS_OPERATOR)
    for call in calls:
        with suppress(HiveloreError):
            do(world, call, list(swarm.others))
        assert {one: seen(world, one) for one in swarm.others} == swarm.others
    listed = {one.id for one in world.reading.page(world.reading.widest_filter(AS_BOB), None, 1_000, AS_BOB).memories}
    assert swarm.others.keys() <= listed
    found = world.recall("note document record file port call crane", AS_BOB, limit=50).hits
    assert present_truth(swarm) <= {hit.memory.id for hit in found}


def present_truth(swarm: Swarm) -> set[MemoryId]:
    return {one.id for one in swarm.others.values() if one.valid_until is None}


def mine(world: World) -> list[Memory]:
    where = world.reading.widest_filter(AS_OPERATOR)
    return [one for one in world.reading.page(where, None, 1_000, AS_OPERATOR).memories if one.provenance.actor == ADA]


def do(world: World, call: Call, others: list[MemoryId]) -> None:
    """Makes the call as Ada."""
    own = [one.id for one in mine(world)]
    anything = [*others, *own]
    which = anything[call.which % len(anything)]
    world.clock.advance(timedelta(seconds=1))
    match call.what:
        case "index":
            world.memory_service.remember(draft(call, anything), AS_ADA)
        case "batch":
            world.memory_service.remember_many([draft(call, anything), Draft(content="One more.")], AS_ADA)
        case "edit":
            world.memory_service.edit(which, Edit(content=call.content, expires_at=at(call.expires)), AS_ADA)
        case "place":
            supersedes = named(call.supersedes, anything)
            edit = Edit(subject=call.subject, valid_from=at(call.since), supersedes=supersedes)
            world.memory_service.edit(which, edit, AS_ADA)
        case "share":
            world.memory_service.edit(which, Edit(scope=call.scope), AS_ADA)
        case "forget":
            world.memory_service.forget(which, AS_ADA)
        case "path":
            world.memory_service.forget_path(call.path or PATH, AS_ADA)
        case "undo":
            world.undo_service.undo(which, AS_ADA)
        case "renew":
            world.memory_service.renew(which, AS_ADA)
        case "merge":
            world.maintenance.apply(MaintenancePlan(purge_expired=call.sure, merge=True), AS_ADA)
        case _:
            for one in world.review_inbox.page(AS_ADA, None, 5).proposals:
                with pytest.raises(HiveloreError):
                    world.review_inbox.decide(ProposalId(one.id), Decision.ACCEPTED, AS_ADA)


def named(reference: str | int | None, anything: list[MemoryId]) -> str | None:
    return anything[reference % len(anything)] if isinstance(reference, int) else reference


def draft(call: Call, anything: list[MemoryId]) -> Draft:
    sure = Operational.of(Held(base=Confidence(1.0), since=START), service=Clean("crane"))
    return Draft(
        content=call.content,
        scope=call.scope,
        source=Source.FILE_INDEX if call.path else Source.MANUAL,
        subject=call.subject,
        source_path=call.path,
        external_id=named(call.external, anything),
        supersedes=named(call.supersedes, anything),
        expires_at=at(call.expires),
        valid_from=at(call.since),
        created_at=at(call.created),
        operational=sure if call.sure and call.which % 5 == 0 else None,
    )
