"""Every statement is understood by PostgreSQL, and none looks through a large table without a reason."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from hivelore.adapters.clock import SystemClock
from hivelore.adapters.keywords.postings import sql as postings
from hivelore.adapters.postgres.store import PostgresStore
from hivelore.adapters.postgres.view import SQL
from hivelore.adapters.sql.names import load
from support import postgres

STATEMENTS = {**SQL, **{f"postings.{name}": text for name, text in postings.SQL["postgres"].items()}} | {
    "pgvector.nearest": load(("hivelore.adapters.vectors", "pgvector.sql"))["nearest"]
}
QUEUES = ("queue_new", "queue_again")
FRAGMENTS = (*QUEUES, "free", "locked", "recall_gave")
LOOKS_AT_EVERYTHING = {
    "problems": "is the check of everything",
    "embedded_all": "reads everything",
    "restored_change": "changes everything",
    "restored_terms": "changes everything",
    "restored_dropped": "changes everything",
    "postings.orphans": "is asked once, in the background",
}


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection[tuple[str]]]:
    url = postgres.schema()
    PostgresStore(url, clock=SystemClock()).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        yield connection


def plan(connection: psycopg.Connection[tuple[str]], statement: str) -> list[str]:
    numbers: dict[str, str] = {}
    text = re.sub(r"(?<![:\w]):([a-z_]+)", lambda name: numbers.setdefault(name[1], f"${len(numbers) + 1}"), statement)
    return [row[0] for row in connection.execute(f"EXPLAIN (GENERIC_PLAN) {text}".encode())]


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name not in FRAGMENTS])
def test_a_statement_is_understood_and_goes_along_an_index(
    connection: psycopg.Connection[tuple[str]], name: str
) -> None:
    for queue in QUEUES:
        text = (
            STATEMENTS[name]
            .replace("{queue}", SQL[queue])
            .replace("{order}", "ASC")
            .replace("{where}", "")
            .replace("{asked}", "")
            .replace("{free}", SQL["free"])
            .replace("{locked}", SQL["locked"])
        )
        walked = [line for line in plan(connection, text) if "Seq Scan" in line]
        small = [line for line in walked if re.search(r"Seq Scan on (model|segment|agent|meta|job)\b", line)]
        assert (len(walked) > len(small)) <= (name in LOOKS_AT_EVERYTHING), walked
