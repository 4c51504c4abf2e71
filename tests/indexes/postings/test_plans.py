"""Query plans of the statements of the postings: by an index, or with a reason."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from apsw import Connection

from hivelore.indexes.keywords.postings import sql
from hivelore.runtime.clock import SystemClock
from hivelore.storage.sqlite.connection import connect, rows
from hivelore.storage.sqlite.store import SqliteStore

SQL = sql.SQL["sqlite"]
LARGE = {"terms", "t", "o", "dropped", "segment_rows", "posting", "p", "chunk", "c", "memory", "m"}
LOOKS_AT_EVERYTHING = {
    "now": "the last row of a table is one step away",
    "to_wipe": "its index holds nothing but what it looks for",
    "drops_behind_us": "asks once which drop is the newest, which is one step away",
    "orphans": "is asked once, in the background, and reads an index alone",
    "strays": "compares the whole index, at a start and when an operator checks",
    "clear_postings": "deletes everything",
    "clear_segment_rows": "deletes everything",
    "clear_terms": "deletes everything",
    "clear_drops": "deletes everything",
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    path = tmp_path_factory.mktemp("plans") / "hivelore.db"
    SqliteStore(path, clock=SystemClock()).close()
    with closing(connect(path)) as connection:
        yield connection


def plan(connection: Connection, statement: str) -> list[str]:
    params = dict.fromkeys(re.findall(r":(\w+)", statement))
    return [row[3] for row in rows(connection, f"EXPLAIN QUERY PLAN {statement}", params)]


@pytest.mark.parametrize("name", SQL)
def test_no_statement_scans_a_table_without_a_reason(connection: Connection, name: str) -> None:
    looking: list[str] = []
    for line in plan(connection, SQL[name]):
        if match := re.match(r"(?:SCAN|SEARCH) (\w+)(.*)", line):
            columns = set(re.findall(r"(\w+)[=<>]", match[2]))
            looking += [line] if match[1] in LARGE and columns <= {"namespace"} else []
    assert bool(looking) == (name in LOOKS_AT_EVERYTHING), looking


@pytest.mark.parametrize(
    "name", ["postings_behind", "terms_behind", "term_before", "newest", "oldest_of_newest", "in_span", "drops"]
)
def test_ordered_reads_do_not_sort(connection: Connection, name: str) -> None:
    assert not any("TEMP B-TREE" in line for line in plan(connection, SQL[name]))


def test_postings_are_fetched_term_by_term(connection: Connection) -> None:
    first, second = plan(connection, SQL["postings"])
    assert "SCAN k" in first
    assert "posting_term (namespace=? AND term=?)" in second
