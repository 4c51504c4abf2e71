"""The schema of a PostgreSQL store with every table partitioned by its namespace, as it would be distributed."""

import atexit
import re
from functools import cache
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from hivelore.core.clock import Clock
from hivelore.storage.postgres import migrations
from hivelore.storage.postgres.pool import Pool
from hivelore.storage.postgres.store import PostgresStore
from support import postgres

PARTS = 3
_TABLE = re.compile(
    r"^CREATE TABLE (?P<name>\w+) (?P<body>\(.*?\))(?P<options>| WITH \([^)]*\));$", re.DOTALL | re.MULTILINE
)


_namespaces = count(1)


@cache
def pool() -> Pool:
    """Returns the pool of a schema of this process."""
    url = postgres.schema()
    migrate(url)
    postgres.keep_no_statistics(url)
    opened = Pool(url)
    atexit.register(opened.close)
    return opened


def open_store(folder: Path, clock: Clock) -> PostgresStore:
    """Opens a store with a new, empty namespace."""
    del folder
    return PostgresStore(postgres.server(), clock=clock, namespace=next(_namespaces), pool=pool())


def migrate(url: str) -> None:
    """Migrates an empty schema so that ``PostgresStore`` finds it up to date."""
    with psycopg.connect(url) as connection:
        connection.execute(
            sql.SQL("CREATE TABLE hivelore_migration (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL)")
        )
        for migration in migrations.shipped():
            connection.execute(partitioned(migration.script).encode())
            noted = "INSERT INTO hivelore_migration VALUES (%s, %s)"
            connection.execute(noted, (migration.number, migration.checksum))


def partitioned(script: str) -> str:
    return _TABLE.sub(_in_parts, script)


def _in_parts(table: re.Match[str]) -> str:
    name, body, options = table.groups()
    parts = (
        f"CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {part}){options};"
        for part in range(PARTS)
    )
    return "\n".join([f"CREATE TABLE {name} {body} PARTITION BY HASH (namespace);", *parts])
