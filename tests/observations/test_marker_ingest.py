"""Ingest of markers: each one is stored or refused separately."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from hivelore.observations.curation import RatedQuery
from hivelore.observations.marker_ingest import MarkerIngest
from hivelore.observations.markers import CATEGORIES
from hivelore.observations.naming import DEFAULT_NAMING
from support.fences import fenced
from support.world import AS_ADA, AS_BOB, AS_OPERATOR, World

SAID = """All done.
[MEMORY:timing:jellyfin] Takes 60s to start
- [EVENT:warning:backup] The backup is late
[COOLDOWN:jellyfin:restart] 30
"""
OTHERWISE = SAID.replace("warning", "error").replace("30", "120")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def marking(world: World) -> MarkerIngest:
    return MarkerIngest(world.observation_service, world.events, world.cooldowns, CATEGORIES, DEFAULT_NAMING)


def known(world: World) -> list[str]:
    return [one.memory.content for one in world.curation.page(RatedQuery(), AS_OPERATOR, None).memories]


def test_each_kind_of_marker_is_stored(world: World, marking: MarkerIngest) -> None:
    assert marking.ingest(SAID, AS_ADA, "s-1", world.clock.now()) == 3
    assert known(world) == ["Takes 60s to start"]
    late, recorded = world.events.page(AS_BOB, None, 10).events
    assert {late.text, recorded.text} == {
        "The backup is late",
        "New memory recorded: [timing:jellyfin] Takes 60s to start",
    }
    (cooldown,) = world.cooldowns.active()
    assert (cooldown.service, cooldown.action, cooldown.session) == ("jellyfin", "restart", "s-1")


def test_markers_in_injected_text_are_ignored(world: World, marking: MarkerIngest) -> None:
    assert marking.ingest(f"Look: {fenced(SAID)}", AS_ADA, "s-1", world.clock.now()) == 0
    assert known(world) == []


def test_an_invalid_marker_is_logged_and_the_others_are_stored(
    world: World, marking: MarkerIngest, caplog: pytest.LogCaptureFixture
) -> None:
    said = f"[MEMORY:weather] Rain\n[MEMORY:timing] a\0b\n{SAID}"
    with caplog.at_level(logging.WARNING, "hivelore"):
        assert marking.ingest(said, AS_ADA, "s-1", world.clock.now()) == 3
    assert "Unknown category weather" in caplog.text
    assert "Ignored a marker" in caplog.text


def counted(world: World) -> tuple[list[str], list[int]]:
    """Returns the texts of the recorded events, and the count of each cooldown."""
    texts = (one.text for one in world.events.page(AS_OPERATOR, None, 100).events if one.memory is None)
    return list(texts), [one.count for one in world.cooldowns.active()]


def test_repeated_markers_of_a_session_within_an_hour_count_once(world: World, marking: MarkerIngest) -> None:
    began = world.clock.now()
    for _ in range(3):
        assert marking.ingest(SAID, AS_ADA, "s-1", world.clock.now()) == 3
        world.clock.advance(MINUTE)
    assert counted(world) == (["The backup is late"], [1])
    assert world.cooldowns.active()[0].until == began + 30 * MINUTE


@pytest.mark.parametrize(
    ("session", "later", "said"), [("s-2", MINUTE, SAID), ("s-1", MINUTE, OTHERWISE), ("s-1", 61 * MINUTE, SAID)]
)
def test_markers_of_another_session_text_or_hour_count_again(
    world: World, marking: MarkerIngest, session: str, later: timedelta, said: str
) -> None:
    first = SAID.replace("30", "90")
    marking.ingest(first, AS_ADA, "s-1", world.clock.now())
    world.clock.advance(later)
    marking.ingest(said.replace("30", "90"), AS_ADA, session, world.clock.now())
    events, counts = counted(world)
    assert (len(events), counts) == (2, [2])


def test_a_late_cooldown_starts_at_the_time_of_its_marker(world: World, marking: MarkerIngest) -> None:
    said_at = world.clock.now()
    world.clock.advance(10 * MINUTE)
    marking.ingest(SAID, AS_ADA, "s-1", said_at)
    (one,) = world.cooldowns.active()
    assert (one.set_at, one.until) == (said_at, said_at + 30 * MINUTE)
    world.cooldowns.clear("jellyfin", None, AS_OPERATOR)
    world.clock.advance(20 * MINUTE)
    marking.ingest(SAID, AS_ADA, "s-1", said_at)
    assert world.cooldowns.active() == []


def test_concurrent_duplicates_count_once(world: World, marking: MarkerIngest) -> None:
    at = world.clock.now()
    for number in range(5):
        together = Barrier(4)
        said = SAID.replace("timing:jellyfin", f"timing:jellyfin-{number}")

        def take(_: int, together: Barrier = together, session: str = f"s-{number}", said: str = said) -> int:
            together.wait(60)
            return marking.ingest(said, AS_ADA, session, at)

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(take, range(4))) == [3] * 4
        events, counts = counted(world)
        assert (len(events), counts) == (number + 1, [number + 1])
        known = world.curation.page(RatedQuery(), AS_OPERATOR, None).memories
        assert [one.confidence for one in known] == [0.7] * (number + 1)


def test_the_same_text_again_is_no_new_observation(world: World, marking: MarkerIngest) -> None:
    for _ in range(2):
        marking.ingest("[MEMORY:timing:jellyfin] Takes 60s to start", AS_ADA, "s-1", world.clock.now())
    (one,) = world.curation.page(RatedQuery(), AS_OPERATOR, None).memories
    assert one.confidence == 0.7
