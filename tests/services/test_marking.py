"""What an agent says in markers by the way is kept, each for itself."""

import logging

import pytest

from hivelore.policies.fence import fenced
from hivelore.policies.markers import CATEGORIES
from hivelore.services.marking import Marking
from hivelore.services.operations import Choice
from support.world import AS_ADA, AS_BOB, AS_OPERATOR, World

SAID = """All done.
[MEMORY:timing:jellyfin] Takes 60s to start
- [EVENT:warning:backup] The backup is late
[COOLDOWN:jellyfin:restart] 30
"""


@pytest.fixture
def marking(world: World) -> Marking:
    return Marking(world.observing, world.events, world.cooldowns, CATEGORIES)


def known(world: World) -> list[str]:
    return [one.memory.content for one in world.operations.page(Choice(), AS_OPERATOR, None).memories]


def test_each_kind_is_kept(world: World, marking: Marking) -> None:
    assert marking.take(SAID, AS_ADA, "s-1", world.clock.now()) == 3
    assert known(world) == ["Takes 60s to start"]
    late, recorded = world.events.page(AS_BOB, None, 10).events
    assert {late.text, recorded.text} == {
        "The backup is late",
        "New memory recorded: [timing:jellyfin] Takes 60s to start",
    }
    (cooldown,) = world.cooldowns.holding()
    assert (cooldown.service, cooldown.action, cooldown.session) == ("jellyfin", "restart", "s-1")


def test_what_we_told_ourselves_is_none(world: World, marking: Marking) -> None:
    assert marking.take(f"Look: {fenced(SAID)}", AS_ADA, "s-1", world.clock.now()) == 0
    assert known(world) == []


def test_one_that_cannot_be_kept_is_logged_and_the_others_are(
    world: World, marking: Marking, caplog: pytest.LogCaptureFixture
) -> None:
    said = f"[MEMORY:weather] Rain\n[MEMORY:timing] a\0b\n{SAID}"
    with caplog.at_level(logging.WARNING, "hivelore"):
        assert marking.take(said, AS_ADA, "s-1", world.clock.now()) == 3
    assert "There is no category weather" in caplog.text
    assert "A marker was not kept" in caplog.text


def test_the_same_text_again_is_no_new_observation(world: World, marking: Marking) -> None:
    for _ in range(2):
        marking.take("[MEMORY:timing:jellyfin] Takes 60s to start", AS_ADA, "s-1", world.clock.now())
    (one,) = world.operations.page(Choice(), AS_OPERATOR, None).memories
    assert one.confidence == 0.7
