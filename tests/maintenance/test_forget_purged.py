"""Forgetting a memory that maintenance purged: nothing of it stays, and other memories are not affected."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.changes.model import BatchId
from hivelore.core.agents import Viewer
from hivelore.errors import Conflict, Forbidden, NotFound, Stale
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from support.batches import batches_of, preimages_of
from support.clocks import START
from support.memories import operational
from support.stores import present
from support.undo_service import whole
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

HERON, STORK = "The heron leaves at noon.", "The stork stays."
NOBODY = MemoryId("01a00000-0000-7000-8000-000000000000")


def expiring(world: World, content: str, **more: Any) -> Memory:
    return world.remember(content, expires_at=START + timedelta(hours=1), **more)


def purge(world: World, count: int) -> BatchId:
    world.clock.advance(timedelta(hours=2))
    done = world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR, count)
    assert (done.purged, done.batch is None) == (count, False)
    assert done.batch is not None
    return done.batch


def kept(world: World) -> str:
    return "".join(f"{batch}{preimages_of(world.store, batch)}" for batch in batches_of(world.store))


def there(world: World, memory: Memory) -> bool:
    with world.store.read() as view:
        return view.get(memory.id) is not None


@pytest.mark.parametrize("viewer", [AS_ADA, AS_OPERATOR])
def test_forgetting_deletes_the_previous_states_and_leaves_the_other_memories_restorable(
    world: World, viewer: Viewer
) -> None:
    heron, stork, crane = (
        expiring(world, content, session="s1", subject="bird", external_id=content)
        for content in (HERON, STORK, "The crane dances.")
    )
    world.remember("It is about birds.", session="s1")
    batch = purge(world, 3)
    world.memory_service.forget(heron.id, viewer)
    assert "heron" not in kept(world)
    entry = world.audit()[0]
    assert (entry.action, entry.memory, entry.actor) == (Action.FORGOTTEN, heron.id, viewer.agent)
    with pytest.raises(NotFound, match="forgotten"):
        world.undo_service.undo(heron.id, AS_OPERATOR)
    world.undo_service.undo(stork.id, AS_OPERATOR)
    done = world.undo_service.undo(batch, AS_OPERATOR)
    assert (done.memories, done.forgotten, done.batch.undone_at) == ((crane.id,), 1, world.clock.now())
    assert [there(world, one) for one in (heron, stork, crane)] == [False, True, True]
    assert done.by is not None
    assert world.undo_service.undo(done.by, AS_OPERATOR).forgotten == 0
    assert [there(world, one) for one in (heron, stork, crane)] == [False, True, False]


def test_the_previous_fact_of_a_subject_is_restored_without_an_end_after_the_last_one_was_forgotten(
    world: World,
) -> None:
    heron, stork = (expiring(world, content, subject="bird") for content in (HERON, STORK))
    batch = purge(world, 2)
    world.memory_service.forget(stork.id, AS_ADA)
    done = world.undo_service.undo(batch, AS_OPERATOR)
    assert (done.memories, done.batch.undone_at) == ((heron.id,), world.clock.now())
    assert present(world.store, heron).memory.valid_until is None


def test_a_restored_memory_that_was_changed_keeps_its_change_when_the_others_are_restored(world: World) -> None:
    heron, stork = expiring(world, HERON), expiring(world, STORK)
    batch = purge(world, 2)
    world.undo_service.undo(heron.id, AS_OPERATOR)
    world.memory_service.edit(heron.id, Edit(tags=("bird",)), AS_ADA)
    done = world.undo_service.undo(batch, AS_OPERATOR)
    assert (done.memories, done.batch.undone_at) == ((stork.id,), world.clock.now())
    assert present(world.store, heron).memory.tags == ("bird",)


def test_a_memory_purged_twice_is_restored_as_it_was_last(world: World) -> None:
    heron, stork = expiring(world, HERON), expiring(world, STORK)
    first = purge(world, 2)
    world.undo_service.undo(heron.id, AS_OPERATOR)
    world.memory_service.edit(heron.id, Edit(tags=("bird",)), AS_ADA)
    second = purge(world, 1)
    with pytest.raises(Conflict, match="later changes first"):
        world.undo_service.undo(first, AS_OPERATOR)
    world.undo_service.undo(second, AS_OPERATOR)
    world.undo_service.undo(first, AS_OPERATOR)
    assert present(world.store, heron).memory.tags == ("bird",)
    assert there(world, stork)


def test_undo_reports_changes_since_when_all_of_a_purge_is_restored_or_forgotten(world: World) -> None:
    heron, stork = expiring(world, HERON), expiring(world, STORK)
    batch = purge(world, 2)
    world.undo_service.undo(heron.id, AS_OPERATOR)
    world.memory_service.forget(stork.id, AS_ADA)
    with pytest.raises(Conflict, match="Nothing to undo"):
        world.undo_service.undo(batch, AS_OPERATOR)
    world.memory_service.edit(heron.id, Edit(tags=("bird",)), AS_ADA)
    with pytest.raises(Conflict, match=f"Changed since then: {heron.id}"):
        world.undo_service.undo(batch, AS_OPERATOR)


def test_undo_reports_that_all_of_a_purge_was_forgotten(world: World) -> None:
    heron = expiring(world, HERON)
    batch = purge(world, 1)
    world.memory_service.forget(heron.id, AS_ADA)
    with pytest.raises(Conflict, match="forgotten permanently"):
        world.undo_service.undo(batch, AS_OPERATOR)


def test_a_forgotten_memory_is_unknown(world: World) -> None:
    heron = expiring(world, HERON)
    purge(world, 1)
    world.memory_service.forget(heron.id, AS_ADA)
    before = whole(world)
    with pytest.raises(NotFound) as again:
        world.memory_service.forget(heron.id, AS_ADA)
    with pytest.raises(NotFound) as unknown:
        world.memory_service.forget(NOBODY, AS_ADA)
    assert str(again.value).replace(heron.id, NOBODY) == str(unknown.value)
    assert whole(world) == before


def test_a_memory_that_was_not_visible_gives_the_error_of_an_unknown_one(world: World) -> None:
    heron = expiring(world, HERON)
    purge(world, 1)
    before = whole(world)
    with pytest.raises(NotFound) as hidden:
        world.memory_service.forget(heron.id, AS_BOB)
    with pytest.raises(NotFound) as unknown:
        world.memory_service.forget(NOBODY, AS_BOB)
    assert str(hidden.value).replace(heron.id, NOBODY) == str(unknown.value)
    assert whole(world) == before


def test_a_memory_that_was_private_for_a_while_is_hidden_although_it_was_shared_before(world: World) -> None:
    """The purge is dropped. The state before an earlier edit remains, in which the memory became private."""
    heron = expiring(world, HERON, scope=Scope.SWARM)
    world.memory_service.edit(heron.id, Edit(scope=Scope.AGENT), AS_ADA)
    world.undo_service.drop(purge(world, 1), AS_OPERATOR)
    assert "heron" in kept(world)
    with pytest.raises(NotFound):
        world.memory_service.forget(heron.id, AS_BOB)
    world.memory_service.forget(heron.id, AS_ADA)
    assert "heron" not in kept(world)


def test_a_viewer_who_sees_a_memory_but_may_not_delete_it_gets_that_error(world: World) -> None:
    shared = expiring(world, HERON, scope=Scope.SWARM)
    private = expiring(world, STORK)
    running = expiring(world, "Takes 60 s.", scope=Scope.SWARM, operational=operational("jellyfin"))
    purge(world, 3)
    before = whole(world)
    for memory, viewer in ((shared, AS_BOB), (private, AS_LEA), (running, AS_ADA)):
        with pytest.raises(Forbidden):
            world.memory_service.forget(memory.id, viewer)
    assert whole(world) == before
    world.memory_service.forget(shared.id, AS_LEA)
    world.memory_service.forget(running.id, AS_OPERATOR)
    assert ("heron" in kept(world), "Takes" in kept(world), "stork" in kept(world)) == (False, False, True)


def test_operators_forget_purged_operational_memories_like_others(world: World) -> None:
    running, other = (
        expiring(world, content, scope=Scope.SWARM, operational=operational("jellyfin"))
        for content in ("Takes 60 s.", "Listens on port 8096.")
    )
    heron = expiring(world, HERON)
    purge(world, 3)
    assert world.curation.forget([running.id, heron.id, NOBODY, running.id], AS_OPERATOR) == 1
    assert ("Takes" in kept(world), "8096" in kept(world), "heron" in kept(world)) == (False, True, True)
    for unknown in (heron.id, NOBODY, running.id):
        with pytest.raises(NotFound):
            world.curation.forget_one(unknown, AS_OPERATOR)
    with pytest.raises(Forbidden):
        world.curation.forget_one(other.id, AS_ADA)
    world.curation.forget_one(other.id, AS_OPERATOR)
    assert "8096" not in kept(world)


def test_only_the_expected_version_is_forgotten(world: World) -> None:
    heron = expiring(world, HERON)
    world.memory_service.edit(heron.id, Edit(tags=("bird",)), AS_ADA)
    purge(world, 1)
    with pytest.raises(Stale):
        world.memory_service.forget(heron.id, AS_ADA, version=1)
    world.memory_service.forget(heron.id, AS_ADA, version=2)
    assert "heron" not in kept(world)


def test_the_previous_state_of_an_edit_before_the_purge_is_deleted_too(world: World) -> None:
    heron = expiring(world, HERON)
    words = Edit(content="It left.", name="x", summary="y", reason="heron", expires_at=heron.expires_at)
    world.memory_service.edit(heron.id, words, AS_ADA)
    assert "heron" in kept(world)
    purge(world, 1)
    world.memory_service.forget(heron.id, AS_ADA)
    assert "heron" not in kept(world)


def test_a_memory_that_was_restored_and_then_forgotten_does_not_block_undo(world: World) -> None:
    heron, stork = expiring(world, HERON), expiring(world, STORK)
    batch = purge(world, 2)
    world.undo_service.undo(heron.id, AS_OPERATOR)
    world.memory_service.forget(heron.id, AS_ADA)
    done = world.undo_service.undo(batch, AS_OPERATOR)
    assert (done.memories, done.forgotten) == ((stork.id,), 1)
