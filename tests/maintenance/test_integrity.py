"""A check of the data compares the indexes with the store, and has what they lack made anew."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.maintenance.integrity import Checked, IntegrityCheck
from hivelore.storage.ports import Transaction
from hivelore.storage.sql.transaction import SqlTransaction
from support.clocks import SteppingClock
from support.memories import EVERYTHING
from support.stores import KEYWORDS, STORES
from support.world import World, hashing

SOUND = Checked((), [])


@pytest.fixture(params=["fts5", "postings", "postings on postgres"])
def world(request: pytest.FixtureRequest, clock: SteppingClock, tmp_path: Path) -> Generator[World]:
    kind = KEYWORDS[request.param]
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing())


@pytest.fixture
def checking(world: World) -> IntegrityCheck:
    world.reindexing.begin()
    for number in range(4):
        world.remember(f"The kettle number {number} boils.")
    return IntegrityCheck(world.store.check, world.store, world.reindexing, world.embedding)


def lose_vectors(world: World, limit: int) -> None:
    """Remove vectors as nobody does: the passages stay noted as embedded."""

    def work(tx: Transaction) -> None:
        assert isinstance(tx, SqlTransaction)
        tx.count("vectors_drop", {"model": tx.models()[hashing().fingerprint], "limit": limit})

    world.store.write(work)


def test_what_lacks_nothing_is_sound(world: World, checking: IntegrityCheck) -> None:
    assert checking.check() == SOUND
    world.reindexing.go_on()
    assert checking.check() == SOUND


def test_words_that_are_missing_are_told_and_indexed_again(world: World, checking: IntegrityCheck) -> None:
    world.reindexing.go_on()
    with world.store.read() as view:
        chunks = [view.chunks(key)[0].key for key in sorted(view.matching(EVERYTHING))[:3]]
    world.store.write(lambda tx: world.keywords.remove(tx, chunks))
    (said,) = checking.check().repairs
    assert said.startswith("The keyword index lacks words of 3 of 4 memories.")
    assert (world.reindexing.left, world.reindexing.is_done) == (3, False)
    world.reindexing.go_on()
    assert (checking.check(), world.reindexing.left) == (SOUND, 0)


def test_an_index_that_is_just_being_built_lacks_nothing(world: World, checking: IntegrityCheck) -> None:
    world.store.write(lambda tx: tx.set_setting("keywords.index", "another 1"))
    world.reindexing.begin()
    assert (checking.check(), world.reindexing.left) == (SOUND, 4)


def test_vectors_that_are_missing_are_told_and_made_again(world: World, checking: IntegrityCheck) -> None:
    lose_vectors(world, 3)
    assert world.embedding.pending() == 0
    (said,) = checking.check().repairs
    assert said.startswith("The vectors of 3 of 4 passages are missing.")
    assert world.embedding.pending() == 3
    world.embed()
    assert (checking.check(), world.recall("kettle number 3").hits[0].score.vector > 0.0) == (SOUND, True)
