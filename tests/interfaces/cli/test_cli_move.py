"""move, from a SQLite file to PostgreSQL and back, on the command line."""

import json
import re
import resource
import sqlite3
import subprocess
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hivelore.core.agents import Role
from hivelore.errors import Conflict
from hivelore.local import endpoint
from hivelore.local.lock import EMBEDDED, Lock, Owner
from hivelore.python.client import Client
from hivelore.runtime.app import open_application
from hivelore.runtime.settings import load
from support import postgres
from support.command_line import HIVELORE, CommandLine, Result, environment, hivelore
from support.service import Service

QUERIES = ("Which Java does the build need?", "roses in July", "port of the replica", "who pays for the coffee")
NOTES = (
    "The build needs Java 21.",
    "Roses bloom in summer, and need water.",
    "Port 5433 is the replica, 5432 the primary.",
    "Coffee is paid by the one who broke the build.",
    "The replica is behind by a minute at most.",
)


def reversal() -> list[str]:
    """Returns statements that take back the tables, columns and indexes of the newest migration."""
    newest = max((files("hivelore.storage.sqlite") / "migrations").iterdir(), key=lambda file: file.name)
    text = newest.read_text(encoding="utf-8")
    text = re.sub(r"^INSERT INTO sqlite_stat1\b", "", text, flags=re.MULTILINE)  # goes with the tables and indexes
    column = re.compile(r"^ALTER TABLE (\w+) ADD COLUMN (\w+)", re.MULTILINE)
    harm = re.search(r"^(ALTER|INSERT|UPDATE|DROP TABLE)", column.sub("", text), re.MULTILINE)
    assert not harm, "Choose an older database another way."
    return [
        *(f"DROP INDEX {index}" for index in re.findall(r"^CREATE (?:UNIQUE )?INDEX (\w+)", text, re.MULTILINE)),
        *(f"ALTER TABLE {table} DROP COLUMN {name}" for table, name in column.findall(text)),
        *(f"DROP TABLE {table}" for table in re.findall(r"^CREATE TABLE (\w+)", text, re.MULTILINE)),
    ]


def talk(service: Service) -> Client:
    return service.client(service.operator_key, agent="local")


def remember(service: Service, content: str, **more: Any) -> str:
    """Stores a memory and returns its id."""
    body = {"scope": "agent", **more, "content": content}
    return talk(service).call("POST", "/api/memory/batch", body={"memories": [body]})["results"][0]["memory"]["id"]


def filled(home: Path, **settings: Any) -> tuple[str, list[list[str]]]:
    """Store the notes with a service and stop it. Returns the hash of an export, and the recalled notes."""
    with Service(home, embedder="local", **settings) as service:
        for place, note in enumerate(NOTES):
            memory = remember(service, note, scope="swarm" if place % 2 else "agent", session="s", tags=["t"])
            if place % 2 == 0:
                talk(service).call("PATCH", f"/api/memory/{memory}", body={"summary": "Changed."})
        service.app.embedding.wait(200)
        return asked(service), recalled(service)


def looked_at(home: Path, **settings: Any) -> tuple[str, list[list[str]]]:
    with Service(home, embedder="local", **settings) as service:
        assert service.app.embedding.pending() == 0
        return asked(service), recalled(service)


def asked(service: Service) -> str:
    return hivelore("export", "--hash", env=environment(service.home, HIVELORE_URL=service.url)).out


def recalled(service: Service) -> list[list[str]]:
    service.app.active_model.update_indexes(service.app.store)
    answers = [talk(service).call("POST", "/api/memory/search", body={"query": query}) for query in QUERIES]
    return [[hit["memory"]["id"] for hit in answer["results"]] for answer in answers]


def move(home: Path, *words: str, **env: str) -> Result:
    return hivelore("move", *words, env=environment(home, **env))


def rows_that_the_planner_expects(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT reltuples FROM pg_class WHERE oid = 'memory'::regclass").fetchone()
    assert row is not None
    return row[0]


def test_a_move_there_and_back_changes_nothing(tmp_path: Path) -> None:
    home, back, url = tmp_path / "home", tmp_path / "back", postgres.schema()
    before = filled(home)
    there = move(home, "--to", url, "--json")
    assert there.code == 0, there.err
    report = there.json
    assert (report["finished"], report["equal"]) == (True, True)
    assert report["source"]["counts"] == report["target"]["counts"]
    assert report["target"]["counts"]["memories"] == len(NOTES)
    assert report["target"]["counts"]["versions"] == len(NOTES) + 3
    assert report["target"]["counts"]["vectors"] == report["target"]["counts"]["tokens"] == len(NOTES)
    assert report["source"]["sha256"] == report["target"]["sha256"]
    assert rows_that_the_planner_expects(url) == len(NOTES)
    assert looked_at(home, database=url) == before
    again = move(home, "--from", url, "--to", str(back))
    assert again.code == 0, again.err
    assert "Both databases are equal." in again.out
    for key in (endpoint.OPERATOR_KEY, endpoint.AGENT_KEY):
        (back / key).write_bytes((home / key).read_bytes())
    assert looked_at(back) == before


def test_a_dry_run_counts_the_data_and_changes_nothing(alone: CommandLine, elsewhere: Path, tmp_path: Path) -> None:
    home, url = elsewhere, postgres.schema()
    filled(home)
    looked = alone("move", "--to", url, "--dry-run")
    assert looked.code == 0, looked.err
    assert "which gets its tables." in looked.out
    assert dict(line.split()[:2] for line in looked.out.splitlines()[1:3]) == {"memories": "5", "versions": "8"}
    assert tables(url) == []
    report = alone("move", "--to", str(tmp_path / "new"), "--dry-run", "--json").json
    assert (report["target"]["state"], report["source"]["counts"]["memories"]) == ("will be created", 5)
    assert not (tmp_path / "new").exists()
    assert alone("move", "--to", url).code == 0
    again = alone("move", "--to", url, "--dry-run")
    assert "which is complete since" in again.out


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        return [name for (name,) in found]


@pytest.mark.parametrize("origin", postgres.DATABASES)
def test_a_running_service_continues_until_it_is_stopped_for_the_rest(
    alone: CommandLine, elsewhere: Path, tmp_path: Path, origin: str
) -> None:
    home = elsewhere
    given = postgres.service_on(origin)
    source = given.get("database", str(home / "hivelore.db"))
    target = postgres.schema() if origin == "sqlite" else str(tmp_path / "new.db")
    words = ("--from", source, "--to", target)
    with Service(home, **given) as service:
        first = remember(service, "Kept before.")
        looked = alone("move", *words, "--dry-run")
        assert (looked.code, "It may keep running until everything is copied." in looked.out) == (0, True)
        half = alone("move", *words)
        assert (half.code, half.err.count("Stopped.")) == (7, 0)
        assert "Stop it, then run this again" in half.out
        with pytest.raises(Conflict, match="not finished"):
            open_application(load(home=tmp_path / "other", database=target, embedder="none"), kind=EMBEDDED)
        remember(service, "Kept meanwhile.")
        talk(service).call("DELETE", f"/api/memory/{first}")
        unfinished = alone("move", *words, "--json")
        assert (unfinished.code, unfinished.json["finished"]) == (7, False)
    done = alone("move", *words, "--json")
    assert done.code == 0, done.err
    assert done.json["target"]["counts"]["memories"] == 1
    app = open_application(load(home=home, database=target, embedder="none"), kind=EMBEDDED)
    with closing(app), app.store.read() as view:
        assert view.counts().memories == 1
        assert list(app.store.check()) == []
        app.agents.add("late", Role.WORKER)
    differing = alone("move", *words)
    assert (differing.code, "one of the databases has changed since" in differing.err) == (1, True)


def test_wait_copies_until_the_service_stops(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "new" / "hivelore.db"
    with Service(home) as service:
        words = [HIVELORE, "move", "--to", str(target), "--wait", "--json"]
        process = subprocess.Popen(words, env=environment(home), stdout=-1, stderr=-1, text=True)
        assert process.stderr is not None
        said = [process.stderr.readline(), process.stderr.readline()]
        assert "then this finishes" in said[1]
        remember(service, "Kept while it waits.")
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    assert json.loads(out)["target"]["counts"]["memories"] == 1


def test_invalid_targets_are_refused(alone: CommandLine, elsewhere: Path, tmp_path: Path) -> None:
    filled(elsewhere)
    held = tmp_path / "held"
    held.mkdir()
    lock = Lock(held, Owner(pid=1, kind=EMBEDDED, url=None, started_at=""))
    (tmp_path / "file").touch()
    used = tmp_path / "used"
    with Service(used):
        pass
    for dry in ((), ("--dry-run",)):
        refused = {
            str(elsewhere): (2, "same database"),
            str(held): (5, "The process 1 has this data directory open"),
            str(used): (5, "The target is in use"),
            "postgresql://127.0.0.1:9/nothing": (6, "does not answer"),
            "http://127.0.0.1:1": (2, "is neither"),
            "mysql://ada:hunter2@host/memories": (2, "mysql://... is neither"),
            "postgresql:/ada:hunter2@host/memories": (2, "postgresql:... is neither"),
            " postgresql:/ada:hunter2@host/memories": (2, "postgresql:... is neither"),
            "SQLite:memories.db": (2, "SQLite:... is neither"),
            " ": (2, "is neither"),
            "memory:": (2, "is neither"),
            str(tmp_path / "file" / "new"): (1, "file"),
        }
        for target, (code, words) in refused.items():
            result = alone("move", "--to", target, *dry)
            assert (result.code, result.out) == (code, ""), target
            assert words in result.err
            assert result.err.startswith("hivelore: --to: ")
    lock.release()


def test_invalid_sources_are_refused(alone: CommandLine, elsewhere: Path, tmp_path: Path) -> None:
    elsewhere.mkdir()
    other, newer = tmp_path / "other.db", tmp_path / "newer.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    filled(elsewhere)
    (elsewhere / "hivelore.db").rename(newer)
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("INSERT INTO migration VALUES (99, 'x')")
    sources = {
        str(elsewhere): (3, "There is no database"),
        str(other): (1, "another program"),
        str(newer): (1, "newer Hivelore"),
        postgres.schema(): (3, "no tables of Hivelore"),
    }
    for source, (code, words) in sources.items():
        for dry in ((), ("--dry-run",)):
            result = alone("move", "--from", source, "--to", str(tmp_path / "new.db"), *dry)
            assert (result.code, result.out) == (code, ""), source
            assert words in result.err
            assert result.err.startswith("hivelore: --from: ")
    assert not (tmp_path / "new.db").exists()


def test_a_closed_source_of_an_older_version_is_migrated_first(
    tmp_path: Path, alone: CommandLine, elsewhere: Path
) -> None:
    filled(elsewhere)
    with closing(sqlite3.connect(elsewhere / "hivelore.db")) as connection, connection:
        for statement in reversal():
            connection.execute(statement)
        connection.execute("DELETE FROM migration WHERE number = (SELECT MAX(number) FROM migration)")
    dry = alone("move", "--to", str(tmp_path / "new"), "--dry-run")
    assert (dry.code, "older version" in dry.err) == (5, True)
    assert alone("move", "--to", str(tmp_path / "new")).code == 0


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, 1_200_000))


def test_a_move_stopped_by_a_full_disk_resumes_when_there_is_space(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "new.db"
    with Service(home) as service:
        for place in range(40):
            remember(service, " ".join(f"word{place}x{number}" for number in range(3_000)))
    env = environment(home)
    full = hivelore("move", "--to", str(target), env=env, before=small_files)
    assert (full.code, full.out) == (6, ""), full.err
    assert "Run it again to continue" in full.err
    done = hivelore("move", "--to", str(target), "--json", env=env)
    assert done.code == 0, done.err
    assert done.json["target"]["counts"]["memories"] == 40


def test_a_service_that_uses_the_target_is_reported(alone: CommandLine, elsewhere: Path, tmp_path: Path) -> None:
    home, url = elsewhere, postgres.schema()
    filled(home)
    with Service(tmp_path / "other", database=url):
        for dry in ((), ("--dry-run",)):
            refused = alone("move", "--to", url, *dry)
            assert (refused.code, "Other Hivelore processes have" in refused.err) == (5, True), refused.err
