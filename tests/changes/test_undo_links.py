"""Undo of links between memories: they return with a memory, as far as they would still be there."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.changes.model import BatchId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.links.model import LinkKind, StoredLink
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory
from hivelore.memories.stored import Stored
from hivelore.storage.sqlite.store import SqliteStore
from support.batches import batches_of
from support.clocks import START, SteppingClock
from support.links import a_link, drop, links_of, put_links
from support.memories import ADA, instant
from support.stores import in_files, present
from support.world import AS_ADA, AS_OPERATOR, World, hashing

EXPIRY = START + timedelta(hours=1)
NO_WHY = Clean("")


def remembered(world: World, *, expires: bool) -> Stored:
    memory = world.remember(f"The heron sleeps at {world.clock.now()}.", expires_at=EXPIRY if expires else None)
    return present(world.store, memory)


def purge(world: World, count: int) -> BatchId:
    world.clock.advance(timedelta(hours=2))
    done = world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR, count)
    assert done.purged == count
    return batches_of(world.store)[0].id


def undo(world: World, which: str) -> None:
    world.clock.advance(timedelta(minutes=1))
    world.undo_service.undo(which, AS_OPERATOR)


def without_why(*links: StoredLink) -> list[StoredLink]:
    return [replace(one, link=replace(one.link, why=NO_WHY)) for one in links]


def test_the_links_of_a_purged_memory_return_without_words_of_the_other_memory(world: World) -> None:
    gone, kept = remembered(world, expires=True), remembered(world, expires=False)
    written = [
        a_link(kept, gone, at=instant(3)),
        a_link(gone, kept, kind=LinkKind.SAME_AS, at=instant(2)),
        a_link(kept, gone, kind=LinkKind.CONFLICTS_WITH, at=instant(1), rejected_at=instant(5), rejected_by=ADA),
    ]
    put_links(world.store, *written)
    batch = purge(world, 1)
    assert links_of(world.store, gone, kept) == []
    undo(world, batch)
    assert links_of(world.store, gone, kept) == without_why(*written)
    undo(world, batches_of(world.store)[0].id)
    assert links_of(world.store, gone, kept) == []
    undo(world, batch)
    assert links_of(world.store, gone, kept) == without_why(*written)


@pytest.mark.parametrize("order", [None, (0, 1), (1, 0)])
def test_links_between_purged_memories_return(world: World, order: tuple[int, int] | None) -> None:
    """With the whole purge, or with the second of them."""
    both = [remembered(world, expires=True) for _ in range(2)]
    put_links(world.store, one := a_link(both[1], both[0]))
    batch = purge(world, 2)
    for which in [batch] if order is None else [both[place].memory.id for place in order]:
        assert links_of(world.store, *both) == []
        undo(world, which)
    assert links_of(world.store, *both) == without_why(one)


def test_a_link_to_a_memory_that_was_forgotten_since_does_not_return(world: World) -> None:
    gone, kept, forgotten = (remembered(world, expires=expires) for expires in (True, False, False))
    put_links(world.store, one := a_link(kept, gone), a_link(forgotten, gone))
    batch = purge(world, 1)
    world.memory_service.forget(forgotten.memory.id, AS_ADA)
    undo(world, batch)
    assert links_of(world.store, gone, kept) == without_why(one)


def rejected(link: StoredLink) -> StoredLink:
    return replace(link, link=replace(link.link, rejected_at=instant(9)))


def judged_again(link: StoredLink) -> StoredLink:
    return replace(link, link=replace(link.link, certainty=0.5, why=Clean("pnpm -> yarn"), at=instant(9)))


@pytest.mark.parametrize("change", [rejected, judged_again])
def test_undoing_an_edit_keeps_what_was_judged_since(world: World, change: Callable[[StoredLink], StoredLink]) -> None:
    edited, other, third = (remembered(world, expires=False) for _ in range(3))
    first, second = a_link(other, edited), a_link(edited, other, kind=LinkKind.SAME_AS)
    put_links(world.store, first, second)
    world.memory_service.edit(edited.memory.id, Edit(content="The owl sleeps."), AS_ADA)
    put_links(world.store, new := a_link(third, edited, at=instant(-1)), now := change(first))
    drop(world.store, second)
    undo(world, edited.memory.id)
    assert links_of(world.store, edited) == [now, new]


def test_undoing_a_new_memory_deletes_its_links_and_redoing_it_restores_them(world: World) -> None:
    old = world.remember("The port is 5432.", subject="db.port")
    world.clock.advance(timedelta(minutes=1))
    new = world.remember("The port is 1.", subject="db.port")
    stored = [present(world.store, one) for one in (new, old)]
    put_links(world.store, one := a_link(stored[0], stored[1]))
    undo(world, batches_of(world.store)[0].id)
    assert links_of(world.store, *stored) == []
    undo(world, batches_of(world.store)[0].id)
    assert links_of(world.store, *stored) == without_why(one)


def test_no_word_of_a_forgotten_memory_is_left_in_links_of_a_purged_one(tmp_path: Path) -> None:
    clock, keywords, word = SteppingClock(), Fts5(), "quokkaheron"
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=clock)) as store:
        world = World(store, keywords, clock, embedder=hashing())
        housekeeper = Housekeeper(store, keywords, clock)
        gone: Memory = world.remember("The owl sleeps.", expires_at=EXPIRY)
        secret = world.remember(f"The {word} sleeps.")
        put_links(store, a_link(*(present(store, one) for one in (secret, gone)), why=Clean(f"owl -> {word}")))
        purge(world, 1)
        world.memory_service.forget(secret.id, AS_ADA)
        for _ in range(3):
            clock.advance(timedelta(minutes=2))
            housekeeper.run_step()
        housekeeper.finish_purge(10)
    assert word.encode() not in in_files(tmp_path)
