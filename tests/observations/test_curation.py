"""Curation: the operational block, listings, and the changes of operators."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid, NotFound, Proposed, Stale
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.curation import RatedQuery
from hivelore.observations.model import Confidence, Held, ObservationKind, Operational
from hivelore.observations.outcomes import Change, ObservationInput, RatedMemory
from hivelore.observations.records import add_observations
from support.memories import an_observation
from support.stores import present
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

SLOW = "Takes 60s to start"


def made(world: World, text: str = SLOW, **more: Any) -> RatedMemory:
    about: dict[str, Any] = {"category": "timing", "service": "jellyfin", **more}
    seen = ObservationInput(text, **about)
    return world.curation.create(seen, AS_OPERATOR)


def shown(world: World, **choice: Any) -> list[str]:
    page = world.curation.page(RatedQuery(**choice), AS_ADA, None)
    return [one.memory.content for one in page.memories]


# injection


def test_the_block_has_active_memories_by_service_in_order_of_confidence(world: World) -> None:
    made(world, "Look at the logs first", service=None, category="behavior", confidence=0.95)
    made(world, SLOW, confidence=0.8)
    made(world, "Caddy has to run before it", category="dependency", confidence=0.9)
    made(world, "Nobody is sure about this", confidence=0.2)
    block = world.curation.block(AS_BOB, 2_000)
    assert block.text.splitlines()[1:] == [
        "",
        "### jellyfin",
        "- [dependency] Caddy has to run before it (confidence: 0.9)",
        "- [timing] Takes 60s to start (confidence: 0.8)",
        "",
        "### general",
        "- [behavior] Look at the logs first (confidence: 0.95)",
    ]
    assert block.text.startswith(f"## Operational Memory (3 of 3 memories, ~{block.tokens} tokens)")


def test_the_block_of_one_service_includes_general_memories(world: World) -> None:
    for service in ("jellyfin", "caddy", None):
        made(world, f"About {service}", service=service)
    block = world.curation.block(AS_BOB, 2_000, service="caddy")
    assert (block.included, block.total) == (2, 2)
    assert "About jellyfin" not in block.text
    assert world.curation.block(AS_BOB, 2_000, service="general").total == 1
    assert shown(world, service=" general ") == ["About None"]


def test_a_service_and_a_category_are_found_in_any_spelling(world: World) -> None:
    for service, category in (("postgres", "config"), ("PostgreSQL", "Configuration"), ("mysql", "config")):
        made(world, f"About {service}", service=service, category=category)
    assert shown(world, service="pg") == ["About PostgreSQL", "About postgres"]
    assert shown(world, service="Postgres", category="configs") == ["About PostgreSQL", "About postgres"]
    assert shown(world, category="config") == ["About mysql", "About PostgreSQL", "About postgres"]


def test_the_block_shows_a_service_under_its_first_spelling(world: World) -> None:
    made(world, "One", service="postgres", confidence=0.8)
    world.clock.advance(timedelta(minutes=1))
    made(world, "Two", service="PostgreSQL", confidence=0.9)
    made(world, "Three", service="mysql", confidence=0.7)
    for block in (world.curation.block(AS_BOB, 2_000), world.curation.block(AS_BOB, 2_000, service="PG")):
        assert block.text.splitlines()[2:5] == [
            "### postgres",
            "- [timing] Two (confidence: 0.9)",
            "- [timing] One (confidence: 0.8)",
        ]
    assert "### mysql" not in block.text


def test_an_empty_service_name_selects_all_services(world: World) -> None:
    for service in ("jellyfin", None):
        made(world, f"About {service}", service=service)
    assert world.curation.block(AS_BOB, 2_000, service=" ").total == 2
    assert shown(world, service="") == ["About None", "About jellyfin"]


def test_a_private_memory_is_listed_for_its_viewers_and_injected_only_for_its_owner(world: World) -> None:
    memory = world.observe(SLOW).memory.id
    world.memory_service.edit(memory, Edit(scope=Scope.AGENT), AS_OPERATOR)
    for viewer, sees in ((AS_ADA, True), (AS_BOB, False), (AS_LEA, True), (AS_OPERATOR, True)):
        listed = [one.memory.id for one in world.curation.page(RatedQuery(), viewer, None).memories]
        assert listed == ([memory] if sees else [])
        assert world.curation.block(viewer, 2_000).total == (1 if viewer is AS_ADA else 0)


def test_reads_of_private_operational_memories_by_others_are_audited(world: World) -> None:
    memory = world.observe(SLOW).memory.id
    world.memory_service.edit(memory, Edit(scope=Scope.AGENT), AS_OPERATOR)
    reads: list[Callable[[Viewer], object]] = [
        lambda viewer: world.curation.get(memory, viewer),
        lambda viewer: world.curation.timeline(memory, viewer),
        lambda viewer: world.curation.page(RatedQuery(), viewer, None),
    ]
    for read in reads:
        before = len(world.audit())
        for viewer in (AS_ADA, AS_LEA):
            read(viewer)
        (entry,) = world.audit()[: len(world.audit()) - before]
        assert (entry.action, entry.actor, entry.memory) == (Action.READ, AS_LEA.agent, memory)


def test_only_a_read_by_id_of_an_agent_is_counted_as_access(world: World) -> None:
    memory = world.observe(SLOW).memory.id
    for viewer in (AS_BOB, AS_OPERATOR):
        world.curation.get(memory, viewer)
        world.curation.page(RatedQuery(), viewer, None)
    world.write_buffer.flush()
    assert world.curation.get(memory, AS_OPERATOR).memory.access_count == 1


def test_a_superseded_memory_is_neither_injected_nor_reinforced(world: World) -> None:
    old = made(world, SLOW)
    new = world.remember("It was replaced by Emby.", AS_OPERATOR, scope=Scope.SWARM, supersedes=old.memory.id)
    assert world.curation.block(AS_BOB, 2_000).text == ""
    assert shown(world) == []
    assert world.observe(SLOW).memory.id != old.memory.id
    assert new.operational is None


def test_the_block_is_empty_without_memories_or_budget(world: World) -> None:
    assert world.curation.block(AS_BOB, 2_000).text == ""
    made(world)
    assert world.curation.block(AS_BOB, 0).text == ""
    assert world.curation.block(AS_BOB, 2_000, characters=40).text == ""


def test_the_block_fits_its_character_limit(world: World) -> None:
    for number in range(50):
        made(world, f"Number {number}: " + "very long " * 20, service=f"s{number}")
    block = world.curation.block(AS_BOB, 100_000, characters=3_000)
    assert 2_000 < len(block.text) <= 3_000
    assert block.total == 50


def test_memories_of_another_project_are_not_injected(world: World) -> None:
    world.observe(SLOW, project="tv")
    world.observe("Backups run at 3 am", project="web")
    world.observe("The host restarts on Sundays", service=None)
    block = world.curation.block(AS_BOB, 2_000, project="tv").text
    assert "60s" in block
    assert "Sundays" in block
    assert "Backups" not in block


def test_decay_does_not_depend_on_the_number_of_reads(world: World) -> None:
    memory = made(world).memory.id
    kept = made(world, "Never forget this", persistent=True).memory.id
    world.clock.advance(timedelta(days=30))
    assert world.curation.get(memory, AS_ADA).confidence == 0.7
    for _ in range(3):
        world.clock.advance(timedelta(days=7))
        world.curation.block(AS_BOB, 2_000)
        world.curation.count_decayed(AS_OPERATOR)
    assert world.curation.get(memory, AS_ADA).confidence == pytest.approx(0.4)
    world.clock.advance(timedelta(days=8))
    assert world.curation.get(memory, AS_ADA).active is False
    assert world.curation.get(kept, AS_ADA).confidence == 0.7
    assert "Never forget" in world.curation.block(AS_BOB, 2_000).text
    assert SLOW not in world.curation.block(AS_BOB, 2_000).text


def test_decay_reports_each_deactivation_once(world: World) -> None:
    made(world)
    made(world, "Another thing", confidence=1.0)
    assert world.curation.count_decayed(AS_OPERATOR) == 0
    world.clock.advance(timedelta(days=30 + 29))
    assert world.curation.count_decayed(AS_OPERATOR) == 1
    assert world.curation.count_decayed(AS_OPERATOR) == 0


def test_an_inactive_memory_is_not_recalled(world: World) -> None:
    memory = world.observe(SLOW).memory.id
    assert [hit.memory.id for hit in world.recall("how long does it take to start").hits] == [memory]
    world.curation.change(memory, Change(active=False), AS_OPERATOR)
    assert not world.recall("how long does it take to start").hits
    world.curation.change(memory, Change(active=True), AS_OPERATOR)
    world.clock.advance(timedelta(days=365))
    assert not world.recall("how long does it take to start").hits


# changes by operators


def test_a_memory_created_by_an_operator_has_tier_0_and_no_session(world: World) -> None:
    memory = made(world, confidence=0.4).memory
    assert memory.operational is not None
    assert (memory.operational.tier, memory.session, memory.owner) == (0, None, None)
    (seen,) = world.curation.timeline(memory.id, AS_ADA).observations
    assert (seen.kind, seen.to, seen.actor) == (ObservationKind.CREATED, 0.4, None)


@pytest.mark.parametrize(("given", "kept"), [(7.0, 1.0), (-0.1, 0.0), (0.55, 0.55), (None, 0.7)])
def test_a_confidence_is_clamped(world: World, given: float | None, kept: float) -> None:
    assert made(world, confidence=given).confidence == kept


def test_a_memory_created_by_an_operator_records_an_event(world: World) -> None:
    memory = made(world).memory
    (event,) = world.events.page(AS_BOB, None, 10).events
    assert (event.text, event.memory) == (f"New memory recorded: [timing:jellyfin] {SLOW}", memory.id)


def test_the_timeline_of_a_stored_memory_begins_with_its_given_confidence(world: World) -> None:
    now = world.clock.now()
    since = now - timedelta(days=10)
    known = Operational.of(Held(base=Confidence(0.5), since=since), service=Clean("jellyfin"))
    draft = Draft(content=SLOW, category="timing", scope=Scope.SWARM, operational=known)
    memory = world.memory_service.remember(draft, AS_OPERATOR).memory
    world.observe(SLOW, viewer=AS_BOB)
    life = world.curation.timeline(memory.id, AS_ADA)
    assert [one.kind for one in life.observations] == [ObservationKind.CREATED, ObservationKind.REINFORCED]
    assert [one.at for one in life.timeline[:-1]] == [life.observations[place].at for place in (0, 1, 1)]
    assert [one.confidence for one in life.timeline] == [0.5, 0.5, 0.6, 0.6]
    assert life.timeline[0].at == since


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_of_a_timeline_hold_every_observation_once_oldest_first(world: World, limit: int) -> None:
    memory = world.observe(SLOW).memory
    began = world.clock.now()
    for place, minute in enumerate((2, 1, 2, 2, 0, 5)):
        stored, text = present(world.store, memory), f"Number {place}."
        seen = an_observation(at=began + timedelta(minutes=minute), text=text)
        world.store.write(lambda tx, stored=stored, seen=seen: add_observations(tx, stored, [seen], Lifecycle()))
    whole = world.curation.timeline(memory.id, AS_ADA)
    assert [one.text for one in whole.observations[1:]] == [f"Number {place}." for place in (4, 1, 0, 2, 3, 5)]
    pages = [world.curation.timeline(memory.id, AS_ADA, limit=limit)]
    while pages[-1].next is not None:
        pages.append(world.curation.timeline(memory.id, AS_ADA, limit=limit, after=pages[-1].next))
    assert [len(page.observations) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert [one for page in pages for one in page.observations] == list(whole.observations)
    assert [one for page in pages for one in page.timeline] == list(whole.timeline)
    assert len(whole.timeline) == 2 * len(whole.observations)


@pytest.mark.parametrize(
    "after",
    [
        "",
        "~1",
        "nonsense",
        *(f"2026-01-01T00:00Z{number}" for number in ("", "~", "~-1", "~1.5", "~²", "~" + "9" * 99)),
    ],
)
def test_an_invalid_timeline_cursor_is_refused(world: World, after: str) -> None:
    memory = world.observe(SLOW).memory
    with pytest.raises(Invalid, match="`next` of a page"):
        world.curation.timeline(memory.id, AS_ADA, after=after)


def test_the_timeline_begins_when_a_note_becomes_operational(world: World) -> None:
    plain = world.remember(SLOW, scope=Scope.SWARM)
    held = Held(base=Confidence(0.6), since=world.clock.now(), is_off=True)
    again = Draft(content=SLOW, scope=Scope.SWARM, operational=Operational.of(held))
    for _ in range(2):
        world.memory_service.remember(again, replace(AS_ADA, role=Role.OPERATOR))
    assert world.curation.get(plain.id, AS_ADA).memory.operational == Operational.of(held)
    seen = world.curation.timeline(plain.id, AS_ADA).observations
    assert [one.kind for one in seen] == [ObservationKind.CREATED, ObservationKind.SWITCHED_OFF]


def test_a_new_text_does_not_change_the_confidence(world: World) -> None:
    memory = made(world, confidence=0.5).memory
    world.clock.advance(timedelta(days=40))
    before = world.curation.get(memory.id, AS_ADA).confidence
    after = world.curation.change(memory.id, Change(observation="Takes 90s to start"), AS_OPERATOR)
    assert (after.memory.content, after.confidence) == ("Takes 90s to start", before)


def test_all_fields_can_be_changed_at_once(world: World) -> None:
    memory = made(world).memory
    change = Change(category="behavior", service="caddy", confidence=0.9, persistent=True, reason="Seen it.")
    after = world.curation.change(memory.id, change, AS_OPERATOR)
    assert after.memory.operational is not None
    assert (after.memory.category, after.memory.operational.service) == ("behavior", "caddy")
    assert (after.confidence, after.memory.operational.persistent) == (0.9, True)
    assert world.curation.timeline(memory.id, AS_ADA).observations[-1].text == "Seen it."
    general = world.curation.change(memory.id, Change(service=None), AS_OPERATOR)
    assert general.memory.operational is not None
    assert general.memory.operational.service is None


def test_an_operator_deactivates_and_reactivates_a_memory(world: World) -> None:
    memory = made(world, confidence=0.8).memory.id
    assert world.curation.change(memory, Change(active=False), AS_OPERATOR).active is False
    assert shown(world, active=False) == [SLOW]
    assert world.curation.change(memory, Change(active=True), AS_OPERATOR).active
    world.curation.change(memory, Change(confidence=0.1), AS_OPERATOR)
    back = world.curation.change(memory, Change(active=True), AS_OPERATOR)
    assert (back.active, back.confidence) == (True, 0.3)
    with pytest.raises(Invalid, match="at least"):
        world.curation.change(memory, Change(active=True, confidence=0.2), AS_OPERATOR)


def test_a_change_is_refused_as_a_whole(world: World) -> None:
    memory = made(world).memory
    with pytest.raises(Invalid):
        world.curation.change(memory.id, Change(observation="New", active=True, confidence=0.1), AS_OPERATOR)
    with pytest.raises(Stale):
        world.curation.change(memory.id, Change(observation="New"), AS_OPERATOR, version=7)
    with pytest.raises(Invalid):
        world.curation.change(memory.id, Change(confidence=float("nan")), AS_OPERATOR)
    assert world.curation.get(memory.id, AS_ADA).memory == memory


@pytest.mark.parametrize("viewer", [AS_ADA, AS_LEA])
def test_only_operators_change_operational_memories(world: World, viewer: Any) -> None:
    memory = made(world).memory.id
    with pytest.raises(Proposed, match="Only operators"):
        world.curation.change(memory, Change(confidence=1.0), viewer)


def test_a_bulk_deletion_deletes_only_the_given_operational_memories(world: World) -> None:
    first, second = made(world).memory.id, made(world, "Another").memory.id
    plain = world.remember("A note.").id
    assert world.curation.forget([first, plain, MemoryId("nowhere"), first], AS_OPERATOR) == 1
    assert shown(world) == ["Another"]
    assert world.reading.get(plain, AS_ADA).content == "A note."
    assert world.curation.forget([second], AS_OPERATOR) == 1


def test_a_page_is_filtered_and_has_a_cursor_to_the_next(world: World) -> None:
    for number in range(7):
        made(world, f"Note {number}", service=f"s{number % 2}", confidence=number / 7)
        world.clock.advance(timedelta(seconds=1))
    assert shown(world, service="s1") == ["Note 5", "Note 3", "Note 1"]
    assert shown(world, active=False) == ["Note 2", "Note 1", "Note 0"]
    first = world.curation.page(RatedQuery(limit=3, active=True), AS_ADA, None)
    last = first.memories[-1].memory
    rest = world.curation.page(RatedQuery(limit=3, active=True), AS_ADA, (last.created_at, last.id))
    assert [one.memory.content for one in (*first.memories, *rest.memories)] == [f"Note {n}" for n in (6, 5, 4, 3)]
    assert (first.next is None, rest.next) == (False, None)


def test_a_memory_that_is_not_operational_or_visible_is_not_found(world: World) -> None:
    plain = world.remember("A note.").id
    with pytest.raises(NotFound, match="not an operational memory"):
        world.curation.get(plain, AS_ADA)
    with pytest.raises(NotFound):
        world.curation.timeline(MemoryId("nowhere"), AS_ADA)
    with pytest.raises(NotFound):
        world.curation.get(plain, AS_BOB)


# Names older than the rules for new ones.

UNREADABLE = Clean("tim\u200bing\u034f")


@pytest.fixture
def old(world: World) -> Memory:
    """A memory whose category and service no new memory may have."""
    stored = world.observe("Takes 60s to start").memory
    with world.store.read() as view:
        before = view.get(stored.id)
    assert before is not None
    known = before.memory.operational
    assert known is not None
    named = replace(before.memory, version=2, category=UNREADABLE, operational=replace(known, service=UNREADABLE))
    world.store.write(lambda tx: world.index_writer.change(tx, before, named, None, Action.EDITED))
    return named


def test_a_memory_with_an_old_name_is_listed_and_found(world: World, old: Memory) -> None:
    for choice in (RatedQuery(category=UNREADABLE), RatedQuery(service=UNREADABLE)):
        assert [one.memory.id for one in world.curation.page(choice, AS_ADA, None).memories] == [old.id]
    assert "Takes 60s" in world.curation.block(AS_ADA, 1_000, service=UNREADABLE).text
    assert world.events.build_memory_event(old, AS_ADA).service == UNREADABLE


def test_a_memory_with_an_old_name_is_edited_in_other_fields(world: World, old: Memory) -> None:
    changed = world.curation.change(old.id, Change(observation="Takes 90s to start"), AS_OPERATOR).memory
    tagged = world.memory_service.edit(old.id, Edit(tags=("slow",)), AS_OPERATOR)
    assert (changed.content, changed.category, tagged.category) == ("Takes 90s to start", UNREADABLE, UNREADABLE)
    with pytest.raises(Invalid, match="invisible"):
        world.curation.change(old.id, Change(category=UNREADABLE + "s"), AS_OPERATOR)
