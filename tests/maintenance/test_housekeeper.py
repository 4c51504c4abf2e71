"""Housekeeping: forgotten text is purged step by step, in a small part of the time."""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexing.model import KeywordEntry
from hivelore.maintenance.housekeeper import COMPACTION_BUDGET, PURGE_BUDGET, PURGE_REST_FACTOR, Housekeeper
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.sqlite.store import SqliteStore
from support.clocks import SteppingClock
from support.stores import AT_ONCE

STEP = timedelta(seconds=0.05)


class SlowFts5(Fts5):
    """Every step of wiping takes a twentieth of a second."""

    def __init__(self, clock: SteppingClock) -> None:
        super().__init__(pages=1)
        self._clock = clock
        self.steps = 0

    def purge_step(self, tx: Transaction) -> None:
        super().purge_step(tx)
        self.steps += 1
        self._clock.advance(STEP)


class House:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SteppingClock()
        self.keywords = SlowFts5(self.clock)
        self.store = SqliteStore(folder / "hivelore.db", clock=self.clock, durable=False)
        self.housekeeping = Housekeeper(self.store, self.keywords, self.clock)
        self.chunk = 0

    def put(self, terms: Sequence[str]) -> ChunkKey:
        self.chunk += 1
        chunk = ChunkKey(self.chunk)
        entry = KeywordEntry(chunk, DocumentKey(1), tuple(terms), (), ())
        self.store.write(lambda tx: self.keywords.put(tx, [entry]))
        return chunk

    def fill(self) -> None:
        for start in range(0, 20_000, 500):
            self.put([f"w{number}" for number in range(start, start + 500)])

    def forget(self, chunk: ChunkKey) -> None:
        self.store.write(lambda tx: self.keywords.forget(tx, [chunk]))

    def is_tidy(self) -> bool:
        with self.store.read() as view:
            return self.keywords.is_purged(view)

    def tend_until_tidy(self) -> None:
        while not self.is_tidy():
            self.housekeeping.run_step()

    def holds(self, word: str) -> bool:
        return any(word.encode() in file.read_bytes() for file in self.folder.iterdir() if file.is_file())


@pytest.fixture
def house(tmp_path: Path) -> Generator[House]:
    house = House(tmp_path)
    with closing(house.store):
        yield house


def test_without_forgotten_text_nothing_is_done(house: House) -> None:
    house.fill()
    for _ in range(3):
        house.housekeeping.run_step()
    assert house.keywords.steps == 0


def test_forgotten_text_is_purged_from_every_file(house: House) -> None:
    house.fill()
    secret = house.put(["xylophonist"])
    assert house.holds("xylophonist")
    house.forget(secret)
    house.tend_until_tidy()
    assert not house.holds("xylophonist")


def test_a_step_stops_after_a_while_and_the_next_one_continues(house: House) -> None:
    house.fill()
    house.forget(house.put(["xylophonist"]))
    house.housekeeping.run_step()
    assert 0 < house.keywords.steps <= PURGE_BUDGET / STEP.total_seconds() + 1
    assert not house.is_tidy()
    house.tend_until_tidy()
    assert not house.holds("xylophonist")


def test_a_step_stops_at_once_when_the_service_stops(house: House) -> None:
    house.fill()
    house.forget(house.put(["xylophonist"]))
    house.housekeeping.run_step(lambda: True)
    assert house.keywords.steps == 0


def test_the_pause_is_many_times_as_long_as_the_step(house: House) -> None:
    house.fill()
    house.forget(house.put(["xylophonist"]))
    house.tend_until_tidy()
    took = house.keywords.steps * STEP
    house.forget(house.put(["quetzal"]))
    house.clock.advance(took * (PURGE_REST_FACTOR - 1))
    steps = house.keywords.steps
    house.housekeeping.run_step()
    assert house.keywords.steps == steps
    house.clock.advance(took)
    house.tend_until_tidy()
    assert not house.holds("quetzal")


def test_the_last_step_before_the_end_has_no_pause(house: House) -> None:
    house.fill()
    house.forget(house.put(["xylophonist"]))
    house.tend_until_tidy()
    house.forget(house.put(["quetzal"]))
    house.housekeeping.finish_purge(1_000.0)
    house.store.close()
    assert not house.holds("quetzal")


def test_the_last_step_is_limited_and_the_next_start_continues(house: House) -> None:
    house.fill()
    house.forget(house.put(["xylophonist"]))
    house.housekeeping.finish_purge(0.3)
    assert house.keywords.steps == 6
    assert house.holds("xylophonist")
    Housekeeper(house.store, house.keywords, house.clock).finish_purge(1_000.0)
    house.store.close()
    assert not house.holds("xylophonist")


def test_text_in_the_log_of_a_killed_process_is_purged_at_the_next_start(house: House) -> None:
    house.store.write(lambda tx: tx.set_setting("note", "xylophonist"))
    house.store.write(lambda tx: tx.set_setting("note", ""))
    assert house.holds("xylophonist")
    Housekeeper(house.store, house.keywords, house.clock).run_step()
    assert not house.holds("xylophonist")


def test_a_reader_delays_the_log_only_while_it_reads(house: House) -> None:
    house.housekeeping.run_step()
    secret = house.put(["xylophonist"])
    with house.store.read():
        house.forget(secret)
        house.tend_until_tidy()
        house.housekeeping.run_step()
        assert house.holds("xylophonist")
    house.housekeeping.run_step()
    assert not house.holds("xylophonist")


class SlowPostings(Postings):
    """Every step of settling takes a fifth of a second."""

    def __init__(self, clock: SteppingClock) -> None:
        super().__init__(AT_ONCE)
        self._clock = clock
        self.steps = 0

    def compact(self, store: MemoryStore) -> bool:
        there_was_something = super().compact(store)
        self.steps += there_was_something
        self._clock.advance(timedelta(seconds=0.2))
        return there_was_something


def test_the_index_is_compacted_step_by_step(tmp_path: Path) -> None:
    clock = SteppingClock()
    keywords = SlowPostings(clock)
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=clock, durable=False)) as store:
        housekeeping = Housekeeper(store, keywords, clock)
        entries = [
            KeywordEntry(ChunkKey(number), DocumentKey(1), ("a", f"w{number}"), (), ()) for number in range(1, 9)
        ]
        store.write(lambda tx: keywords.put(tx, entries))
        housekeeping.run_step()
        assert keywords.steps == round(COMPACTION_BUDGET / 0.2 + 0.5)
        housekeeping.run_step(lambda: True)
        assert keywords.steps == round(COMPACTION_BUDGET / 0.2 + 0.5)
        for _ in range(30):
            housekeeping.run_step()
        assert not keywords.compact(store)
