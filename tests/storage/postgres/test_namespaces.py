"""The namespace leads everything, so that the tables can be distributed by it: keys, indexes and statements."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hivelore.runtime.clock import SystemClock
from hivelore.storage.postgres.store import PostgresStore
from support import partitions, postgres
from support.postgres_sql import NO_PLAN, STATEMENTS, WHOLE, filled, plan

Connection = psycopg.Connection[tuple[Any, ...]]

DOCUMENT = Path(__file__).parents[3] / "docs" / "scaling.md"
WITHOUT_NAMESPACE = {"hivelore_migration": "is of the database"}
NOT_LED = {
    "memory_project": "is of hashes, which know one column: what it finds is filtered by namespace",
    "memory_tag_tag": "is of hashes, which know one column: what it finds is filtered by namespace",
}
"""Indexes that do not begin with the namespace."""
OF_NO_TABLE = {
    "lease_time": "asks for the time",
    "postings.elsewhere": "asks what else goes on in the server",
    "other_connections": "asks who else is connected",
    "number_from": "sets a sequence, of which the parts have one together",
    "pgvector.indexed": "asks the catalogue",
    "pgvector.lock": "locks a number that has the namespace in it",
    "pgvector.settings": "is for this transaction",
    "tables": "asks the catalogue",
}
"""Statements that read no table of Hivelore."""
ADDS = re.compile(
    r"(--.*\n)*INSERT INTO \w+ \(namespace,[^()]*\)\s*(OVERRIDING SYSTEM VALUE )?"
    r"(VALUES \(:namespace,|SELECT (:namespace|namespace),)"
)
"""What a plan says of rows that are added is the table, not the part of it."""
SOME = range(1, 9)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """To a schema whose tables are partitioned by namespace."""
    url = postgres.schema()
    partitions.migrate(url)
    PostgresStore(url, clock=SystemClock()).close()
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


INDEXES = """
SELECT t.relname, i.relname, x.indisunique, (
  SELECT attname FROM pg_attribute WHERE attrelid = t.oid AND attnum = x.indkey[0])
FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
WHERE t.relnamespace = current_schema()::regnamespace AND NOT t.relispartition
"""
TABLES = """
SELECT t.relname, EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = t.oid AND attnum = 1 AND attname = 'namespace')
FROM pg_class t WHERE t.relkind IN ('r', 'p') AND t.relnamespace = current_schema()::regnamespace
  AND NOT t.relispartition
"""
REFERENCES = "SELECT conname FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"


def test_the_namespace_is_the_first_column_of_every_table(connection: Connection) -> None:
    without = {name for name, has_namespace in connection.execute(TABLES) if not has_namespace}
    assert without == set(WITHOUT_NAMESPACE)


def test_every_key_and_index_begins_with_the_namespace(connection: Connection) -> None:
    found = [row for row in connection.execute(INDEXES) if row[0] not in WITHOUT_NAMESPACE]
    assert len(found) > 30
    others = {index: is_unique for _, index, is_unique, first in found if first != "namespace"}
    assert others == dict.fromkeys(NOT_LED, False)


def test_no_row_refers_to_one_of_another_namespace(connection: Connection) -> None:
    assert connection.execute(REFERENCES).fetchall() == []


def test_the_document_distributes_every_table(connection: Connection) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    named = re.findall(r"create_distributed_table\('(\w+)', 'namespace'", text)
    assert sorted(named) == sorted(name for name, has_namespace in connection.execute(TABLES) if has_namespace)
    assert all(f"`{name}`" in text for name in (*NOT_LED, *WITHOUT_NAMESPACE))


@pytest.mark.parametrize("name", WHOLE)
def test_every_statement_is_about_one_namespace(connection: Connection, name: str) -> None:
    """A plan names only the partition that holds the namespace."""
    touched = [parts(connection, name, namespace) for namespace in SOME]
    if name in OF_NO_TABLE:
        assert touched == [set[str]()] * len(SOME)
    elif ADDS.match(STATEMENTS[name]):
        assert all(part <= {home(connection, namespace)} for part, namespace in zip(touched, SOME, strict=True))
    else:
        assert touched == [{home(connection, namespace)} for namespace in SOME]


def test_every_statement_without_a_plan_is_about_one_namespace() -> None:
    of_all = {name for name in NO_PLAN if not re.search(r"[:{]namespace\b", STATEMENTS[name])}
    assert of_all == {"pgvector.drop", "pgvector.learn"}


def parts(connection: Connection, name: str, namespace: int) -> set[str]:
    """The numbers of the parts that a plan of the statement for a namespace names."""
    lines = plan(connection, filled(name, namespace=namespace))
    return {found for line in lines for found in re.findall(r" on \w+?_(\d)\b", line)}


@cache
def home(connection: Connection, namespace: int) -> str:
    """The number of the part in which a namespace lies."""
    holds = "SELECT satisfies_hash_partition('meta'::regclass, %s, %s, %s::int)"
    (found,) = (
        part
        for part in range(partitions.PARTS)
        if connection.execute(holds, (partitions.PARTS, part, namespace)).fetchall() == [(True,)]
    )
    return str(found)


def test_partitions_match_the_namespaces(connection: Connection) -> None:
    assert {home(connection, namespace) for namespace in SOME} == {str(part) for part in range(partitions.PARTS)}
