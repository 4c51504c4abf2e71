"""Every statement is understood by PostgreSQL, and none looks through a large table without a reason."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from hivelore.core.text import Clean
from hivelore.observations.model import GENERAL
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, Visibility
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.postgres.view import SQL, PostgresView
from hivelore.storage.sql.statements import parts
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


MANY_LINKS = """
INSERT INTO link (namespace, source, target, kind, certainty, why, model, at)
SELECT 1, n + step, n, 2, 0.9, 'w', 'm', 0 FROM generate_series(1, 20000) n, generate_series(1, 3) step
"""


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("name", ["links_of", "updates_of", "doubts_of", "later_among"])
def test_links_are_found_memory_by_memory(
    connection: psycopg.Connection[tuple[str]], name: str, *, analyzed: bool
) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute(MANY_LINKS.encode())
        connection.execute("SET LOCAL enable_seqscan = on")
        if analyzed:
            connection.execute("ANALYZE link")
        found = [line for line in plan(connection, filled(name)) if " on link" in line]
        is_sorted = any("Sort" in line for line in plan(connection, filled(name)))
    used = {re.sub(r".*Index Scan (?:Backward )?using (\w+) .*", r"\1", line) for line in found}
    assert used == ({"link_pkey", "link_target"} if name == "links_of" else {"link_target"})
    assert not is_sorted or name != "later_among"


MANY = """
INSERT INTO memory (namespace, id, scope, source, name, content, summary, category, tags, metadata, created_at,
  updated_at, version, action, door, trust, statement)
SELECT 1, n, 2, 1, 'n', 'c', 's', 'timing', '[]', '{}', n, n, 1, 1, 1, 1, ''::bytea FROM generate_series(1, 20000) n;
INSERT INTO operational (namespace, document, service, tier, persistent, confidence, confident_at, is_off)
SELECT 1, key, 's' || key % 30, 1, 0, 0.7, 0, 0 FROM memory WHERE key % 10 = 0;
ANALYZE memory, operational
"""


@pytest.mark.parametrize("services", [{"s7"}, {"s7", "s8"}, {GENERAL}])
def test_operational_memories_are_found_by_service_under_any_filter(
    connection: psycopg.Connection[tuple[str]], services: set[Clean]
) -> None:
    shared = Visibility(own=None, swarm=True)
    timing = frozenset({Clean("timing")})
    where = Filter(visibility=shared, services=frozenset(services), operational=True, categories=timing)
    with connection.transaction(force_rollback=True):
        for statement in MANY.split(";"):
            connection.execute(statement.encode())
        for sql, _ in parts(where, among=PostgresView.among):
            found = "\n".join(plan(connection, SQL["memory_page"].replace("{where}", sql)))
            by_service, rest = found.split("Sort", 1)
            assert "operational_service" in by_service
            assert "using memory_pkey on memory m" in rest
