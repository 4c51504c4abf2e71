"""The size of the write-ahead log of a SQLite store, under concurrent reads and writes."""

import logging
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Expired, Unavailable
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite import store as sqlite_store
from hivelore.storage.sqlite.connection import connect, run_script
from hivelore.storage.sqlite.store import LARGE_LOG, LONG_PATIENCE, SHORT_PATIENCE, SMALL_LOG, SqliteStore, patience
from support.memories import a_memory
from support.sqlite_writes import adding, contents, held, submit
from support.stores import add
from support.vfs import PATIENCE

MB = 1024 * 1024
A_MEGABYTE = "0123456789abcdef" * 65_536


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of the log in this file are an eighth of the real ones, so that less has to be written."""
    for name in ("SMALL_LOG", "LARGE_LOG", "LOG_STEP"):
        monkeypatch.setattr(sqlite_store, name, getattr(sqlite_store, name) // 8)


@pytest.fixture
def store(tmp_path: Path, small: None) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())) as store:
        yield store


def log_of(folder: Path) -> Path:
    return folder / "hivelore.db-wal"


def write_a_megabyte(tx: Transaction) -> None:
    tx.set_setting("large", token_hex(MB // 2))


@contextmanager
def overlapping_reads(store: SqliteStore, seconds: float) -> Generator[None]:
    """Snapshots that each last so long, of which always one at least is open."""
    over = Event()

    def read() -> None:
        while not over.is_set():
            with store.read():
                time.sleep(seconds)

    threads = [Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(seconds / 3)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)


def test_the_log_stays_small_under_overlapping_reads(store: SqliteStore, tmp_path: Path) -> None:
    largest = 0
    with overlapping_reads(store, 0.05):
        for _ in range(40):
            store.write(write_a_megabyte)
            largest = max(largest, log_of(tmp_path).stat().st_size)
    assert largest <= 128 * MB // 8


def test_an_endless_read_is_logged_and_blocks_no_write(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_store, "SHORT_PATIENCE", 0.01)
    monkeypatch.setattr(sqlite_store, "LONG_PATIENCE", 0.3)
    with store.read(), caplog.at_level(logging.WARNING, "hivelore"):
        for _ in range(12):
            store.write(write_a_megabyte)
            time.sleep(0.01)
    assert [record.message for record in caplog.records if "cannot be emptied" in record.message]
    wait_until_small(store, tmp_path)


def test_a_read_that_lasts_is_waited_for_once_only(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "LONG_PATIENCE", 1.0)
    with store.read():
        began = time.monotonic()
        for _ in range(20):
            store.write(write_a_megabyte)
        assert time.monotonic() - began < 2.5


def wait_until_small(store: SqliteStore, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while log_of(folder).stat().st_size > sqlite_store.LARGE_LOG:
        assert time.monotonic() < until
        store.write(write_a_megabyte)
        time.sleep(0.02)


def test_units_that_are_large_together_are_not_one_commit(store: SqliteStore, tmp_path: Path) -> None:
    with held(store):
        answers = [submit(store, write_a_megabyte) for _ in range(40)]
    for answer in answers:
        answer.result(PATIENCE)
    assert log_of(tmp_path).stat().st_size < 40 * MB


def test_every_unit_of_a_group_that_is_cut_is_answered_and_stored(store: SqliteStore) -> None:
    def large(number: int) -> str:
        return f"{number} {A_MEGABYTE}"

    with held(store):
        answers = [submit(store, adding(large(number))) for number in range(24)]
        late = submit(store, adding("late"), deadline=0.0)
    for answer in answers:
        answer.result(PATIENCE)
    with pytest.raises(Expired):
        late.result(PATIENCE)
    assert sorted(text.split()[0] for text in contents(store)) == sorted(map(str, range(24)))


def test_purged_data_leaves_the_log_under_overlapping_reads(store: SqliteStore, tmp_path: Path) -> None:
    add(store, a_memory("to be wiped"))
    with overlapping_reads(store, 0.01):
        assert store.purge_log()
        assert log_of(tmp_path).stat().st_size == 0


def test_a_reader_of_another_program_is_not_waited_for(store: SqliteStore, tmp_path: Path) -> None:
    add(store, a_memory("kept"))
    with closing(connect(tmp_path / "hivelore.db")) as other:
        run_script(other, "BEGIN; SELECT count(*) FROM memory")
        add(store, a_memory("new"))
        began = time.monotonic()
        assert not store.purge_log()
        assert time.monotonic() - began < 2.0
    assert store.purge_log()


def test_closing_does_not_wait_for_a_log_that_a_read_keeps(tmp_path: Path, small: None) -> None:
    store = SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())
    reading, over = Event(), Event()

    def read() -> None:
        with store.read():
            reading.set()
            over.wait(PATIENCE)

    reader = Thread(target=read)
    reader.start()
    assert reading.wait(PATIENCE)
    writes = [submit(store, write_a_megabyte) for _ in range(24)]
    time.sleep(0.3)
    threading.Timer(0.2, over.set).start()
    began = time.monotonic()
    store.close()
    reader.join()
    assert time.monotonic() - began < 3.0
    assert all(write.result(0) is None for write in writes)
    with pytest.raises(Unavailable):
        store.purge_log()


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_the_larger_the_log_the_longer_reads_are_waited_for(one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert SHORT_PATIENCE <= patience(less) <= patience(more) <= LONG_PATIENCE
    assert patience(SMALL_LOG) == SHORT_PATIENCE
    assert patience(LARGE_LOG) == LONG_PATIENCE
