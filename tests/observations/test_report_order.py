"""Order of arrival: it does not change memories and confidences (X8), on every store, through the service."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.links.judge import Verdict
from hivelore.memories.model import MemoryId
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import ObservationKind
from hivelore.observations.outcomes import Effect, ObservationInput
from hivelore.observations.service import ATTEMPTS
from hivelore.search.model import EVERYTHING
from support.clocks import START, SteppingClock
from support.laws import examples
from support.pair_readers import TableReader
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.reports import Report, arrive, memories
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World, hashing

DAY = timedelta(days=1)
PORT, OTHER_PORT = "Listens on port 8096", "Listens on port 8920"
MOVED = "Moved from port 8096 to port 8920"
TEXTS = (PORT, OTHER_PORT, MOVED, "Takes 60s to start", "takes 1 min to start", "Takes 69s to start", "It is slow")
_services = map("service{}".format, count())


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
    arrive(world, service, reports)
    return memories(world, service)


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
    first = world.observe("Takes 1000 ms to start", at=now - DAY).memory
    other = world.observe("Takes 1015 ms to start", at=now - DAY / 2, viewer=AS_BOB).memory
    done = world.observe("Takes 1008 ms to start", at=now - 2 * DAY, viewer=AS_BOB)
    assert (done.effect, done.memory.id, done.memory.content) == (Effect.REINFORCED, first.id, "Takes 1008 ms to start")
    (only,) = world.curation.page(RatedQuery(service="jellyfin"), AS_ADA, None).memories
    assert (only.memory.id, only.memory.owner, only.confidence) == (first.id, "bob", 0.8)
    kinds = [one.kind for one in world.curation.timeline(first.id, AS_ADA).observations]
    assert kinds == [ObservationKind.CREATED, ObservationKind.REINFORCED, ObservationKind.REINFORCED]
    assert world.found("takes 1008 ms to start") == ["Takes 1008 ms to start"]
    assert [(one.action, one.memory) for one in world.audit()[:2]] == [("forgotten", other.id), ("edited", first.id)]


def test_a_memory_created_by_an_operator_is_unchanged_by_late_observations(world: World) -> None:
    said = ObservationInput("Takes 60 seconds to start", "timing", "jellyfin", confidence=0.9)
    made = world.curation.create(said, AS_OPERATOR).memory
    done = world.observe("takes 1 min to start", at=made.created_at - 40 * DAY)
    assert (done.memory.id, done.memory.content) == (made.id, "Takes 60 seconds to start")
    against = world.observe("Takes 10 minutes to start", at=made.created_at - 40 * DAY)
    assert (against.effect, against.about) == (Effect.NEW, ())


def test_observations_of_one_instant_are_compared_in_the_order_of_their_texts(world: World) -> None:
    at = world.clock.now() - DAY
    first = world.observe(OTHER_PORT, at=at)
    second = world.observe(PORT, at=at)
    assert (first.effect, second.effect) == (Effect.NEW, Effect.NEW)
    assert world.curation.get(second.memory.id, AS_ADA).confidence < 0.7


def test_a_late_observation_reinforces_an_earlier_memory_although_a_later_one_is_known(world: World) -> None:
    now = world.clock.now()
    first = world.observe("Takes 60s to start", at=now - 3 * DAY)
    world.observe(PORT, at=now - DAY)
    done = world.observe("takes 1 min to start", at=now - 2 * DAY, viewer=AS_BOB)
    assert (done.effect, done.memory.id) == (Effect.REINFORCED, first.memory.id)


def test_a_late_observation_of_a_project_is_not_compared_with_a_later_memory_of_all_projects(world: World) -> None:
    now = world.clock.now()
    first = world.observe(PORT, at=now - DAY)
    done = world.observe(OTHER_PORT, at=now - 2 * DAY, project="tv")
    assert (done.effect, done.about) == (Effect.NEW, ())
    assert [world.curation.get(one.memory.id, AS_ADA).confidence for one in (first, done)] == [0.7, 0.7]


class Interruptions:
    """Observations of another agent, each of which arrives while the pair model reads for an observation of Ada."""

    def __init__(self, times: int) -> None:
        self.world: World | None = None
        self.arrived: list[MemoryId] = []
        self._left = times
        self._arrives = False

    def __call__(self, older: str, newer: str) -> None:
        if self.world is None or self._arrives or not self._left:
            return
        self._left -= 1
        self._arrives = True
        text, at = f"Needs port {8000 + self._left} to start", self.world.clock.now() - timedelta(milliseconds=500)
        seen = ObservationInput(observation=text, category="timing", service="jellyfin", at=at)
        self.arrived.append(self.world.observation_service.observe(seen, AS_BOB).memory.id)
        self._arrives = False


@pytest.mark.parametrize(("times", "unread"), [(1, 0), (ATTEMPTS + 2, 1)])
def test_observations_that_arrive_during_a_comparison_are_compared(times: int, unread: int) -> None:
    """If they keep arriving, the last one is compared later."""
    clock, interruptions = SteppingClock(), Interruptions(times)
    started = "Starts by itself"
    reader = TableReader(before=interruptions)
    reader.table = {(f"Needs port {8000 + number} to start", started): Verdict.CONFLICT for number in range(times)}
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=hashing(), reader=reader)
    world.observe("It is slow to start")
    interruptions.world = world
    done = world.observe(started)
    compared = interruptions.arrived[: len(interruptions.arrived) - unread]
    assert (done.effect, set(done.about)) == (Effect.CONTRADICTED, set(compared))
    assert len(compared) == min(times, ATTEMPTS) - unread
    with world.store.read() as view:
        mark = world.comparison.mark or Clean("")
        due = [view.memories_of([key], EVERYTHING)[key].id for key in view.unjudged(mark)]
    assert (done.memory.id in due) is bool(unread)


def test_reports_that_are_delivered_again_and_spools_of_two_hosts_change_nothing(world: World) -> None:
    reports = [
        Report(text, START - (40 - number) * DAY, (AS_ADA, AS_BOB)[number % 2], f"s{number}")
        for number, text in enumerate(
            (PORT, OTHER_PORT, "Takes 60s to start", PORT, MOVED, "Takes 10 minutes to start")
        )
    ]
    spools = reports[::2], reports[1::2]
    expected = known(world, reports)
    assert known(world, [*spools[1], *spools[0]]) == expected
    assert known(world, [*spools[0], *spools[0][1:], *spools[1], *spools[0], *spools[1]]) == expected
