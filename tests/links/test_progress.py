"""How many memories wait to be compared: counted seldom, because a count reads all memories."""

from datetime import timedelta

from hivelore.core.text import Clean
from hivelore.links.comparer import Comparer
from hivelore.links.progress import COUNTED_EVERY, ComparisonProgress
from hivelore.memories.model import Memory
from support.pair_readers import TableReader
from support.stores import present
from support.world import World

READER = TableReader({})


def progress(world: World, reader: TableReader | None = READER) -> ComparisonProgress:
    return ComparisonProgress(world.store, Comparer(reader), world.clock)


def compare(world: World, memory: Memory) -> None:
    key = present(world.store, memory).key
    world.store.write(lambda tx: tx.put_compared(key, memory.version, Clean(READER.name)))


def later(world: World, shown: ComparisonProgress) -> int | None:
    world.clock.advance(timedelta(seconds=COUNTED_EVERY))
    return shown.waiting()


def test_without_a_pair_model_no_memory_is_counted(world: World) -> None:
    world.remember("We use npm")
    assert progress(world, None).waiting() is None


def test_memories_that_were_not_compared_are_counted_at_times(world: World) -> None:
    first, second = (world.remember(text) for text in ("We use npm", "We use pnpm"))
    shown = progress(world)
    assert shown.waiting() == 2
    compare(world, first)
    assert shown.waiting() == 2
    assert later(world, shown) == 1
    compare(world, second)
    assert later(world, shown) == 0
    assert later(world, shown) == 0
    world.remember("We use yarn")
    assert shown.waiting() == 0
    assert later(world, shown) == 1


def test_after_the_last_comparison_nothing_is_counted_until_a_memory_changes(world: World) -> None:
    memory = world.remember("We use npm")
    compare(world, memory)
    shown = progress(world)
    assert shown.waiting() == 0
    key = present(world.store, memory).key
    world.store.write(lambda tx: tx.put_compared(key, memory.version, Clean("another model")))  # No change.
    counts_transactions = world.store.name.startswith("postgresql")
    assert later(world, shown) == (1 if counts_transactions else 0)
    world.remember("We use pnpm")
    assert later(world, shown) == 2
