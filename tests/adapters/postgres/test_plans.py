"""Every statement is understood by PostgreSQL, and none looks through a large table without a reason."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from hivelore.adapters.clock import SystemClock
from hivelore.adapters.postgres.store import PostgresStore
from support import postgres
from support.postgres_sql import QUEUES, WHOLE, filled, plan

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


@pytest.mark.parametrize("name", WHOLE)
def test_a_statement_is_understood_and_goes_along_an_index(
    connection: psycopg.Connection[tuple[str]], name: str
) -> None:
    for queue in QUEUES:
        walked = [line for line in plan(connection, filled(name, queue)) if "Seq Scan" in line]
        small = [line for line in walked if re.search(r"Seq Scan on (model|segment|agent|meta|job)\b", line)]
        assert (len(walked) > len(small)) <= (name in LOOKS_AT_EVERYTHING), walked
