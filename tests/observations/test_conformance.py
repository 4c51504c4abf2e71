"""Conformance of operational memory: one test for each scenario of the specification, named after it (SPEC C)."""

import json
from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.token_count import estimate
from hivelore.memories.model import MemoryId
from hivelore.observations.curation import RatedQuery
from hivelore.observations.marker_ingest import MarkerIngest
from hivelore.observations.markers import CATEGORIES, MarkerReader, ObservationMarker, assistant_texts
from hivelore.observations.model import MatchingMode
from hivelore.observations.naming import DEFAULT_NAMING
from hivelore.observations.outcomes import Change, Effect, ObservationInput, RatedMemory
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

SLOW = "Takes 60s to start"


def marked(text: str) -> list[ObservationMarker]:
    reader = MarkerReader(CATEGORIES)
    return [one for one in (*reader.read(text), *reader.end()) if isinstance(one, ObservationMarker)]


def made(world: World, text: str = SLOW, confidence: float | None = None, service: str | None = "jellyfin") -> MemoryId:
    seen = ObservationInput(text, "timing", service, confidence=confidence)
    return world.curation.create(seen, AS_OPERATOR).memory.id


def now(world: World, memory: MemoryId) -> RatedMemory:
    return world.curation.get(memory, AS_ADA)


def block_text(world: World, budget: int = 2_000) -> str:
    return world.curation.block(AS_ADA, budget).text


# markers


def test_a_marker_with_a_category_and_a_service_is_stored(world: World) -> None:
    MarkerIngest(world.observation_service, world.events, world.cooldowns, CATEGORIES, DEFAULT_NAMING).ingest(
        f"[MEMORY:timing:jellyfin] {SLOW}", AS_ADA, "s-1", world.clock.now()
    )
    (one,) = world.curation.page(RatedQuery(), AS_ADA, None).memories
    assert one.memory.operational is not None
    assert (one.memory.operational.service, one.memory.category, one.memory.content) == ("jellyfin", "timing", SLOW)
    assert (one.memory.session, one.confidence, one.active) == ("s-1", 0.7, True)


def test_a_marker_without_a_service_is_general() -> None:
    assert marked("[MEMORY:behavior] Look first") == [ObservationMarker("behavior", None, "Look first")]


@pytest.mark.parametrize(
    "text", ["[MEMORY:weather:x] Rain", "[MEMORY] x", "[MEMORY:timing:x]", "[MEMORY:timing:a b] x", "[memory:timing] x"]
)
def test_an_invalid_marker_is_not_stored(text: str) -> None:
    assert marked(text) == []


def test_a_marker_in_a_tool_result_or_user_message_is_not_stored() -> None:
    line = f"[MEMORY:timing:jellyfin] {SLOW}"
    events: list[dict[str, Any]] = [
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": line}]}},
        {"type": "user", "message": {"content": line}},
        {"type": "result", "result": line},
    ]
    assert [text for event in events for text in assistant_texts(json.loads(json.dumps(event)))] == []


# confidence


def test_a_new_memory_has_the_default_confidence(world: World) -> None:
    assert now(world, made(world)).confidence == 0.7


def test_a_confidence_is_clamped(world: World) -> None:
    assert now(world, made(world, confidence=1.5)).confidence == 1.0
    assert now(world, made(world, "Other", confidence=-0.2)).confidence == 0.0


def test_low_confidence_is_not_injected(world: World) -> None:
    made(world, "Hardly so", confidence=0.29)
    made(world, "Just so", confidence=0.3)
    assert "Hardly" not in block_text(world)
    assert "- [timing] Just so (confidence: 0.3)" in block_text(world)


# injection


def test_memories_are_grouped_by_service_with_general_last(world: World) -> None:
    made(world, "About all", confidence=1.0, service=None)
    made(world, "About caddy", service="caddy", confidence=0.5)
    made(world, "About jellyfin", confidence=0.9)
    headings = [line for line in block_text(world).splitlines() if line.startswith("### ")]
    assert headings == ["### jellyfin", "### caddy", "### general"]


def test_the_highest_confidences_are_injected_within_the_budget(world: World) -> None:
    for number in range(60):
        made(world, f"Observation number {number} about something", confidence=0.3 + number / 100)
    text = block_text(world, 300)
    assert estimate(text) <= 300
    assert "number 59 " in text
    assert "number 0 " not in text


def test_a_line_over_the_budget_is_skipped_and_the_rest_is_injected(world: World) -> None:
    made(world, "Very long " * 200, confidence=1.0)
    made(world, "Short", confidence=0.4)
    assert block_text(world, 100).endswith("- [timing] Short (confidence: 0.4)")


def test_the_heading_counts_included_and_available_memories(world: World) -> None:
    for number in range(3):
        made(world, f"Note {number}")
    block = world.curation.block(AS_ADA, 2_000)
    assert block.text.startswith(f"## Operational Memory (3 of 3 memories, ~{block.tokens} tokens)\n\n### jellyfin\n")


def test_nothing_is_injected_without_operational_memories(world: World) -> None:
    assert block_text(world) == ""


# reinforcement and contradiction


def test_the_same_service_and_category_reinforce(world: World) -> None:
    first = world.observe(SLOW)
    again = world.observe("takes a minute to start", session="another")
    assert (again.effect, again.memory.id) == (Effect.REINFORCED, first.memory.id)
    assert now(world, first.memory.id).confidence == 0.8


def test_reinforcement_is_limited_to_one(world: World) -> None:
    first = made(world, confidence=0.95)
    for number in range(3):
        world.observe(SLOW, session=f"s{number}", viewer=(AS_ADA, AS_BOB, AS_LEA)[number])
    assert now(world, first).confidence == 1.0


def test_another_category_does_not_reinforce(world: World) -> None:
    first = world.observe(SLOW)
    assert world.observe(SLOW, category="behavior").effect is Effect.NEW
    assert now(world, first.memory.id).confidence == 0.7


def test_any_text_of_the_same_service_and_category_reinforces_in_structural_mode(world: World) -> None:
    letter = World(world.store, world.keywords, world.clock, matching=MatchingMode.STRUCTURAL, first_id=9_000)
    first = letter.observe(SLOW)
    assert letter.observe("Something quite different", session="another").memory.id == first.memory.id
    assert now(world, first.memory.id).confidence == 0.8


def test_a_contradiction_lowers_the_confidence_by_two_tenths(world: World) -> None:
    first = world.observe("Listens on port 8096", category="behavior")
    world.observe("Listens on port 8920", category="behavior")
    assert now(world, first.memory.id).confidence == 0.5


def test_contradictions_deactivate(world: World) -> None:
    first = made(world, "Takes 60s to start", confidence=0.45)
    world.observe("Takes 10 minutes to start")
    assert now(world, first).active is False
    assert SLOW not in block_text(world)


# decay


def test_a_fresh_memory_does_not_decay(world: World) -> None:
    first = made(world)
    world.clock.advance(timedelta(days=30))
    assert now(world, first).confidence == 0.7


def test_a_stale_memory_loses_a_tenth_each_week(world: World) -> None:
    first = made(world)
    world.clock.advance(timedelta(days=30 + 14))
    assert now(world, first).confidence == pytest.approx(0.5)


def test_decay_deactivates(world: World) -> None:
    first = made(world)
    world.curation.count_decayed(AS_OPERATOR)
    world.clock.advance(timedelta(days=30 + 29))
    assert world.curation.count_decayed(AS_OPERATOR) == 1
    assert now(world, first).active is False


def test_repeated_decay_runs_change_nothing(world: World) -> None:
    first = made(world)
    for _ in range(45):
        world.clock.advance(timedelta(days=1))
        world.curation.count_decayed(AS_OPERATOR)
    assert now(world, first).confidence == pytest.approx(0.7 - 0.1 * 15 / 7)


def test_reinforcement_restarts_the_grace_period(world: World) -> None:
    first = made(world)
    world.clock.advance(timedelta(days=37))
    world.observe(SLOW)
    world.clock.advance(timedelta(days=29))
    assert now(world, first).confidence == pytest.approx(0.7, abs=1e-3)


def test_a_persistent_memory_does_not_decay(world: World) -> None:
    first = made(world)
    world.curation.change(first, Change(persistent=True), AS_OPERATOR)
    world.clock.advance(timedelta(days=3_650))
    assert now(world, first).confidence == 0.7


# states


def test_an_inactive_memory_is_not_deleted(world: World) -> None:
    first = made(world, confidence=0.1)
    (one,) = world.curation.page(RatedQuery(active=False), AS_ADA, None).memories
    assert one.memory.id == first


def test_an_inactive_memory_is_reactivated_by_reinforcement(world: World) -> None:
    first = made(world, confidence=0.1)
    world.observe(SLOW)
    assert (now(world, first).active, now(world, first).confidence) == (True, 0.3)


def test_reactivation_by_an_operator_sets_at_least_the_threshold(world: World) -> None:
    first = made(world, confidence=0.1)
    assert world.curation.change(first, Change(active=True), AS_OPERATOR).confidence == 0.3


def test_an_edit_by_an_operator_does_not_change_the_confidence(world: World) -> None:
    first = made(world, confidence=0.6)
    assert world.curation.change(first, Change(observation="Takes 90s to start"), AS_OPERATOR).confidence == 0.6


def test_an_operator_deletes_a_memory(world: World) -> None:
    assert world.curation.forget([made(world)], AS_OPERATOR) == 1
    assert world.curation.page(RatedQuery(), AS_ADA, None).memories == ()


def test_only_a_new_memory_records_an_event(world: World) -> None:
    world.observe(SLOW)
    world.observe(SLOW)
    (event,) = world.events.page(AS_ADA, None, 10).events
    assert event.text == f"New memory recorded: [timing:jellyfin] {SLOW}"
