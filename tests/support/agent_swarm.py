"""Databases of Agent Swarm, of several ages."""

import sqlite3
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ADA = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
BOB = "bob"
SHOP = "d3b07384-d9a0-4c1f-8d0b-3f1b1c7e1a11"

AGENTS = """CREATE TABLE agents (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT, role TEXT, capabilities TEXT DEFAULT '[]',
  maxTasks INTEGER DEFAULT 1, status TEXT, createdAt TEXT, lastUpdatedAt TEXT)"""
REPOS = """CREATE TABLE swarm_repos (
  id TEXT PRIMARY KEY, url TEXT NOT NULL, name TEXT NOT NULL, defaultBranch TEXT NOT NULL DEFAULT 'main',
  claudeMdContent TEXT, autoClone INTEGER NOT NULL DEFAULT 1, clonePath TEXT, lastSynced TEXT, createdAt TEXT)"""
CONFIG = """CREATE TABLE swarm_config (
  id TEXT PRIMARY KEY, scope TEXT NOT NULL CHECK(scope IN ('global', 'agent', 'repo')), scopeId TEXT,
  key TEXT NOT NULL, value TEXT NOT NULL, isSecret INTEGER NOT NULL DEFAULT 0, envPath TEXT, description TEXT,
  createdAt TEXT NOT NULL DEFAULT '', lastUpdatedAt TEXT NOT NULL DEFAULT '', UNIQUE(scope, scopeId, key))"""
ADDED = ("claudeMd", "soulMd", "identityMd", "setupScript")
"""Columns of agents, in the order in which versions of Agent Swarm added them."""

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def make(path: Path, rows: Rows, *, added: Sequence[str] = ADDED, schema: Sequence[str] | None = None) -> Path:
    """Makes a database with rows by table. ``schema``: its tables, without the added columns."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in (AGENTS, REPOS, CONFIG) if schema is None else schema:
            db.execute(statement)
        for column in added if schema is None or AGENTS in schema else ():
            db.execute(f"ALTER TABLE agents ADD COLUMN {column} TEXT")
        insert(db, rows)
    return path


def insert(db: sqlite3.Connection, rows: Rows) -> None:
    for table, each in rows.items():
        for row in each:
            names = ", ".join(f'"{name}"' for name in row)
            places = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(row.values()))


def entry(key: str, value: Any, scope: str = "global", scope_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": f"{scope}-{scope_id}-{key}", "scope": scope, "scopeId": scope_id, "key": key, "value": value, **more}


@contextmanager
def program(path: Path, *statements: str) -> Generator[None]:
    """Another process that has run statements on a database, and keeps it open. Locks of this process would not count
    for it."""
    code = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for one in sys.argv[2:]: db.execute(one).fetchall()\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), *statements], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            running.stdin.close()
