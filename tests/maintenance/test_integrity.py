"""The integrity check compares the indexes with the store and repairs missing entries."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.maintenance.integrity import IntegrityCheck
from hivelore.maintenance.model import IntegrityReport
from hivelore.storage.ports import Transaction
from hivelore.storage.sql.view import SqlTransaction
from support.clocks import SteppingClock
from support.memories import EVERYTHING
from support.stores import KEYWORDS, STORES
from support.world import World, hashing

SOUND = IntegrityReport()


@pytest.fixture(params=["fts5", "postings", "postings on postgres"])
def world(request: pytest.FixtureRequest, clock: SteppingClock, tmp_path: Path) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing())


@pytest.fixture
def integrity_check(world: World) -> IntegrityCheck:
    world.index_rebuild.begin()
    for number in range(4):
        world.remember(f"The kettle number {number} boils.")
    return IntegrityCheck(world.store.check, world.store, world.index_rebuild, world.embedding)


def lose_vectors(world: World, limit: int) -> None:
    """Remove vectors as nobody does: the passages stay noted as embedded."""

    def work(tx: Transaction) -> None:
        assert isinstance(tx, SqlTransaction)
        tx.count("vectors_drop", {"model": tx.model_keys()[hashing().fingerprint], "limit": limit})

    world.store.write(work)


def test_complete_indexes_are_sound(world: World, integrity_check: IntegrityCheck) -> None:
    assert integrity_check.check() == SOUND
    world.index_rebuild.run_step()
    assert integrity_check.check() == SOUND


def test_missing_words_are_reported_and_indexed_again(world: World, integrity_check: IntegrityCheck) -> None:
    world.index_rebuild.run_step()
    with world.store.read() as view:
        chunks = [view.chunks(key)[0].key for key in sorted(view.matching_keys(EVERYTHING))[:3]]
    world.store.write(lambda tx: world.keywords.remove(tx, chunks))
    (said,) = integrity_check.check().repairs
    assert said.startswith("The keyword index lacks words of 3 of 4 memories.")
    assert (world.index_rebuild.remaining, world.index_rebuild.is_complete()) == (3, False)
    world.index_rebuild.run_step()
    assert (integrity_check.check(), world.index_rebuild.remaining) == (SOUND, 0)


def test_an_index_that_is_being_rebuilt_lacks_nothing(world: World, integrity_check: IntegrityCheck) -> None:
    world.store.write(lambda tx: tx.set_setting("keywords.index", "another 1"))
    world.index_rebuild.begin()
    assert (integrity_check.check(), world.index_rebuild.remaining) == (SOUND, 4)


def test_missing_vectors_are_reported_and_queued(world: World, integrity_check: IntegrityCheck) -> None:
    lose_vectors(world, 3)
    assert world.embedding.pending() == 0
    (said,) = integrity_check.check().repairs
    assert said.startswith("The vectors of 3 of 4 passages are missing.")
    assert world.embedding.pending() == 3
    world.embed()
    assert (integrity_check.check(), world.recall("kettle number 3").hits[0].score.vector > 0.0) == (SOUND, True)
