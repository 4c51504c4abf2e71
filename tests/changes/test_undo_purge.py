"""Previous states are purged from the files after they are forgotten, dropped or expired."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory
from hivelore.observations.model import ObservationKind
from hivelore.observations.outcomes import Change, Effect
from hivelore.storage.sqlite.store import SqliteStore
from support.batches import batches_of
from support.clocks import START, SteppingClock
from support.stores import in_files
from support.world import AS_ADA, AS_OPERATOR, World, hashing

WORD = "quokkaheron"


def edited(world: World, memory: Memory) -> None:
    """The word is in what it was before, and nowhere else."""
    world.memory_service.edit(memory.id, Edit(content="Nothing of the kind.", name="x", summary="y"), AS_ADA)


def purged(world: World, memory: Memory) -> None:
    world.clock.advance(timedelta(hours=2))
    assert world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR, 1).purged == 1


def forget(world: World, memory: Memory) -> None:
    world.memory_service.forget(memory.id, AS_ADA)


def drop(world: World, memory: Memory) -> None:
    for batch in batches_of(world.store):
        world.undo_service.drop(batch.id, AS_OPERATOR)


def grow_old(world: World, memory: Memory) -> None:
    world.clock.advance(timedelta(days=8))


@pytest.mark.parametrize(("done", "ended"), [(edited, forget), (purged, forget), (purged, drop), (purged, grow_old)])
def test_no_word_of_it_is_left(
    tmp_path: Path, done: Callable[[World, Memory], None], ended: Callable[[World, Memory], None]
) -> None:
    clock, keywords = SteppingClock(), Fts5()
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=clock)) as store:
        world = World(store, keywords, clock, embedder=hashing())
        housekeeping = Housekeeper(store, keywords, clock)
        memory = world.remember(f"The {WORD} sleeps.", expires_at=START + timedelta(hours=1))
        done(world, memory)
        housekeeping.run_step()
        housekeeping.run_step()
        assert WORD.encode() in in_files(tmp_path)
        ended(world, memory)
        for _ in range(3):
            clock.advance(timedelta(minutes=2))
            housekeeping.run_step()
        housekeeping.finish_purge(10)
    assert WORD.encode() not in in_files(tmp_path)


@pytest.mark.parametrize("is_edited", [False, True])
def test_no_word_of_it_is_left_after_a_contradiction(tmp_path: Path, *, is_edited: bool) -> None:
    clock, keywords, words = SteppingClock(), Fts5(), "Listens on port 48923"
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=clock)) as store:
        world = World(store, keywords, clock, embedder=hashing())
        housekeeping = Housekeeper(store, keywords, clock)
        first = world.observe("Listens on port 8096").memory
        seen = world.observe(words)
        assert (seen.effect, seen.about) == (Effect.CONTRADICTED, (first.id,))
        if is_edited:  # What it was before that is kept, with what had contradicted it.
            world.curation.change(first.id, Change(service="emby"), AS_OPERATOR)
        housekeeping.run_step()
        world.curation.forget([seen.memory.id], AS_OPERATOR)
        for _ in range(3):
            clock.advance(timedelta(minutes=2))
            housekeeping.run_step()
        life = world.curation.timeline(first.id, AS_OPERATOR)
        assert [one.kind for one in life.observations] == [ObservationKind.CREATED, ObservationKind.CONTRADICTED]
        housekeeping.finish_purge(10)
    assert words.encode() not in in_files(tmp_path)
