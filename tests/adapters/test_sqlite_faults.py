"""The SQLite store on a disk that fails, beside other programs, past its deadlines, and while it closes."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event
from threading import enumerate as threads

import apsw
import numpy as np
import pytest

from hivelore.adapters.clock import SystemClock
from hivelore.adapters.sqlite import store as sqlite
from hivelore.adapters.sqlite.connection import connect, rows, run_script
from hivelore.adapters.sqlite.store import SqliteStore
from hivelore.adapters.sqlite.view import SqliteView
from hivelore.domain.index import Stored
from hivelore.errors import Conflict, Expired, Unavailable
from hivelore.ports import Transaction
from support.clocks import FixedClock
from support.memories import EVERYTHING, a_memory, whole
from support.stores import add, listed
from support.vfs import PATIENCE, Deed, Disk, Kind

LONGER_THAN_THE_CACHE = "Nobody reads this far. " * 800_000
"""SQLite has to write out pages of this before its unit is done."""
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {limit}) SELECT COUNT(*) FROM n"
Work = Callable[[Transaction], Stored]


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[SqliteStore]:
    """A store with a single reader."""
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), readers=1, vfs=disk.name)) as store:
        yield store


def contents(store: SqliteStore) -> list[str]:
    """What is remembered, newest id first; the store is sound."""
    assert list(store.check()) == []
    return [memory.content for memory in listed(store)]


def adding(content: str) -> Work:
    return lambda tx: tx.add(a_memory(content), whole(content))


@contextmanager
def held(store: SqliteStore) -> Generator[None]:
    """Keep the writer busy: what is submitted meanwhile becomes one group, and runs afterwards."""
    busy, over = Event(), Event()

    def hold(tx: Transaction) -> None:
        busy.set()
        assert over.wait(PATIENCE)

    holding = submit(store, hold)
    assert busy.wait(PATIENCE)
    try:
        yield
    finally:
        over.set()
        holding.result(PATIENCE)


def submit(store: SqliteStore, work: Callable[[Transaction], object], deadline: float | None = None) -> Future[object]:
    """What ``write`` does, without waiting for the answer."""
    return store._writer.submit(work, deadline)


# The disk.

WRITE_FAULTS = [
    (Deed.WRITE, Kind.LOG, apsw.FullError, "disk is full"),
    (Deed.WRITE, Kind.LOG, apsw.IOError, "refused to read or write"),
    (Deed.SYNC, Kind.LOG, apsw.IOError, "refused to read or write"),
]


@pytest.mark.parametrize(("deed", "kind", "error", "words"), WRITE_FAULTS)
def test_a_write_that_the_disk_refuses_says_so_and_leaves_nothing(
    store: SqliteStore, disk: Disk, deed: Deed, kind: Kind, error: type[apsw.Error], words: str
) -> None:
    add(store, a_memory("before"))
    with disk.failing(deed, kind, error) as fault:
        for _ in range(3):
            with pytest.raises(Unavailable, match=words):
                add(store, a_memory("refused"))
        assert contents(store) == ["before"]
    assert fault.met >= 3
    add(store, a_memory("after"))
    assert contents(store) == ["after", "before"]


@pytest.mark.parametrize(("deed", "kind", "error", "words"), WRITE_FAULTS)
def test_everybody_in_a_group_that_the_disk_refuses_is_told_the_truth(
    store: SqliteStore, disk: Disk, deed: Deed, kind: Kind, error: type[apsw.Error], words: str
) -> None:
    with disk.failing(deed, kind, error):
        with held(store):
            first, second = submit(store, adding("first")), submit(store, adding("second"))
            mistaken, late = submit(store, mistake), submit(store, adding("late"), -1.0)
        for refused in (first, second):
            with pytest.raises(Unavailable, match=words):
                refused.result(PATIENCE)
        with pytest.raises(Mistake):
            mistaken.result(PATIENCE)
        with pytest.raises(Expired):
            late.result(PATIENCE)
    assert contents(store) == []


class Mistake(Exception):
    """What a unit of work of these tests raises."""


def mistake(tx: Transaction) -> None:
    adding("mistaken")(tx)
    raise Mistake


def test_a_unit_that_fails_undoes_only_itself(store: SqliteStore) -> None:
    with held(store):
        first, mistaken = submit(store, adding("first")), submit(store, mistake)
        second = submit(store, adding("second"))
        late = submit(store, adding("late"), -1.0)
    assert first.result(PATIENCE)
    assert second.result(PATIENCE)
    with pytest.raises(Mistake):
        mistaken.result(PATIENCE)
    with pytest.raises(Expired):
        late.result(PATIENCE)
    assert contents(store) == ["second", "first"]


def fail(tx: Transaction) -> None:
    adding(LONGER_THAN_THE_CACHE)(tx)


def go_on(tx: Transaction) -> None:
    with suppress(Unavailable):
        fail(tx)
    adding("instead")(tx)


def pretend(tx: Transaction) -> None:
    with suppress(Unavailable):
        fail(tx)


def complain(tx: Transaction) -> None:
    try:
        fail(tx)
    except Unavailable as error:
        raise Mistake from error


@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError])
@pytest.mark.parametrize(
    ("work", "told"),
    [(fail, Unavailable), (go_on, Unavailable), (pretend, Unavailable), (complain, Mistake)],
)
def test_a_disk_that_fails_in_the_middle_of_a_unit_undoes_the_group_whatever_the_unit_makes_of_it(
    store: SqliteStore, disk: Disk, error: type[apsw.Error], work: Callable[[Transaction], object], told: type
) -> None:
    add(store, a_memory("before"))
    with disk.failing(Deed.WRITE, Kind.LOG, error) as fault:
        with held(store):
            first, failing, last = submit(store, adding("first")), submit(store, work), submit(store, adding("last"))
        with pytest.raises(told):
            failing.result(PATIENCE)
        for other in (first, last):
            with pytest.raises(Unavailable):
                other.result(PATIENCE)
    assert fault.met
    assert contents(store) == ["before"]
    add(store, a_memory("after"))
    assert contents(store) == ["after", "before"]


def test_a_read_that_the_disk_refuses_says_so_and_the_next_one_is_fine(store: SqliteStore, disk: Disk) -> None:
    with disk.failing(Deed.READ, Kind.DATABASE, apsw.IOError), pytest.raises(Unavailable, match="refused to read"):
        listed(store)
    assert listed(store) == []
    add(store, a_memory("new"))
    with disk.failing(Deed.READ, Kind.LOG, apsw.IOError), pytest.raises(Unavailable, match="refused to read"):
        listed(store)
    assert contents(store) == ["new"]


def test_an_error_of_the_disk_within_a_snapshot_is_ours_at_once(store: SqliteStore, disk: Disk) -> None:
    add(store, a_memory("new"))
    with store.read() as view, disk.failing(Deed.READ, Kind.LOG, apsw.IOError), pytest.raises(Unavailable):
        view.page(EVERYTHING, None, 10)


@pytest.mark.parametrize(
    ("deed", "kind", "error"),
    [
        (Deed.WRITE, Kind.DATABASE, apsw.FullError),
        (Deed.SYNC, Kind.DATABASE, apsw.IOError),
        (Deed.READ, Kind.LOG, apsw.CorruptError),
    ],
)
def test_a_log_that_cannot_be_copied_now_is_copied_later(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch, deed: Deed, kind: Kind, error: type[apsw.Error]
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_EVERY", 0.002)
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs=disk.name)) as store:
        with disk.failing(deed, kind, error) as fault:
            add(store, a_memory("new"))
            disk.wait_until(lambda: fault.met >= 2)
        done = len(disk.steps)
        disk.wait_until(lambda: any(one.deed is Deed.SYNC and one.kind is Kind.DATABASE for one in disk.steps[done:]))
        assert contents(store) == ["new"]


def test_copying_the_log_never_waits_for_readers_and_so_never_holds_up_writers(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_EVERY", 0.001)
    monkeypatch.setattr(sqlite, "WAL_LIMIT", 0)
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs=disk.name)) as store:
        add(store, a_memory())
        with store.read():
            for _ in range(30):
                add(store, a_memory())
    assert "hivelore-checkpoints" not in disk.sleepers


# Who may write, and what lies there.


def test_a_database_that_may_only_be_read_is_refused_at_once_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "hivelore.db"
    with closing(SqliteStore(path, clock=SystemClock())) as store:
        add(store, a_memory("kept"))
    before, running = path.read_bytes(), set(threads())
    disk = Disk(read_only=True)
    with pytest.raises(Unavailable, match="cannot be") as refused:
        SqliteStore(path, clock=SystemClock(), vfs=disk.name)
    assert refused.value.__traceback__ is not None  # which keeps alive what was not closed
    assert (disk.open, set(threads())) == (0, running)
    disk.unregister()
    assert path.read_bytes() == before
    with closing(SqliteStore(path, clock=SystemClock())) as store:
        assert contents(store) == ["kept"]


def test_a_new_database_in_a_folder_that_may_only_be_read_is_refused(tmp_path: Path) -> None:
    disk = Disk(read_only=True)
    with pytest.raises(Unavailable, match="cannot be opened"):
        SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs=disk.name)
    disk.unregister()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [Kind.JOURNAL, Kind.DATABASE, Kind.LOG])
def test_a_store_that_cannot_be_made_leaves_nothing_running_and_can_be_made_later(
    tmp_path: Path, disk: Disk, kind: Kind
) -> None:
    path, running = tmp_path / "hivelore.db", set(threads())
    with (
        disk.failing(Deed.WRITE, kind, apsw.FullError) as fault,
        pytest.raises(Unavailable, match="disk is full") as refused,
    ):
        SqliteStore(path, clock=SystemClock(), vfs=disk.name)
    assert fault.met
    assert refused.value.__traceback__ is not None  # which keeps alive what was not closed
    assert (disk.open, set(threads())) == (0, running)
    with closing(SqliteStore(path, clock=SystemClock(), vfs=disk.name)) as store:
        add(store, a_memory("new"))
        assert contents(store) == ["new"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="its folder must exist"):
        SqliteStore(tmp_path / "nowhere" / "hivelore.db", clock=SystemClock())


def test_a_file_system_without_shared_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="network drive"):
        SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs="unix-dotfile")


# Other programs.


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_the_first_statement_of_a_connection_waits_for_a_lock(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "some.db"
    with closing(apsw.Connection(str(path))) as holder:
        run_script(holder, f"PRAGMA journal_mode = {mode}; CREATE TABLE t (x)")
        run_script(holder, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)")

        class LettingGo(Disk):
            def xSleep(self, microseconds: int) -> int:
                holder.close()
                return super().xSleep(microseconds)

        disk = LettingGo()
        with closing(connect(path, vfs=disk.name)) as connection:
            assert disk.sleepers
            assert list(rows(connection, "SELECT COUNT(*) FROM t")) == [(0,)]
        disk.unregister()


def test_a_script_goes_on_behind_a_statement_that_answers_rows(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "some.db")) as connection:
        run_script(connection, "PRAGMA journal_mode = WAL; SELECT 1 UNION SELECT 2; CREATE TABLE t (x)")
        assert list(rows(connection, "SELECT name FROM sqlite_schema")) == [("t",)]


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


def test_who_waits_for_a_reader_past_the_deadline_is_told(hasty: SqliteStore) -> None:
    with hasty.read(), pytest.raises(Expired, match="readers stayed busy"), hasty.read(0.001):
        pass
    assert contents(hasty) == []


def test_a_walk_that_was_not_finished_does_not_keep_its_reader_in_the_past(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.adapters.sqlite.view._BATCH", 1)

    def embed(tx: Transaction) -> None:
        model = tx.register_model("m", 1)
        for _ in range(3):
            (chunk,) = tx.chunks(adding("embedded")(tx).key)
            tx.put_vectors(model, {chunk.passages[0]: np.ones(1, dtype=np.float32)})

    store.write(embed)
    with store.read() as view:
        model = view.model("m")
        assert model is not None
        walk = view.all_embedded(model)
        next(walk)
    with store.read() as view:
        before = view.last_change()
    add(store, a_memory("new"))
    with store.read() as view:
        assert view.last_change() == before + 1
    with pytest.raises(Unavailable, match="is over"):
        list(walk)


# The end.


def test_a_view_is_over_with_its_snapshot_and_a_transaction_with_its_unit(store: SqliteStore) -> None:
    add(store, a_memory("new"))
    with store.read() as view:
        pass
    transaction = store.write(lambda tx: tx)
    with pytest.raises(Unavailable, match="is over"):
        view.page(EVERYTHING, None, 10)
    with pytest.raises(Unavailable, match="is over"):
        transaction.add(a_memory("too late"), ())
    assert contents(store) == ["new"]


def test_every_write_that_waits_at_the_end_is_stored_or_told(tmp_path: Path, store: SqliteStore) -> None:
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
            assert len(view.matching(EVERYTHING)) == len(accepted)


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


def test_whoever_waits_for_a_reader_at_the_end_is_told(store: SqliteStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        with store.read():
            waiting = [pool.submit(listed, store) for _ in range(3)]
            closing_it = pool.submit(store.close)
            assert store._closed.wait(PATIENCE)
        closing_it.result(PATIENCE)
        for one in waiting:
            with pytest.raises(Unavailable, match="closed"):
                one.result(PATIENCE)


def test_a_conflict_is_a_conflict_inside_a_unit_and_outside_of_it(store: SqliteStore) -> None:
    memory = add(store, a_memory()).memory
    with pytest.raises(Conflict):
        add(store, memory)

    def work(tx: Transaction) -> None:
        with pytest.raises(Conflict):
            tx.add(memory, ())

    store.write(work)
