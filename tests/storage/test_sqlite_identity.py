"""A database that is removed, replaced or restored under a running store is noticed before a write is acknowledged."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hivelore.errors import Broken, Unavailable
from hivelore.health.model import Cause
from hivelore.runtime.clock import SystemClock
from hivelore.storage.sqlite.connection import run_script
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import a_memory
from support.sqlite_writes import contents
from support.stores import add

FILE = "hivelore.db"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / FILE


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    file.parent.mkdir()
    with closing(SqliteStore(file, clock=SystemClock(), readers=2)) as store:
        add(store, a_memory("before"))
        yield store


def made(file: Path, *texts: str) -> Path:
    """Another database, closed."""
    file.parent.mkdir(exist_ok=True)
    with closing(SqliteStore(file, clock=SystemClock())) as other:
        for text in texts:
            add(other, a_memory(text))
    return file


def copied(source: Path, target: Path) -> Path:
    """Copies a database in transactions, like the tools of SQLite for backups."""
    # By the library of the store: another one would take its locks away, which are those of the process.
    one, other = apsw.Connection(str(source)), apsw.Connection(str(target))
    with closing(one), closing(other), other.backup("main", one, "main") as backup:
        backup.step()
    return target


def written_over(source: Path, target: Path) -> None:
    """Overwrites a file like cp."""
    target.write_bytes(source.read_bytes())


def files_removed(file: Path, other: Path) -> None:
    for one in list(file.parent.iterdir()):
        one.unlink()


def folder_removed(file: Path, other: Path) -> None:
    shutil.rmtree(file.parent)


def moved_away(file: Path, other: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def replaced(file: Path, other: Path) -> None:
    shutil.copy(other, file.with_name("new"))
    file.with_name("new").replace(file)


def log_removed(file: Path, other: Path) -> None:
    file.with_name(f"{FILE}-wal").unlink()


DEEDS = [files_removed, folder_removed, moved_away, replaced, log_removed]


@pytest.mark.parametrize("deed", DEEDS)
def test_no_write_is_acknowledged_after_the_files_were_replaced(
    store: SqliteStore, file: Path, tmp_path: Path, deed: Callable[[Path, Path], None]
) -> None:
    deed(file, made(tmp_path / "other" / FILE, "another"))
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"removed, replaced or restored.*hivelore stop") as refused:
            add(store, a_memory("lost"))
        assert refused.value.cause == Cause.REPLACED
        with pytest.raises(Unavailable, match="removed, replaced or restored"):
            store.verify()


def test_a_write_during_which_the_file_is_removed_is_not_acknowledged(store: SqliteStore, file: Path) -> None:
    def remove_file(tx: object) -> None:
        file.unlink()

    with pytest.raises(Unavailable, match="removed, replaced or restored"):
        store.write(remove_file)


def test_it_goes_on_once_the_same_file_is_back(store: SqliteStore, file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    with pytest.raises(Unavailable):
        add(store, a_memory("refused"))
    file.with_name("elsewhere").rename(file)
    add(store, a_memory("after"))
    store.verify()
    assert sorted(contents(store)) == ["after", "before"]


@pytest.mark.parametrize("way", [copied, written_over])
@pytest.mark.parametrize("of", ["another", "a former one"])
def test_a_restore_into_the_same_file_is_detected_by_content(
    store: SqliteStore, file: Path, tmp_path: Path, of: str, way: Callable[[Path, Path], object]
) -> None:
    backup = copied(file, tmp_path / "backup")
    add(store, a_memory("later"))
    store.verify()
    store.purge_log()
    way(backup if of == "a former one" else made(tmp_path / "other" / FILE, *"another"), file)
    with pytest.raises(Unavailable, match="removed, replaced or restored"):
        store.verify()
    with pytest.raises(Unavailable, match="removed, replaced or restored"):
        add(store, a_memory("lost"))


def test_ending_leaves_the_files_alone_that_came_in_place_of_ours(
    store: SqliteStore, file: Path, tmp_path: Path
) -> None:
    running = SqliteStore(tmp_path / FILE, clock=SystemClock())
    add(running, a_memory("only in the log"))
    copies = {name: (tmp_path / f"{FILE}{name}").read_bytes() for name in ("", "-wal")}
    running.close()
    files_removed(file, file)
    for name, content in copies.items():
        file.with_name(f"{FILE}{name}").write_bytes(content)
    store.close()
    assert {name: file.with_name(f"{FILE}{name}").read_bytes() for name in copies} == copies
    with closing(SqliteStore(file, clock=SystemClock())) as after:
        assert contents(after) == ["only in the log"]


@pytest.mark.parametrize("way", [replaced, written_over, copied])
@pytest.mark.parametrize("is_noticed_before", [True, False])
def test_the_next_start_finds_the_restored_database(
    store: SqliteStore, file: Path, tmp_path: Path, way: Callable[[Path, Path], object], is_noticed_before: bool
) -> None:
    backup = copied(file, tmp_path / "backup")
    for number in range(50):
        add(store, a_memory(f"later {number}"))
    store.verify()
    with store._checkpoints._running:  # pyright: ignore[reportPrivateUsage]
        store._checkpoints._copy()  # pyright: ignore[reportPrivateUsage]
    way(*((file, backup) if way is replaced else (backup, file)))
    if is_noticed_before:
        with pytest.raises(Unavailable):
            store.verify()
    store.close()
    with closing(SqliteStore(file, clock=SystemClock())) as after:
        assert contents(after) == ["before"]
        assert after.check() == []


def test_concurrent_checks_do_not_report_a_replacement(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = store._identity  # pyright: ignore[reportPrivateUsage]
    assert identity is not None
    look, others = identity._content, list[threading.Thread]()  # pyright: ignore[reportPrivateUsage]

    def slowly() -> tuple[str | None, int]:
        found = look()
        if not others:
            others.append(threading.Thread(target=store.verify))
            add(store, a_memory("meanwhile"))
            others[0].start()
            others[0].join(0.2)
        return found

    monkeypatch.setattr(identity, "_content", slowly)
    store.verify()
    others[0].join()
    store.verify()


def test_a_database_of_another_program_counts_as_another(store: SqliteStore, file: Path, tmp_path: Path) -> None:
    store.purge_log()
    with closing(apsw.Connection(str(tmp_path / "theirs"))) as theirs:
        run_script(theirs, "CREATE TABLE theirs (a)")
    written_over(tmp_path / "theirs", file)
    with pytest.raises(Unavailable, match="removed, replaced or restored"):
        store.verify()


def test_upkeep_does_not_report_a_replacement(store: SqliteStore) -> None:
    for number in range(20):
        add(store, a_memory(f"memory {number}"))
        store.verify()
    store.vacuum()
    store.purge_log()
    assert store.check() == []
    add(store, a_memory("after"))
    store.verify()


@pytest.mark.parametrize("content", [None, b""])
def test_a_required_database_is_not_created(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / FILE
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Broken, match="HIVELORE_NEW_DATABASE=1"):
        SqliteStore(file, clock=SystemClock(), may_create=False)
    assert file.exists() is (content is not None)
    made(file, "kept")
    with closing(SqliteStore(file, clock=SystemClock(), may_create=False)) as store:
        assert contents(store) == ["kept"]
