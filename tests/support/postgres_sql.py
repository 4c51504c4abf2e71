"""All PostgreSQL statements, for tests that check each one on the server."""

import re
from typing import Any

import psycopg

from hivelore.indexes.keywords.postings import sql as postings
from hivelore.storage.postgres.view import SQL
from hivelore.storage.sql.statements import load
from support.missing import missing
from support.postgres import needs_index

STATEMENTS = {
    **SQL,
    **{f"postings.{name}": text for name, text in postings.SQL["postgres"].items()},
    **{f"pgvector.{name}": text for name, text in load(("hivelore.indexes.vectors", "pgvector.sql")).items()},
}
QUEUES = ("queue_new", "queue_again")
FRAGMENTS = (*QUEUES, "unleased", "locked", "recall_returned", "decided_with")
NO_PLAN = ("pgvector.estimate", "pgvector.make", "pgvector.drop", "pgvector.learn")
"""How these are done the server does not tell."""
WHOLE = [name for name in STATEMENTS if name not in (*FRAGMENTS, *NO_PLAN)]


def filled(name: str, queue: str = QUEUES[0], namespace: int = 1) -> str:
    """A statement with something in place of each {brace}, and the namespace as a number. Where the
    server does not know a type in it, the test is skipped (``missing``)."""
    if "halfvec" in STATEMENTS[name]:
        needs_index()
    parts = {
        "queue": SQL[queue],
        "order": "ASC",
        "where": "",
        "recall_filter": "",
        "event_filter": "",
        "proposal_filter": "",
        "batch_filter": "",
        "config_filter": "",
        "repo_columns": "id",
        "repo_filter": "",
        "report_columns": "repo",
        "unleased": SQL["unleased"],
        "locked": SQL["locked"],
        "namespace": str(namespace),
        "model": "1",
        "dimension": "8",
        "take": "8",
    }
    text = STATEMENTS[name]
    for part, value in parts.items():
        text = text.replace(f"{{{part}}}", value)
    return re.sub(r"(?<![:\w]):namespace\b", str(namespace), text)


def plan(connection: psycopg.Connection[Any], statement: str) -> list[str]:
    """Returns the generic plan. Reports a server without generic plans as ``missing``."""
    version = connection.info.server_version
    if version < 160_000:
        is_it = f"{version // 10_000}.{version % 10_000}"
        missing(f"NO PLANS FOR ANY PARAMETERS, AND SO NOT TESTED: PostgreSQL is {is_it}, and 16 is needed.")
    numbers: dict[str, str] = {}
    text = re.sub(
        r"(?<![:\w]):([a-z_][a-z_0-9]*)", lambda name: numbers.setdefault(name[1], f"${len(numbers) + 1}"), statement
    )
    return [row[0] for row in connection.execute(f"EXPLAIN (GENERIC_PLAN) {text}".encode(), prepare=False)]
