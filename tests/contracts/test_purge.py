"""Every keyword engine and its store: what was forgotten is in no file any more once it was wiped."""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Proposed
from hivelore.indexes.ports import KeywordIndex
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory
from hivelore.storage.ports import MemoryStore
from support.clocks import SteppingClock
from support.events import an_event, log_events
from support.links import a_link, put_links
from support.memories import EVERYTHING, an_observation, evidence, operational
from support.stores import KEYWORDS, STORES, StoreKind, present, read_changes
from support.world import AS_ADA, AS_OPERATOR, World, hashing

# A keyword engine may keep of a term only what differs from the one before it: these begin like no other word.
IN_TEXT, IN_NAME, IN_TAG, REPLACED, IN_SUMMARY = "xylophonist", "quetzal", "zwitterion", "jacquard", "vuvuzela"
IN_SERVICE, OBSERVED, IN_EVENT, PROPOSED, USED_IN = "wolframite", "yttrium", "gneiss", "kinkajou", "ytterbium"
IN_LINK = "obsidian"
WORDS = {IN_TEXT, IN_NAME, IN_TAG, REPLACED, IN_SUMMARY, IN_SERVICE, OBSERVED, IN_EVENT, PROPOSED, USED_IN, IN_LINK}
STEPS = 2_000
"""More than wiping needs in any of these."""


@dataclass
class House:
    """A world in a folder."""

    folder: Path
    keywords: KeywordIndex
    store: MemoryStore
    world: World
    kind: StoreKind

    def fill(self, memories: int) -> None:
        for number in range(memories):
            self.world.remember(f"The kettle number {number} boils in house {number % 7}.")
        self.settle()

    def settle(self) -> None:
        while self.keywords.compact(self.store):
            pass

    def remember_secret(self) -> Memory:
        """A memory that says all of the words, one only in its history, with another behind it in its session."""
        world = self.world
        known, name = operational(IN_SERVICE), f"On a {IN_NAME}"
        secret = world.remember(f"A {REPLACED}.", name=name, tags=[IN_TAG], session="s", project="p", operational=known)
        other = world.remember("It goes on in the same session.", session="s", project="p")
        key = present(self.store, secret).key
        put_links(self.store, a_link(present(self.store, other), present(self.store, secret), why=Clean(IN_LINK)))
        self.store.write(lambda tx: tx.add_observation(key, known.held, an_observation(text=f"Saw {OBSERVED}.")))
        log_events(self.store, an_event(text=Clean(f"New: {IN_EVENT}."), memory=secret.id))
        self.store.write(lambda tx: tx.add_evidence({key: [evidence(session=USED_IN)]}))
        world.memory_service.edit(secret.id, Edit(content=f"A {IN_TEXT}.", summary=f"A {IN_SUMMARY}."), AS_OPERATOR)
        with suppress(Proposed):
            world.memory_service.edit(secret.id, Edit(content=f"A {PROPOSED}.", reason=PROPOSED), AS_ADA)
        world.embed()
        self.settle()
        return secret

    def forget(self, memory: Memory) -> None:
        self.world.memory_service.forget(memory.id, AS_OPERATOR)

    def is_tidy(self) -> bool:
        with self.store.read() as view:
            return self.keywords.is_purged(view)

    def tidy(self) -> None:
        for _ in range(STEPS):
            if self.is_tidy():
                break
            self.store.write(self.keywords.purge_step)
        assert self.is_tidy()
        assert self.store.purge_log()

    def on_disk(self) -> set[str]:
        """Returns the words that are anywhere in the stored files."""
        kept = self.kind.kept(self.folder).lower()
        return {word for word in WORDS if word.encode() in kept}


@pytest.fixture
def opened(keyword_engine: str, tmp_path: Path, clock: SteppingClock) -> Generator[Callable[[], House]]:
    """Opens the house, each time it is called as after a kill: nothing was closed."""
    kind = KEYWORDS[keyword_engine]
    stores: list[MemoryStore] = []

    def opened() -> House:
        store = STORES[kind.store].open(tmp_path, clock)
        stores.append(store)
        keywords = kind.index()
        world = World(store, keywords, clock, embedder=hashing())
        return House(tmp_path, keywords, store, world, STORES[kind.store])

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def house(opened: Callable[[], House]) -> House:
    return opened()


def test_no_word_of_a_deleted_memory_is_in_any_file_after_a_purge(house: House) -> None:
    house.fill(30)
    secret = house.remember_secret()
    house.fill(5)
    assert house.on_disk() == (WORDS if house.kind.durable else set())
    house.forget(secret)
    house.tidy()
    assert house.on_disk() == set()
    assert house.world.found("kettle number 3")
    assert not house.store.check()


def test_nothing_of_the_only_memory_is_left_after_a_purge(house: House) -> None:
    secret = house.remember_secret()
    house.forget(secret)
    house.tidy()
    assert house.on_disk() == set()


def test_repeated_deletions_leave_nothing(house: House) -> None:
    house.fill(10)
    for _ in range(4):
        secret = house.remember_secret()
        house.forget(secret)
        house.tidy()
        assert house.on_disk() == set()


def test_memories_written_during_a_purge_are_found(house: House) -> None:
    house.fill(40)
    house.forget(house.remember_secret())
    house.store.write(house.keywords.purge_step)
    written = house.world.remember("A walrus.")
    house.tidy()
    assert house.on_disk() == set()
    with house.store.read() as view:
        found = house.keywords.search(view, ["walrus"], EVERYTHING, 10)
        stored = view.get(written.id)
        assert stored is not None
        assert [candidate.document for candidate in found] == [stored.key]
    assert not house.store.check()


def test_memories_deleted_during_a_purge_are_purged(house: House) -> None:
    house.fill(40)
    first, second = house.remember_secret(), house.remember_secret()
    house.forget(first)
    house.store.write(house.keywords.purge_step)
    house.forget(second)
    house.tidy()
    assert house.on_disk() == set()


def test_a_killed_purge_continues(opened: Callable[[], House]) -> None:
    house = opened()
    house.fill(45)  # More than the first step of a purge handles.
    house.forget(house.remember_secret())
    house.store.write(house.keywords.purge_step)
    if not house.kind.durable:
        return
    again = opened()
    assert not again.is_tidy()
    again.tidy()
    assert again.on_disk() == set()


def test_nothing_is_purged_without_deletions(house: House) -> None:
    house.fill(3)
    house.remember_secret()
    assert house.is_tidy()
    with house.store.read() as view:
        before = view.change_cursor()
    house.store.write(house.keywords.purge_step)
    with house.store.read() as view:
        assert (read_changes(view, before), house.keywords.is_purged(view)) == ([], True)


def test_a_snapshot_is_unchanged_by_a_purge(house: House) -> None:
    secret = house.remember_secret()
    with house.store.read() as view:
        house.forget(secret)
        for _ in range(STEPS):
            if house.is_tidy():
                break
            house.store.write(house.keywords.purge_step)
        assert house.store.purge_log() is not house.kind.in_files
        assert view.get(secret.id) is not None
    assert house.store.purge_log()
    assert house.on_disk() == set()
