"""Migrations of a SQLite file. Files of other programs are not touched."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from hivelore.core.values import replace
from hivelore.errors import Broken, HiveloreError
from hivelore.runtime.clock import SystemClock
from hivelore.storage.sql import migrations
from hivelore.storage.sql.migrations import Migration
from hivelore.storage.sqlite.connection import APPLICATION_ID, connect, our_errors, rows, run_script
from hivelore.storage.sqlite.migrations import migrate, shipped
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import a_memory
from support.stores import add, listed
from support.vfs import Disk

MADE_UP = [
    Migration(1, "CREATE TABLE one (x); INSERT INTO one VALUES (1);"),
    Migration(2, "SELECT 1; ALTER TABLE one ADD COLUMN y; CREATE TABLE two (x); INSERT INTO two SELECT x FROM one;"),
    Migration(3, "DROP TABLE one; CREATE TABLE three (x); INSERT INTO three SELECT x FROM two;"),
]


def apply(path: Path, scripts: Sequence[Migration], vfs: str | None = None) -> int:
    with closing(connect(path, vfs=vfs)) as connection, our_errors():
        return migrate(connection, list(scripts))


def everything(path: Path) -> list[tuple[object, ...]]:
    """The schema and every row of every ordinary table."""
    with closing(connect(path)) as connection:
        schema = list(rows(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"))
        tables = [name for kind, name, *_ in schema if kind == "table" and not name.startswith("sqlite_stat4")]
        kept = [(name, *row) for name in tables for row in rows(connection, f'SELECT * FROM "{name}"')]
        return [*schema, *kept, *rows(connection, "PRAGMA application_id")]


def test_the_shipped_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [migration.number for migration in shipped()] == list(range(1, len(shipped()) + 1))
    assert shipped()


def test_an_installation_that_lost_a_migration_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "migrations").mkdir()
    for name in ("0001_first.sql", "0003_third.sql", "README.md"):
        (tmp_path / "migrations" / name).write_text("SELECT 1;")
    monkeypatch.setattr(migrations, "files", {"hivelore.storage.sqlite": tmp_path}.__getitem__)
    with pytest.raises(Broken, match="a migration is missing"):
        shipped()


@pytest.mark.parametrize("scripts", [MADE_UP, shipped()], ids=["made up", "shipped"])
def test_a_database_that_grew_step_by_step_is_as_a_fresh_one(tmp_path: Path, scripts: list[Migration]) -> None:
    for number in range(1, len(scripts) + 1):
        assert apply(tmp_path / "grown.db", scripts[:number]) == 1
    assert apply(tmp_path / "fresh.db", scripts) == len(scripts)
    assert everything(tmp_path / "grown.db") == everything(tmp_path / "fresh.db")


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    apply(path, MADE_UP)
    before = path.read_bytes()
    assert apply(path, MADE_UP) == 0
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "hivelore.db"
    path.touch()
    with closing(SqliteStore(path, clock=SystemClock())) as store:
        add(store, a_memory())
        assert list(store.check()) == []


def test_a_migration_that_fails_is_undone_alone_and_can_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    failing = replace(MADE_UP[2], script=MADE_UP[2].script + "INSERT INTO nowhere VALUES (1);")
    with pytest.raises(HiveloreError, match="nowhere"):
        apply(path, [*MADE_UP[:2], failing])
    apply(tmp_path / "two.db", MADE_UP[:2])
    assert everything(path) == everything(tmp_path / "two.db")
    assert apply(path, MADE_UP) == 1


def test_a_power_cut_leaves_the_migrations_before_it_and_the_rest_can_follow(tmp_path: Path) -> None:
    disk = Disk()
    stages: list[list[tuple[object, ...]]] = []
    for number in range(len(MADE_UP) + 1):
        apply(tmp_path / "stages.db", MADE_UP[:number])
        stages.append(everything(tmp_path / "stages.db"))
    apply(tmp_path / "some.db", MADE_UP, disk.name)
    chance = Random(11)
    reached: set[int] = set()
    for at in range(len(disk.steps), -1, -3):
        folder = tmp_path / str(at)
        folder.mkdir()
        for name, content in disk.after_power_cut(at, chance).items():
            (folder / name).write_bytes(content)
        reached.add(stages.index(everything(folder / "some.db")))
        apply(folder / "some.db", MADE_UP)
        assert everything(folder / "some.db") == stages[-1]
    disk.unregister()
    assert reached == set(range(len(stages)))


# Files of other programs.


def made_by_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);")


def made_by_another_program_with_a_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x); PRAGMA user_version = 7;")


def named_by_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA application_id = 123; VACUUM;")


def with_our_name_and_nothing_else_of_ours(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA application_id = {APPLICATION_ID}; CREATE TABLE theirs (x);")


def of_a_newer_version(path: Path) -> None:
    SqliteStore(path, clock=SystemClock()).close()
    apply(path, [*shipped(), Migration(len(shipped()) + 1, "CREATE TABLE future (x);")])


def with_another_first_migration(path: Path) -> None:
    apply(path, [replace(shipped()[0], script=shipped()[0].script + "\n-- changed"), *shipped()[1:]])


def of_text(path: Path) -> None:
    path.write_text("This is no database, whatever its name says.\n" * 100)


def of_few_bytes(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (made_by_another_program, "of another program"),
        (made_by_another_program_with_a_log, "of another program"),
        (named_by_another_program, "of another program"),
        (with_our_name_and_nothing_else_of_ours, "no such table"),
        (of_a_newer_version, "written by a newer Hivelore"),
        (with_another_first_migration, "differs from the one of this Hivelore"),
        (of_text, "damaged, or the file is not a database"),
        (of_few_bytes, "damaged, or the file is not a database"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "hivelore.db"
    make(path)
    before = path.read_bytes()
    disk = Disk()
    with pytest.raises(Broken, match=words) as refused:
        SqliteStore(path, clock=SystemClock(), vfs=disk.name)
    assert refused.value.__traceback__ is not None  # which keeps alive what was not closed
    assert disk.open == 0
    disk.unregister()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["hivelore.db"]


def test_writes_left_in_the_log_by_a_crash_are_found(tmp_path: Path) -> None:
    path, crashed = tmp_path / "hivelore.db", tmp_path / "crashed.db"
    with closing(SqliteStore(path, clock=SystemClock())) as store:
        memory = add(store, a_memory()).memory
        for ending in ("", "-wal"):
            Path(f"{crashed}{ending}").write_bytes(Path(f"{path}{ending}").read_bytes())
    with closing(SqliteStore(crashed, clock=SystemClock())) as store:
        assert listed(store) == [memory]


def test_the_first_migration_is_applied_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with pytest.raises(HiveloreError):
        apply(path, [replace(MADE_UP[0], script=MADE_UP[0].script + "SELECT nothing;")])
    with closing(connect(path)) as connection:
        assert list(rows(connection, "SELECT * FROM sqlite_schema")) == []
        assert list(rows(connection, "PRAGMA application_id")) == [(0,)]
        run_script(connection, "VACUUM")
    assert apply(path, MADE_UP) == 3
