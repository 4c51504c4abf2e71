"""After a great load the server plans for what there is now, and nobody fails or waits for that."""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from hivelore.errors import Unavailable
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.runtime.clock import SystemClock
from hivelore.storage.postgres.store import PostgresStore
from support.memories import a_memory
from support.vector_engines import MODEL, Library, batched, clustered

DIMENSION = 8
GRANT = "GRANT SELECT ON ALL TABLES IN SCHEMA {1} TO {0}"
TABLES = ("chunk", "memory", "passage", "vectors")


def load(store: PostgresStore, passages: int) -> None:
    """Five passages to a memory."""
    library = Library(store, ExactVectors(MODEL, DIMENSION), dimension=DIMENSION)
    library.keep([(a_memory(), rows) for rows in batched(clustered(passages, DIMENSION, clusters=3), 5)])


def believed(url: str) -> dict[str, int]:
    """Returns the number of rows that the planner assumes for each table."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT relname, reltuples::int FROM pg_class WHERE relname = ANY(%s) "
            "AND relnamespace = current_schema()::regnamespace",
            [list(TABLES)],
        )
        return dict(rows.fetchall())


def test_the_planner_has_statistics_after_a_load(store: PostgresStore, url: str) -> None:
    load(store, 10)
    store.analyze()
    few = {"chunk": 2, "memory": 2, "passage": 10, "vectors": 10}
    assert believed(url) == few
    load(store, 990)
    assert believed(url) == few
    store.analyze()
    assert believed(url) == {name: count * 100 for name, count in few.items()}


@contextmanager
def a_stranger(url: str) -> Generator[str]:
    """The URL for a role that may read everything, and owns nothing."""
    with psycopg.connect(url, autocommit=True) as admin:
        (schema,) = admin.execute("SELECT current_schema()").fetchone() or ("",)
        name = f"stranger_{os.getpid()}"
        for statement in ("CREATE ROLE {0} NOLOGIN", "GRANT USAGE ON SCHEMA {1} TO {0}", GRANT):
            admin.execute(statement.format(name, schema).encode())
        try:
            yield make_conninfo(url, options=f"-c role={name} -c search_path={schema},public")
        finally:
            for statement in ("DROP OWNED BY {0}", "DROP ROLE {0}"):
                admin.execute(statement.format(name).encode())


def test_a_role_without_the_right_to_analyze_skips_it(store: PostgresStore, url: str) -> None:
    load(store, 10)
    with a_stranger(url) as theirs, closing(PostgresStore(theirs, clock=SystemClock(), as_it_is=True)) as other:
        before = believed(url)
        other.analyze()
        assert believed(url) == before
    store.analyze()
    assert believed(url) != before


def test_a_locked_table_is_skipped(store: PostgresStore, url: str) -> None:
    load(store, 10)
    with psycopg.connect(url) as busy:
        busy.execute("LOCK TABLE vectors IN SHARE UPDATE EXCLUSIVE MODE")
        store.analyze()
        known = believed(url)
    assert (known["vectors"], known["passage"]) == (-1, 10)


def test_a_server_that_is_away_is_no_error(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._pool, "_url", "postgresql://127.0.0.1:1/nowhere?connect_timeout=2")
    with pytest.raises(Unavailable):
        store.vacuum()
    store.analyze()
