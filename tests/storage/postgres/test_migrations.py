"""Migrations of a database: which ones are refused, and with which messages."""

from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from hivelore.errors import Broken, Conflict, HiveloreError, NotFound, Unavailable
from hivelore.runtime.clock import SystemClock
from hivelore.storage.postgres import migrations
from hivelore.storage.postgres.pool import rehearse
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.sql.migrations import Migration
from support import postgres


def opened(url: str) -> None:
    PostgresStore(url, clock=SystemClock()).close()


def said(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Returns the result of the last statement of a script."""
    with psycopg.connect(url, autocommit=True) as connection:
        *first, last = statements
        for statement in first:
            connection.execute(statement.encode())
        cursor = connection.execute(last.encode())
        return cursor.fetchall() if cursor.description else []


def tables(url: str) -> int:
    ((count,),) = said(url, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()")
    assert isinstance(count, int)
    return count


def test_opening_again_changes_nothing(url: str) -> None:
    opened(url)
    before = tables(url), said(url, "SELECT * FROM hivelore_migration")
    opened(url)
    assert (tables(url), said(url, "SELECT * FROM hivelore_migration")) == before


@pytest.mark.parametrize(
    ("harm", "error", "words"),
    [
        ("INSERT INTO hivelore_migration VALUES (99, 'x')", Broken, "written by a newer Hivelore"),
        ("UPDATE hivelore_migration SET checksum = 'x'", Broken, "differs from the one of this Hivelore"),
        ("DROP TABLE hivelore_migration", Broken, "tables of another program"),
    ],
)
def test_a_database_that_is_not_of_this_version_is_refused_untouched(
    url: str, harm: str, error: type[HiveloreError], words: str
) -> None:
    opened(url)
    said(url, harm)
    before = tables(url)
    with pytest.raises(error, match=words):
        opened(url)
    assert tables(url) == before


def test_a_migration_that_fails_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good = migrations.shipped()
    bad = [Migration(1, good[0].script + "; SELECT 1 / 0")]
    monkeypatch.setattr(migrations, "shipped", lambda: bad)
    with pytest.raises(Broken, match="division by zero"):
        opened(url)
    assert tables(url) == 0
    monkeypatch.undo()
    opened(url)


def test_a_server_without_pgvector_raises_with_advice(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "EXTENSION", "no_such_extension")
    with pytest.raises(Unavailable, match=r"apt install postgresql-\d+-pgvector"):
        opened(url)
    assert tables(url) == 0


def test_an_old_server_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "OLDEST", 99)
    with pytest.raises(Broken, match="needs 99 or newer"):
        opened(url)


@pytest.fixture
def as_guest(url: str) -> Callable[[str], str]:
    """The URL of the schema for a role that has no rights but those given; each role is new."""
    made: list[str] = []

    def guest(grants: str) -> str:
        role = f"guest_{len(made)}_{abs(hash(url)) % 1_000_000}"
        made.append(role)
        said(url, f"CREATE ROLE {role} LOGIN PASSWORD 'secret'", grants.format(role=role))
        return f"{url}&user={quote(role)}&password=secret"

    return guest


def test_a_role_without_the_right_to_create_tables_is_refused(url: str, as_guest: Callable[[str], str]) -> None:
    schema = said(url, "SELECT current_schema()")[0][0]
    guest = as_guest(f"GRANT USAGE ON SCHEMA {schema} TO {{role}}").replace("user=postgres&", "")
    with pytest.raises(Unavailable, match="lacks a right") as raised:
        opened(guest)
    assert "secret" not in str(raised.value)


def test_a_role_without_the_right_to_create_the_extension_is_refused_with_advice(
    url: str, as_guest: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = said(url, "SELECT current_schema()")[0][0]
    guest = as_guest(f"GRANT ALL ON SCHEMA {schema} TO {{role}}").replace("user=postgres&", "")
    monkeypatch.setattr(migrations, "EXTENSION", "plpgsql")
    said(url, "DROP EXTENSION IF EXISTS plpgsql CASCADE")
    try:
        with pytest.raises(Unavailable, match="Ask an administrator to run there: CREATE EXTENSION"):
            opened(guest)
    finally:
        said(url, "CREATE EXTENSION plpgsql")


def test_a_database_in_another_encoding_is_refused() -> None:
    with closing(psycopg.connect(postgres.server(), autocommit=True)) as connection:
        connection.execute("DROP DATABASE IF EXISTS hivelore_latin")
        connection.execute("CREATE DATABASE hivelore_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            latin = make_conninfo(postgres.server(), dbname="hivelore_latin")
            with pytest.raises(Broken, match="UTF-8"):
                opened(latin)
        finally:
            connection.execute("DROP DATABASE hivelore_latin WITH (FORCE)")


def test_a_rehearsal_makes_all_tables_and_leaves_none(url: str) -> None:
    assert rehearse(url)
    assert tables(url) == 0
    opened(url)
    before = tables(url)
    assert not rehearse(url)
    assert tables(url) == before


def test_a_read_only_database_must_have_the_current_schema(url: str) -> None:
    with pytest.raises(NotFound, match="no tables of Hivelore"):
        PostgresStore(url, clock=SystemClock(), as_it_is=True)
    opened(url)
    PostgresStore(url, clock=SystemClock(), as_it_is=True).close()
    said(url, "DELETE FROM hivelore_migration WHERE number = (SELECT MAX(number) FROM hivelore_migration)")
    with pytest.raises(Conflict, match="older version"):
        PostgresStore(url, clock=SystemClock(), as_it_is=True)
    assert not rehearse(url)
