"""A new version brings the database to its schema while replicas of the version before go on serving.

The next migration is made up: a column, a trigger that fills it in for who does not know of it, and the old rows.
"""

import re
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from hivelore.errors import Broken, Unavailable
from hivelore.memories.model import Action, Memory
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.postgres import migrations
from hivelore.storage.postgres.connection import connect
from hivelore.storage.postgres.migrations import migrate, shipped
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.sql import migrations as shared
from hivelore.storage.sql.migrations import Migration
from support.memories import EVERYTHING, a_memory, instant, next_version, whole
from support.stores import add
from support.waiting import until

PATIENCE = 60.0
LOCK = 0x48564C52
OLD = 95
"""Rows that are there before."""
MIDDLE = 50
SCRIPT = """
ALTER TABLE memory ADD COLUMN words INTEGER;
CREATE FUNCTION words_of(content TEXT) RETURNS INTEGER LANGUAGE SQL IMMUTABLE
  AS $$ SELECT array_length(string_to_array(content, ' '), 1) $$;
CREATE FUNCTION count_words() RETURNS TRIGGER LANGUAGE plpgsql
  AS $$ BEGIN NEW.words := words_of(NEW.content); RETURN NEW; END $$;
CREATE TRIGGER memory_words BEFORE INSERT OR UPDATE OF content ON memory FOR EACH ROW EXECUTE FUNCTION count_words();
"""
FILL = """
WITH batch AS (
  SELECT namespace, key FROM memory WHERE (namespace, key) > (:namespace, :key)
  ORDER BY namespace, key LIMIT 10 FOR UPDATE
), passed AS MATERIALIZED (
  SELECT pg_advisory_xact_lock(MIN(key)) FROM batch
), filled AS (
  UPDATE memory m SET words = words_of(m.content) FROM batch b, passed
  WHERE (m.namespace, m.key) = (b.namespace, b.key)
)
SELECT namespace, key FROM batch ORDER BY namespace DESC, key DESC LIMIT 1
"""
"""In batches of ten, which a test can hold up."""
NEXT = [*shipped(), Migration(len(shipped()) + 1, SCRIPT, FILL)]
UNFILLED = "SELECT COUNT(*) FROM memory WHERE words IS DISTINCT FROM words_of(content)"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "LOCK_WAIT", 50)
    monkeypatch.setattr(migrations, "PAUSE", 0.02)
    monkeypatch.setattr(migrations, "TRIES", 1_000_000)


@pytest.fixture
def old(store: PostgresStore) -> PostgresStore:
    """A replica of the version before, with memories."""
    store.write(lambda tx: [tx.add(a_memory(f"old note {number}"), whole("old")) for number in range(OLD)])
    return store


def upgrade(url: str, to: list[Migration] = NEXT) -> int:
    with closing(connect(url)) as connection:
        return migrate(connection, to)


@contextmanager
def in_the_background(work: Callable[[], int]) -> Generator[Future[int]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def said(url: str, statement: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]


@contextmanager
def held_up(url: str) -> Generator[None]:
    """Filling in comes to the row ``MIDDLE`` and no further."""
    with psycopg.connect(url) as connection:
        first = "SELECT key FROM memory ORDER BY key LIMIT 1 OFFSET %s"
        connection.execute(f"SELECT pg_advisory_lock(({first}))".encode(), (MIDDLE,))
        connection.commit()
        yield


def until_it_is_there(url: str) -> None:
    filling = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'hivelore_fill'"
    until(lambda: bool(said(url, filling)))
    until(lambda: said(url, "SELECT COUNT(*) FROM memory, hivelore_fill WHERE key <= after_key") == MIDDLE)


def use(store: MemoryStore, times: int) -> None:
    """Does the usual work of a replica, often enough for its prepared statements to have cached plans."""
    for number in range(times):
        memory = add(store, a_memory(f"written meanwhile by the old one {number}")).memory

        def edit(tx: Transaction, memory: Memory = memory) -> None:
            stored = tx.get(memory.id)
            assert stored is not None
            changed = next_version(stored.memory, "changed meanwhile")
            tx.change(stored.key, changed, whole(changed.content), Action.EDITED)

        store.write(edit)
        with store.read() as view:
            assert view.page(EVERYTHING, None, 10)[0].content == "changed meanwhile"
            stored = view.get(memory.id)
            assert stored is not None
            assert len(view.history(stored.key)) == 2
        if number % 2:
            store.write(lambda tx, key=stored.key: tx.forget(key))
        with store.read() as view:
            everything = view.matching_keys(EVERYTHING)
        store.write(lambda tx, keys=everything: tx.count_reads({key: (1, instant(1)) for key in keys}))


def test_the_version_before_writes_and_reads_before_while_and_after_old_rows_are_filled_in(
    old: PostgresStore, url: str
) -> None:
    use(old, 8)
    with in_the_background(lambda: upgrade(url)) as upgraded:
        with held_up(url):
            until_it_is_there(url)
            use(old, 8)
            assert said(url, UNFILLED) == OLD + 4 - MIDDLE
            assert not upgraded.done()
        assert upgraded.result(PATIENCE) == 1
    use(old, 8)
    assert said(url, UNFILLED) == 0
    assert said(url, "SELECT COUNT(*) FROM memory") == OLD + 12
    assert list(old.check()) == []


def test_a_replica_that_writes_all_the_while_is_never_refused(old: PostgresStore, url: str) -> None:
    over = Event()

    def serve() -> int:
        rounds = 0
        while not over.is_set():
            use(old, 2)
            rounds += 1
        return rounds

    with in_the_background(serve) as served:
        until(lambda: said(url, "SELECT COUNT(*) FROM memory") > OLD)
        assert upgrade(url) == 1
        over.set()
        assert served.result(PATIENCE) > 0
    assert said(url, UNFILLED) == 0


def test_a_script_that_waits_for_a_long_reader_blocks_no_one(old: PostgresStore, url: str) -> None:
    with ExitStack() as reading:
        long_one = reading.enter_context(old.read())
        list(long_one.page(EVERYTHING, None, 1))
        with in_the_background(lambda: upgrade(url)) as upgraded:
            waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'memory'::regclass"
            until(lambda: said(url, waits) > 0)
            for number in range(20):
                add(old, a_memory(f"parallel {number}"))
            assert not upgraded.done()
            reading.close()
            assert upgraded.result(PATIENCE) == 1
    assert said(url, UNFILLED) == 0


def test_a_migration_of_busy_tables_fails_and_changes_nothing(
    old: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "TRIES", 3)
    with old.read() as long_one:
        list(long_one.page(EVERYTHING, None, 1))
        with pytest.raises(Unavailable, match="long transactions"):
            upgrade(url)
    assert said(url, "SELECT COUNT(*) FROM hivelore_migration") == len(NEXT) - 1
    use(old, 1)
    assert upgrade(url) == 1


def test_a_killed_fill_is_continued_by_the_next_process(old: PostgresStore, url: str) -> None:
    with in_the_background(lambda: upgrade(url)) as upgraded:
        with held_up(url):
            until_it_is_there(url)
            here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
            migrating = f"SELECT pid FROM pg_locks WHERE database = {here} AND locktype = 'advisory' AND objid = {LOCK}"
            said(url, f"SELECT pg_terminate_backend(({migrating}), 10000)")
            with pytest.raises(Unavailable):
                upgraded.result(PATIENCE)
        said(url, "UPDATE memory SET words = -1 WHERE key = (SELECT MIN(key) FROM memory) RETURNING 1")
        use(old, 2)
    assert upgrade(url) == 0
    assert said(url, UNFILLED) == 1
    assert said(url, "SELECT words FROM memory ORDER BY key LIMIT 1") == -1
    assert said(url, "SELECT is_done FROM hivelore_fill")


def test_of_two_concurrent_starts_one_migrates_and_both_open(old: PostgresStore, url: str) -> None:
    def start() -> tuple[int, int]:
        return upgrade(url), said(url, UNFILLED)

    with ThreadPoolExecutor(2) as pool:
        with held_up(url):
            both = [pool.submit(start) for _ in range(2)]
            until_it_is_there(url)
            assert not any(one.done() for one in both)
        assert sorted(one.result(PATIENCE) for one in both) == [(0, 0), (1, 0)]


def test_the_previous_version_refuses_the_newer_database(old: PostgresStore, url: str) -> None:
    with in_the_background(lambda: upgrade(url)) as upgraded:
        with held_up(url):
            until(lambda: said(url, "SELECT COUNT(*) FROM hivelore_migration") == len(NEXT))
            with pytest.raises(Broken, match=r"written by a newer Hivelore.*Upgrade Hivelore"):
                PostgresStore(url, clock=SystemClock())
        upgraded.result(PATIENCE)
    use(old, 1)


def test_a_new_database_has_nothing_to_fill_in(url: str) -> None:
    assert upgrade(url) == len(NEXT)
    assert said(url, "SELECT is_done FROM hivelore_fill")
    assert upgrade(url) == 0


# The files.


def test_a_fill_belongs_to_the_script_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    monkeypatch.setattr(shared, "files", {"hivelore.storage.postgres": tmp_path}.__getitem__)
    for name, text in {"0001_first.sql": "one", "0002_second.sql": "two", "0002_second.fill.sql": "fill"}.items():
        (folder / name).write_text(text)
    assert shipped() == [Migration(1, "one"), Migration(2, "two", "fill")]
    (folder / "0002_other.fill.sql").write_text("nobody's")
    with pytest.raises(Broken, match="installation is damaged"):
        shipped()


TAKES_AWAY = re.compile(
    r"\b(DROP|RENAME|TRUNCATE|ALTER\s+COLUMN|SET\s+NOT\s+NULL|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\b", re.I
)
INDEXED = re.compile(r"\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+\w+\s+ON\s+(\w+)", re.I)
MADE = re.compile(r"\bCREATE\s+TABLE\s+(\w+)", re.I)


def harm(script: str) -> list[str]:
    """Returns statements that would disturb replicas of the previous version, or block them for long."""
    made = set(MADE.findall(script))
    return [*TAKES_AWAY.findall(script), *(table for table in INDEXED.findall(script) if table not in made)]


READ_ONCE = {9: ["memory"] * 3, 19: ["proposal"]}
"""By number: indexes on a table that there is already. They are of columns that the same script adds, so nothing is in
them yet, and the table is read once to find that out, while writers wait."""


REBUILT = {13: [*["DROP"] * 4, *["memory"] * 4], 16: ["DROP", "link"]}
"""By number: indexes that are made again, while writers wait. Replicas of the version before go on.

13: A path or an external id may then be in several projects, so the index that made it unique in a home has to go at
once (docs/postgresql.md). 15: The index of links gets one more column. Links are written in the background only."""


def test_shipped_migrations_only_add() -> None:
    found = {migration.number: harm(migration.script) for migration in shipped()[1:]}
    assert {number: tables for number, tables in found.items() if tables} == READ_ONCE | REBUILT


@pytest.mark.parametrize(
    "script",
    ["ALTER TABLE memory DROP COLUMN name", "create index slow on memory (name)", "UPDATE memory SET trust = 1"],
)
def test_removals_and_long_locks_are_detected(script: str) -> None:
    assert harm(script)
