"""SQLite's keyword engine: wiping goes on in small steps whatever is written meanwhile, and ends."""

import random
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.errors import Broken
from hivelore.indexes.keywords import fts5
from hivelore.indexes.keywords.fts5 import Fts5, Level, Segments
from hivelore.indexing.model import KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite.connection import SqliteTransaction
from hivelore.storage.sqlite.store import SqliteStore
from support.clocks import SteppingClock

SECRET = "aardwolf"
"""Before all other words: a merge that is under way has copied it already."""
STEPS = 1_000
CHUNKS = 300

BackgroundWorkers = Callable[[int], None]
"""Called with the number of the step that was just done."""


class Index:
    """Chunks of random words, each written in a separate transaction, without documents."""

    def __init__(self, store: SqliteStore, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.engine = Fts5(pages=3)
        self.random = random.Random(1)
        self.last = 0
        self.secrets: list[ChunkKey] = []

    def add(self, *terms: str) -> ChunkKey:
        self.last += 1
        words = (*terms, *(f"w{self.random.randrange(1_000_000)}" for _ in range(60)))
        chunk = ChunkKey(self.last)
        self.store.write(lambda tx: self.engine.put(tx, [KeywordEntry(chunk, DocumentKey(1), words, (), ())]))
        return chunk

    def fill(self, chunks: int, secret_at: int) -> None:
        for number in range(chunks):
            chunk = self.add(*(SECRET,) if number == secret_at else ())
            if number == secret_at:
                self.secrets.append(chunk)

    def forget(self, *chunks: ChunkKey) -> None:
        self.store.write(lambda tx: self.engine.forget(tx, chunks))

    def replace(self, chunk: ChunkKey) -> None:
        entry = KeywordEntry(chunk, DocumentKey(1), ("replaced",), (), ())
        self.store.write(lambda tx: self.engine.put(tx, [entry]))

    def is_tidy(self) -> bool:
        with self.store.read() as view:
            return self.engine.is_purged(view)

    def tidy(self, beside: BackgroundWorkers = lambda step: None) -> int:
        """Answers how many steps it took."""
        for step in range(STEPS):
            if self.is_tidy():
                assert self.store.purge_log()
                return step
            self.store.write(self.engine.purge_step)
            beside(step)
        raise AssertionError("wiping does not end")

    def segments(self) -> Segments:
        def read_record(tx: Transaction) -> bytes:
            assert isinstance(tx, SqliteTransaction)
            return tx.row("keyword_segments")[0]

        return fts5.read_segments(self.store.write(read_record))

    def merge_all(self) -> None:
        """Into one segment."""
        self.forget(self.add("anything"))
        self.tidy()

    def holds_secret(self) -> bool:
        return any(SECRET.encode() in file.read_bytes() for file in self.folder.iterdir() if file.is_file())


@pytest.fixture
def index(tmp_path: Path) -> Generator[Index]:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SteppingClock(), durable=False)) as store:
        yield Index(store, tmp_path)


def test_it_takes_many_small_steps(index: Index) -> None:
    index.fill(CHUNKS, secret_at=50)
    assert index.holds_secret()
    index.forget(*index.secrets)
    assert index.tidy() > 10
    assert not index.holds_secret()
    assert index.segments().are_clean
    assert not index.store.check()


@pytest.mark.parametrize("every", [1, 2, 7])
@pytest.mark.parametrize("merged", [False, True], ids=["many segments", "one segment"])
def test_writes_between_the_steps_do_not_keep_it_from_ending(index: Index, merged: bool, every: int) -> None:
    index.fill(CHUNKS, secret_at=50)
    if merged:
        index.merge_all()
    index.forget(*index.secrets)
    index.tidy(lambda step: None if step % every else index.replace(index.add()))
    assert not index.holds_secret()
    assert not index.store.check()


@pytest.mark.parametrize("step_of_second", [0, 1, 3, 6, 9])
def test_forgotten_words_are_purged_at_any_step(index: Index, step_of_second: int) -> None:
    index.fill(CHUNKS // 2, secret_at=20)
    index.fill(CHUNKS // 2, secret_at=20)
    first, second = index.secrets
    index.forget(first)
    index.tidy(lambda step: index.forget(second) if step == step_of_second else None)
    assert not index.holds_secret()


def test_replaced_words_are_purged_only_with_forgotten_ones(index: Index) -> None:
    index.fill(30, secret_at=10)
    index.replace(index.secrets[0])
    assert index.is_tidy()
    assert index.holds_secret()
    index.forget(ChunkKey(1))
    index.tidy()
    assert not index.holds_secret()


def test_a_hundred_times_leaves_a_sound_index(index: Index) -> None:
    index.fill(30, secret_at=10)
    for _ in range(100):
        index.forget(index.add(SECRET))
        index.tidy()
    assert not index.store.check()
    index.forget(*index.secrets)
    index.tidy()
    assert not index.holds_secret()


def test_forgetting_a_chunk_without_words_takes_one_step(index: Index) -> None:
    index.fill(5, secret_at=1)
    index.forget(ChunkKey(1_000))
    assert index.tidy() == 1


# The record of segments.


def test_the_structure_record_of_fts5_is_read(index: Index) -> None:
    assert index.segments() == Segments(())
    index.add()
    index.add()
    assert index.segments().levels[0] == Level(segments=2, merging=0, tombstones=False)
    index.forget(ChunkKey(1))
    assert index.segments().levels[0] == Level(segments=2, merging=0, tombstones=True)
    assert not index.segments().are_clean


def test_long_varints_are_read() -> None:
    record = (
        bytes(4) + b"\xff\0\0\x01" + b"\x01\x01" + b"\xff" * 9 + b"\x00\x01" + b"\x01" * 5 + b"\x81\x00" + b"\x01" * 2
    )
    assert fts5.read_segments(record) == Segments((Level(segments=1, merging=0, tombstones=True),))


def test_a_record_of_another_kind_is_refused() -> None:
    with pytest.raises(Broken):
        fts5.read_segments(bytes(4) + b"\x01\x01\x00")
