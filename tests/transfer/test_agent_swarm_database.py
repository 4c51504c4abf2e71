"""Reading databases of Agent Swarm, hostile ones included."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hivelore.errors import Broken, Invalid, TooLarge, Unavailable
from hivelore.transfer.agent_swarm import database
from hivelore.transfer.agent_swarm.database import read_tables
from hivelore.transfer.agent_swarm.detection import is_database
from hivelore.transfer.agent_swarm.model import FIELD_BYTES, TableName, Unreadable
from support.agent_swarm import ADA, ADDED, AGENTS, CONFIG, entry, make, program

ONE_AGENT = {"agents": [{"id": ADA, "name": "ada", "role": "reviewer"}]}


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.mark.parametrize("age", range(len(ADDED) + 1))
def test_columns_that_an_early_version_lacks_are_missing(tmp_path: Path, age: int) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT, added=ADDED[:age])
    (row,) = read_tables(path)[TableName.AGENTS].rows
    assert row["role"] == "reviewer"
    assert {*row} == {"id", "name", "role", "description", "capabilities", *ADDED[:age]}


def test_tables_that_an_early_version_lacks_are_missing(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT, schema=[AGENTS], added=())
    assert [*read_tables(path)] == [TableName.AGENTS]


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_closed_database_is_read_without_a_trace(tmp_path: Path, journal: str) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
    before = contents(tmp_path)
    tmp_path.chmod(0o500)
    try:
        assert len(read_tables(path)[TableName.AGENTS].rows) == 1
    finally:
        tmp_path.chmod(0o700)
    assert contents(tmp_path) == before


ADD_BOB = "INSERT INTO agents (id, name) VALUES ('bob', 'bob')"


def test_what_a_running_program_has_only_in_its_log_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with program(path, "PRAGMA journal_mode = WAL", ADD_BOB):
        before = (path.read_bytes(), Path(f"{path}-wal").read_bytes())
        assert b"bob" not in before[0]
        assert [row["name"] for row in read_tables(path)[TableName.AGENTS].rows] == ["ada", "bob"]
        assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before


def test_a_log_that_a_killed_program_left_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    left = tmp_path / "left"
    left.mkdir()
    with program(path, "PRAGMA journal_mode = WAL", ADD_BOB):
        for suffix in ("", "-wal"):
            (left / f"swarm.sqlite{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    before = contents(left)
    assert len(read_tables(left / "swarm.sqlite")[TableName.AGENTS].rows) == 2
    after = contents(left)
    after.pop("swarm.sqlite-shm", None)  # The index of the log, which every reader makes if it is missing.
    assert after == before


def test_a_locked_database_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with program(path, "BEGIN EXCLUSIVE"), pytest.raises(Unavailable, match="locked by another program"):
        read_tables(path)


def test_a_change_that_was_not_finished_is_reported(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    left = tmp_path / "left"
    left.mkdir()
    with program(path, "PRAGMA cache_size = 1", "BEGIN", "UPDATE agents SET soulMd = hex(zeroblob(100000))"):
        for suffix in ("", "-journal"):
            (left / f"swarm.sqlite{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    with pytest.raises((Invalid, Broken)):
        read_tables(left / "swarm.sqlite")


def test_files_that_are_no_database_are_told_apart(tmp_path: Path) -> None:
    lines = tmp_path / "memories.jsonl"
    lines.write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for name in ("memories.jsonl", "pipe", "empty", "missing", ".", "a\0b"):
        assert not is_database(tmp_path / name)
    assert is_database(make(tmp_path / "swarm.sqlite", {}))


def test_damaged_and_other_databases_are_refused(tmp_path: Path) -> None:
    other = make(tmp_path / "other.sqlite", {}, schema=["CREATE TABLE memories (id)"])
    with pytest.raises(Invalid, match="none of the tables agents, swarm_repos, swarm_config"):
        read_tables(other)
    damaged = make(tmp_path / "damaged.sqlite", ONE_AGENT)
    damaged.write_bytes(damaged.read_bytes()[:16] + b"\xff" * 9_000)
    with pytest.raises((Broken, Invalid)):
        read_tables(damaged)
    with pytest.raises(Invalid, match="cannot be read"):
        read_tables(tmp_path / "missing")


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("view", ["CREATE TABLE t (id, name)", "CREATE VIEW Agents AS SELECT id, name FROM t"]),
        ("virtual table", ["CREATE VIRTUAL TABLE agents USING fts5(id, name)"]),
    ],
)
def test_what_only_looks_like_a_table_is_not_read(tmp_path: Path, kind: str, schema: list[str]) -> None:
    path = make(tmp_path / "swarm.sqlite", {}, schema=[*schema, CONFIG], added=())
    tables = read_tables(path)
    assert tables[TableName.AGENTS].problem == f"agents is a {kind}, not an ordinary table. It is not read."
    assert not tables[TableName.AGENTS].rows
    assert tables[TableName.CONFIG].problem is None


def test_computed_columns_are_not_read(tmp_path: Path) -> None:
    schema = ["CREATE TABLE agents (id, name, soulMd AS (hex(name)))", CONFIG]
    path = make(tmp_path / "swarm.sqlite", {"agents": [{"id": "a", "name": "a"}]}, schema=schema, added=())
    assert read_tables(path)[TableName.AGENTS].rows == ({"id": "a", "name": "a"},)


def test_a_trigger_does_not_run(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON agents BEGIN DELETE FROM agents; END")
    assert len(read_tables(path)[TableName.AGENTS].rows) == 1


def test_values_that_are_no_text_are_named_and_not_loaded(tmp_path: Path) -> None:
    texts = {"blob": b"\x00\xff", "nul": "a\0b", "large": "x" * 100_000_000, "float": 1.5, "most": "y" * FIELD_BYTES}
    rows = [entry(name, value) for name, value in texts.items()]
    path = make(tmp_path / "swarm.sqlite", {"swarm_config": rows})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE swarm_config SET value = CAST(x'c3' AS TEXT) WHERE key = 'float'")
    read = {str(row["key"]): row["value"] for row in read_tables(path)[TableName.CONFIG].rows}
    assert read == {
        "blob": Unreadable("is not a text"),
        "nul": Unreadable("has a NUL character"),
        "large": Unreadable("has 100,000,000 bytes; at most 131,072 are read"),
        "float": Unreadable("is not valid Unicode"),
        "most": "y" * FIELD_BYTES,
    }


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_in_every_encoding_are_read(tmp_path: Path, encoding: str) -> None:
    path = make(tmp_path / "swarm.sqlite", {}, schema=[f"PRAGMA encoding = '{encoding}'", AGENTS], added=())
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO agents (id, name) VALUES ('a', 'Zoë 🐝')")
    assert read_tables(path)[TableName.AGENTS].rows[0]["name"] == "Zoë 🐝"


def test_too_many_rows_and_too_much_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [entry(f"KEY_{number}", "x" * 1_000) for number in range(20)]
    path = make(tmp_path / "swarm.sqlite", {"swarm_config": rows})
    assert len(read_tables(path)[TableName.CONFIG].rows) == 20
    with monkeypatch.context() as changed:
        changed.setattr(database, "MAX_BYTES", 15_000)
        with pytest.raises(TooLarge, match="MB of agents"):
            read_tables(path)
    with monkeypatch.context() as changed:
        changed.setattr(database, "MAX_ROWS", 19)
        with pytest.raises(TooLarge, match="more than 19 rows"):
            read_tables(path)
    with monkeypatch.context() as changed:
        changed.setattr(database, "_STEPS", 10)
        changed.setattr(database, "_MAX_STEPS", 100)
        with pytest.raises(TooLarge, match="too many steps"):
            read_tables(path)


def test_a_schema_that_needs_much_memory_is_refused(tmp_path: Path) -> None:
    columns = ", ".join(f"c{number}" for number in range(1_900))
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'agents'").fetchone()
        names = [f"t{number}" for number in range(2_000)]
        db.executemany(
            "INSERT INTO sqlite_schema VALUES ('table', ?, ?, ?, ?)",
            [(name, name, root, f"CREATE TABLE {name} ({columns})") for name in names],
        )
    limit = apsw.hard_heap_limit(-1)
    with pytest.raises(TooLarge, match="needs more than 64 MB of memory"):
        read_tables(path)
    assert apsw.hard_heap_limit(-1) == limit


def test_a_virtual_table_that_is_declared_as_another_one_is_not_read(tmp_path: Path) -> None:
    path = make(tmp_path / "swarm.sqlite", ONE_AGENT)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE agents USING dbstat' WHERE name = 'agents'")
    with pytest.raises((Invalid, Broken)):
        read_tables(path)


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_only_ordinary_files_are_read_beside_a_database(tmp_path: Path, suffix: str) -> None:
    for journal in ("DELETE", "WAL"):
        path = make(tmp_path / f"{journal}.sqlite", ONE_AGENT)
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA journal_mode = {journal}")
        os.mkfifo(f"{path}{suffix}")
        with pytest.raises(Invalid, match=f"{suffix} is not an ordinary file"):
            read_tables(path)
