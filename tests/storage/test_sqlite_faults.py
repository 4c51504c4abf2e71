"""The SQLite store on a disk that fails or may only be read, and together with other programs."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import enumerate as threads

import apsw
import pytest

from hivelore.errors import Expired, Unavailable
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import Transaction
from hivelore.storage.sqlite import store as sqlite_store
from hivelore.storage.sqlite.connection import connect, rows, run_script
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import EVERYTHING, a_memory
from support.sqlite_writes import adding, contents, held, submit
from support.stores import add, listed
from support.vfs import PATIENCE, Deed, Disk, Kind

LONGER_THAN_THE_CACHE = "Nobody reads this far. " * 800_000
"""SQLite has to write out pages of this before its unit is done."""


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


# The disk.

WRITE_FAULTS = [
    (Deed.WRITE, Kind.LOG, apsw.FullError, "disk is full"),
    (Deed.WRITE, Kind.LOG, apsw.IOError, "failed to read or write"),
    (Deed.SYNC, Kind.LOG, apsw.IOError, "failed to read or write"),
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
def test_every_write_of_a_failed_group_raises(
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
    """An error that a transaction of these tests raises."""


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
    ("work", "expected"),
    [(fail, Unavailable), (go_on, Unavailable), (pretend, Unavailable), (complain, Mistake)],
)
def test_a_disk_failure_inside_a_unit_rolls_back_the_group(
    store: SqliteStore, disk: Disk, error: type[apsw.Error], work: Callable[[Transaction], object], expected: type
) -> None:
    add(store, a_memory("before"))
    with disk.failing(Deed.WRITE, Kind.LOG, error) as fault:
        with held(store):
            first, failing, last = submit(store, adding("first")), submit(store, work), submit(store, adding("last"))
        with pytest.raises(expected):
            failing.result(PATIENCE)
        for other in (first, last):
            with pytest.raises(Unavailable):
                other.result(PATIENCE)
    assert fault.met
    assert contents(store) == ["before"]
    add(store, a_memory("after"))
    assert contents(store) == ["after", "before"]


def test_a_read_that_the_disk_refuses_says_so_and_the_next_one_is_fine(store: SqliteStore, disk: Disk) -> None:
    with disk.failing(Deed.READ, Kind.DATABASE, apsw.IOError), pytest.raises(Unavailable, match="failed to read"):
        listed(store)
    assert listed(store) == []
    add(store, a_memory("new"))
    with disk.failing(Deed.READ, Kind.LOG, apsw.IOError), pytest.raises(Unavailable, match="failed to read"):
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
    monkeypatch.setattr(sqlite_store, "CHECKPOINT_EVERY", 0.002)
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), vfs=disk.name)) as store:
        with disk.failing(deed, kind, error) as fault:
            add(store, a_memory("new"))
            disk.wait_until(lambda: fault.met >= 2)
        before = disk.count[Deed.SYNC, Kind.DATABASE]
        disk.wait_until(lambda: disk.count[Deed.SYNC, Kind.DATABASE] > before)
        assert contents(store) == ["new"]


def test_copying_a_small_log_never_waits_for_readers(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "CHECKPOINT_EVERY", 0.001)
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


def test_a_new_database_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be opened"):
        SqliteStore(tmp_path / "gone" / "hivelore.db", clock=SystemClock())
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


def test_a_lock_of_another_program_is_waited_for_and_then_passes(tmp_path: Path) -> None:
    class Hasty(Disk):
        def xSleep(self, microseconds: int) -> int:
            return microseconds

    path, disk = tmp_path / "hivelore.db", Hasty()
    with closing(SqliteStore(path, clock=SystemClock(), vfs=disk.name)) as store:
        with closing(apsw.Connection(str(path))) as other:
            run_script(other, "BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked by another program"):
                add(store, a_memory("refused"))
        add(store, a_memory("after"))
        assert contents(store) == ["after"]
    disk.unregister()


def test_a_script_goes_on_behind_a_statement_that_answers_rows(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "some.db")) as connection:
        run_script(connection, "PRAGMA journal_mode = WAL; SELECT 1 UNION SELECT 2; CREATE TABLE t (x)")
        assert list(rows(connection, "SELECT name FROM sqlite_schema")) == [("t",)]
