"""Everything that a service has written: files and tables."""

from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier


def written(home: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in home.rglob("*") if file.is_file())


def stored(url: str | None) -> bytes:
    """Returns the contents of all tables of a PostgreSQL schema. Empty on SQLite, whose files are read instead."""
    if url is None:
        return b""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        ).fetchall()
        rows = [
            row
            for (table,) in tables
            for row in connection.execute(SQL("SELECT to_jsonb(t)::text FROM {} t").format(Identifier(table)))
        ]
    return "\n".join(row for (row,) in rows).encode()
