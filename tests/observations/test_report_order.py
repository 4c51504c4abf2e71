"""Order of arrival: it does not change memories and confidences (X8), on every store, through the service."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import ObservationKind, PairScores
from hivelore.observations.outcomes import Effect, ObservationInput
from hivelore.observations.service import ATTEMPTS
from support.clocks import START, SteppingClock
from support.laws import examples
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World, hashing

DAY = timedelta(days=1)
PORT, OTHER_PORT = "Listens on port 8096", "Listens on port 8920"
TEXTS = (PORT, OTHER_PORT, "Takes 60s to start", "Takes about 64 seconds to start", "Takes 69s to start", "It is slow")
_services = map("service{}".format, count())


class Report(NamedTuple):
    text: str
    at: datetime
    viewer: Viewer = AS_ADA
    session: str | None = None


reports = st.lists(
    st.builds(
        Report,
        st.sampled_from(TEXTS),
        st.integers(1, 6).map(lambda weeks: START - weeks * 9 * DAY),
        st.sampled_from([AS_ADA, AS_BOB, AS_LEA]),
        st.sampled_from([None, "a", "b"]),
    ),
    max_size=6,
)


def known(world: World, reports: Sequence[Report]) -> set[tuple[object, ...]]:
    """Returns the state of a service after these reports in this order."""
    service = next(_services)
    for one in reports:
        world.observe(one.text, service=service, viewer=one.viewer, at=one.at, session=one.session)
    page = world.curation.page(RatedQuery(service=service), AS_OPERATOR, None)
    return {
        (
            one.memory.content,
            one.memory.owner,
            one.memory.session,
            one.memory.created_at,
            round(one.confidence, 4),
            one.active,
            one.memory.operational.held.since if one.memory.operational else None,
            frozenset(
                (seen.kind, seen.at, seen.actor, seen.session, seen.text, seen.to)
                for seen in world.curation.timeline(one.memory.id, AS_OPERATOR).observations
            ),
        )
        for one in page.memories
    }


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(reports, st.randoms(use_true_random=False))
def test_memories_and_confidences_do_not_depend_on_the_order_of_arrival(
    world: World, reports: list[Report], random: Random
) -> None:
    arrived = list(reports)
    random.shuffle(arrived)
    assert known(world, arrived) == known(world, sorted(reports, key=lambda one: (one.at, one.text)))


def test_late_observations_do_not_deactivate_a_newer_memory(world: World) -> None:
    now = world.clock.now()
    present = world.observe(OTHER_PORT, at=now - DAY)
    for number in range(3):
        world.observe(PORT, at=now - (31 - number) * DAY, session=f"s{number}")
    stands = world.curation.get(present.memory.id, AS_ADA)
    assert (stands.confidence, stands.active) == (0.7, True)


def test_an_earlier_observation_becomes_the_text_of_the_group(world: World) -> None:
    now = world.clock.now()
    first = world.observe("Takes 64 seconds to start", at=now - DAY).memory
    other = world.observe("Takes 55 s to start", at=now - DAY / 2, viewer=AS_BOB).memory
    done = world.observe("Takes 60s to start", at=now - 2 * DAY, viewer=AS_BOB)
    assert (done.effect, done.memory.id, done.memory.content) == (Effect.REINFORCED, first.id, "Takes 60s to start")
    (only,) = world.curation.page(RatedQuery(service="jellyfin"), AS_ADA, None).memories
    assert (only.memory.id, only.memory.owner, only.confidence) == (first.id, "bob", 0.8)
    kinds = [one.kind for one in world.curation.timeline(first.id, AS_ADA).observations]
    assert kinds == [ObservationKind.CREATED, ObservationKind.REINFORCED, ObservationKind.REINFORCED]
    assert world.found("takes 60s to start") == ["Takes 60s to start"]
    assert [(one.action, one.memory) for one in world.audit()[:2]] == [("forgotten", other.id), ("edited", first.id)]


def test_a_memory_created_by_an_operator_is_unchanged_by_late_observations(world: World) -> None:
    said = ObservationInput("Takes 64 seconds to start", "timing", "jellyfin", confidence=0.9)
    made = world.curation.create(said, AS_OPERATOR).memory
    done = world.observe("Takes 60s to start", at=made.created_at - 40 * DAY)
    assert (done.memory.id, done.memory.content) == (made.id, "Takes 64 seconds to start")
    against = world.observe("Takes 10 minutes to start", at=made.created_at - 40 * DAY)
    assert (against.effect, against.about) == (Effect.NEW, ())


class InterruptingReader:
    """A pair model during whose first calls other observations arrive."""

    def __init__(self, times: int) -> None:
        self.world: World | None = None
        self._left = times

    def stance(self, one: Clean, other: Clean) -> PairScores:
        if self._left and self.world is not None:
            self._left -= 1
            text, at = f"Listens on port {9_000 + self._left}", self.world.clock.now() - timedelta(milliseconds=500)
            self.world.observation_service.observe(
                ObservationInput(observation=text, category="timing", service="jellyfin", at=at), AS_BOB
            )
        return PairScores(same=0.0, conflict=1.0, different=0.0)


@pytest.mark.parametrize("times", [1, ATTEMPTS + 2])
def test_observations_that_arrive_during_a_comparison_are_compared(times: int) -> None:
    clock, reader = SteppingClock(), InterruptingReader(times)
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=hashing(), reader=reader)
    world.observe(PORT)
    reader.world = world
    done = world.observe(OTHER_PORT)
    others = {one.memory.id for one in world.curation.page(RatedQuery(), AS_OPERATOR, None).memories} - {done.memory.id}
    assert (done.effect, set(done.about)) == (Effect.CONTRADICTED, others)
    assert len(others) == 1 + times
