"""Ends of calls of the SQLite store: by deadline, with their snapshot or unit, and with the store."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from hivelore.errors import Expired, Unavailable
from hivelore.memories.stored import Stored
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite import store as sqlite_store
from hivelore.storage.sqlite.connection import SqliteView
from hivelore.storage.sqlite.store import SqliteStore
from support.clocks import FixedClock
from support.memories import EVERYTHING, a_memory
from support.sqlite_writes import adding, contents, held, submit
from support.stores import add, listed
from support.vfs import PATIENCE
from support.waiting import until

COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {limit}) SELECT COUNT(*) FROM n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with a single reader."""
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), readers=1)) as store:
        yield store


# Deadlines.


class HastyClock(FixedClock):
    """Every look takes ten milliseconds."""

    def monotonic(self) -> float:
        self._monotonic += 0.01
        return self._monotonic


@pytest.fixture
def hasty(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "hasty.db", clock=HastyClock(monotonic=0.0), readers=1)) as store:
        yield store


def test_a_read_that_takes_longer_than_its_deadline_is_ended_and_its_reader_is_fine(hasty: SqliteStore) -> None:
    add(hasty, a_memory("new"))
    with hasty.read(10.0) as view:
        assert isinstance(view, SqliteView)
        with pytest.raises(Expired):
            view.rows(COUNTING.format(limit=-1))
    assert contents(hasty) == ["new"]


def test_a_deadline_holds_for_its_own_snapshot_only(hasty: SqliteStore) -> None:
    with hasty.read(10.0):
        pass
    with hasty.read() as view:
        assert isinstance(view, SqliteView)
        assert view.rows(COUNTING.format(limit=1_000_000)) == [(1_000_000,)]


def test_waiting_for_a_reader_past_the_deadline_is_expired(hasty: SqliteStore) -> None:
    with hasty.read(), pytest.raises(Expired, match="readers stayed busy"), hasty.read(0.001):
        pass
    assert contents(hasty) == []


def test_a_walk_that_was_not_finished_does_not_keep_its_reader_in_the_past(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.storage.sql.embeddings._BATCH", 1)

    def embed(tx: Transaction) -> None:
        model = tx.register_model("m", 1)
        for _ in range(3):
            (chunk,) = tx.chunks(adding("embedded")(tx).key)
            tx.put_vectors(model, {chunk.passages[0]: np.ones(1, dtype=np.float32)})

    store.write(embed)
    with store.read() as view:
        model = view.model_key("m")
        assert model is not None
        walk = view.all_embedded(model)
        next(walk)
    with store.read() as view:
        before = view.change_cursor().number
    add(store, a_memory("new"))
    with store.read() as view:
        assert view.change_cursor().number == before + 1
    with pytest.raises(Unavailable, match="has ended"):
        list(walk)


# The end.


def test_a_view_is_over_with_its_snapshot_and_a_transaction_with_its_unit(store: SqliteStore) -> None:
    add(store, a_memory("new"))
    with store.read() as view:
        pass
    transaction = store.write(lambda tx: tx)
    with pytest.raises(Unavailable, match="has ended"):
        view.page(EVERYTHING, None, 10)
    with pytest.raises(Unavailable, match="has ended"):
        transaction.add(a_memory("too late"), ())
    assert contents(store) == ["new"]


def test_every_write_that_waits_at_the_end_is_stored_or_refused(tmp_path: Path, store: SqliteStore) -> None:
    accepted: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:
        with held(store):
            accepted += [submit(store, adding("waiting")) for _ in range(5)]
            closing_it = pool.submit(store.close)
            with pytest.raises(Unavailable, match="closed"):
                accepted.extend(submit(store, adding("waiting")) for _ in count())
        assert all(isinstance(one.result(PATIENCE), Stored) for one in accepted)
        closing_it.result(PATIENCE)
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock())) as again:
        assert len(again.check()) == 0
        with again.read() as view:
            assert len(view.matching_keys(EVERYTHING)) == len(accepted)


def test_a_closed_store_says_so_and_leaves_one_file(tmp_path: Path, store: SqliteStore) -> None:
    add(store, a_memory("new"))
    assert contents(store) == ["new"]
    store.close()
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        add(store, a_memory("too late"))
    with pytest.raises(Unavailable, match="closed"), store.read():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["hivelore.db"]


def test_waiting_for_a_reader_of_a_closed_store_is_unavailable(store: SqliteStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        with store.read():
            waiting = [pool.submit(listed, store) for _ in range(3)]
            closing_it = pool.submit(store.close)
            assert store._closed.wait(PATIENCE)
        closing_it.result(PATIENCE)
        for one in waiting:
            with pytest.raises(Unavailable, match="closed"):
                one.result(PATIENCE)


# What nobody foresaw.


def no_memory() -> None:
    raise MemoryError("no memory")


def test_an_unexpected_error_is_raised_and_the_next_write_succeeds(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store._writer, "_verify", no_memory)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(MemoryError, match="no memory"):
            submit(store, adding("lost")).result(PATIENCE)
    add(store, a_memory("after"))
    assert contents(store) == ["after"]


def test_the_log_is_copied_again_after_an_unexpected_error(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_store, "CHECKPOINT_EVERY", 0.01)
    copies = store._checkpoints  # pyright: ignore[reportPrivateUsage]
    with monkeypatch.context() as patch:
        patch.setattr(copies, "_verify", no_memory)
        until(lambda: "no memory" in caplog.text)
    looks: list[None] = []
    monkeypatch.setattr(copies, "_verify", lambda: looks.append(None))
    until(lambda: bool(looks))
    assert caplog.text.count("no memory") == 1
