"""Timelines of operational memories, with observations in any order of arrival (C38)."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from hivelore.core.values import replace
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.model import Memory
from hivelore.observations.confidence import Lifecycle, replay
from hivelore.observations.model import Observation, ObservationKind
from hivelore.observations.outcomes import Change, ObservationInput
from hivelore.observations.records import add_observations
from hivelore.review.model import Decision
from support.laws import examples
from support.memories import START, an_observation
from support.stores import present
from support.world import AS_ADA, AS_OPERATOR, World

SLOW = "Takes 60s to start"


def made(world: World, text: str = SLOW, *, persistent: bool = False) -> Memory:
    seen = ObservationInput(text, "timing", "jellyfin", persistent=persistent)
    return world.curation.create(seen, AS_OPERATOR).memory


def arrives(world: World, memory: Memory, *seen: Observation) -> None:
    stored = present(world.store, memory)
    world.store.write(lambda tx: add_observations(tx, stored, seen, Lifecycle()))


def test_the_timeline_includes_decay(world: World) -> None:
    memory, began = made(world), world.clock.now()
    world.clock.advance(timedelta(days=54))
    arrives(world, memory, an_observation(ObservationKind.CONTRADICTED, world.clock.now()))
    points = world.curation.timeline(memory.id, AS_ADA).timeline
    assert [round(one.confidence, 3) for one in points] == [0.7, 0.7, 0.357, 0.157, 0.157]
    assert [one.active for one in points] == [True, True, True, False, False]
    assert points[1].at - began == pytest.approx(timedelta(days=30), abs=timedelta(seconds=1))


def test_observations_before_the_creation_follow_it_in_the_timeline(world: World) -> None:
    memory = made(world)
    for days in (2, 3):
        arrives(world, memory, an_observation(at=world.clock.now() - timedelta(days=days), text=f"{days} days ago."))
    first = world.curation.timeline(memory.id, AS_ADA, limit=1)
    rest = world.curation.timeline(memory.id, AS_ADA, after=first.next)
    assert [one.text for one in (*first.observations, *rest.observations)] == [SLOW, "3 days ago.", "2 days ago."]
    assert [one.confidence for one in (*first.timeline, *rest.timeline)] == [0.7, 0.7, 0.8, 0.8, 0.8, 0.8]


@pytest.mark.parametrize(
    ("judgement", "confidence"), [(Change(active=False, reason="Fixed in v2."), 0.8), (Change(confidence=0.0), 0.0)]
)
@pytest.mark.parametrize("is_late", [True, False])
def test_observations_before_a_change_by_an_operator_do_not_reactivate(
    world: World, judgement: Change, confidence: float, *, is_late: bool
) -> None:
    memory = made(world)
    world.clock.advance(timedelta(days=7))
    before = an_observation(at=world.clock.now() - timedelta(days=3))
    if not is_late:
        arrives(world, memory, before)
    world.curation.change(memory.id, judgement, AS_OPERATOR)
    if is_late:
        arrives(world, memory, before)
    rated, life = world.curation.get(memory.id, AS_ADA), world.curation.timeline(memory.id, AS_ADA)
    assert (rated.active, rated.confidence) == (False, confidence)
    assert [one.kind for one in life.observations][:2] == [ObservationKind.CREATED, ObservationKind.REINFORCED]
    world.clock.advance(timedelta(days=1))
    arrives(world, memory, an_observation(at=world.clock.now()))
    assert world.curation.get(memory.id, AS_ADA).active


def test_the_timeline_shows_persistence_gained_by_a_merge(world: World) -> None:
    made(world, "Takes 60 s.", persistent=True)
    world.clock.advance(timedelta(days=1))
    newer = made(world, "takes 60 s")
    world.embed()
    world.maintenance.apply(MaintenancePlan(merge=True), AS_OPERATOR)
    (proposal,) = world.review_inbox.page(AS_OPERATOR, None, 10, is_open=True).proposals
    world.review_inbox.decide(proposal.id, Decision.ACCEPTED, AS_OPERATOR)
    life = world.curation.timeline(newer.id, AS_ADA)
    assert [one.kind for one in life.observations] == [
        ObservationKind.CREATED,
        ObservationKind.REINFORCED,
        ObservationKind.MADE_PERSISTENT,
    ]
    known = present(world.store, newer).memory.operational
    assert known is not None
    assert known.persistent
    *_, last = replay(known, life.observations, Lifecycle())
    assert last.after == known


changes = st.builds(
    Change,
    confidence=st.just(UNSET) | st.floats(0.3, 1.0),
    active=st.just(UNSET) | st.booleans(),
    persistent=st.just(UNSET) | st.booleans(),
)
arrivals = st.builds(
    an_observation,
    st.sampled_from([ObservationKind.REINFORCED, ObservationKind.CONTRADICTED]),
    st.timedeltas(-timedelta(days=9), timedelta(days=200)).map(lambda age: START + age),
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(arrivals | changes, max_size=8))
def test_the_timeline_ends_at_the_current_state_for_any_arrivals(
    world: World, done: list[Observation | Change]
) -> None:
    memory = made(world)
    for one in done:
        world.clock.advance(timedelta(days=20))
        if isinstance(one, Change):
            world.curation.change(memory.id, one, AS_OPERATOR)
        else:
            arrives(world, memory, replace(one, at=min(one.at, world.clock.now())))
        known, life = present(world.store, memory).memory.operational, world.curation.timeline(memory.id, AS_ADA)
        assert known is not None
        *_, last = replay(known, life.observations, Lifecycle())
        assert last.after == known
        rated, end = world.curation.get(memory.id, AS_ADA), life.timeline[-1]
        assert (end.confidence, end.active) == (round(rated.confidence, 4), rated.active)
