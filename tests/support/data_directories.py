"""Data directories that releases have written, and the answers those releases gave, as fixtures.

Each folder of ``FIXTURES`` stands for a release. For each database it holds ``<database>.tar.xz``, which is the data
directory, and ``<database>.json.xz``, which is the time of reading and a list of requests with their answers. The
archive of PostgreSQL also holds ``database.sql``, a dump of one schema. ``support.make_data_directories`` writes them.
"""

import io
import json
import lzma
import math
import re
import tarfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from time import sleep
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

import psycopg
import time_machine
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from support.postgres import database
from support.service import Service

FIXTURES = Path(__file__).parents[1] / "contracts" / "data_directories"
SCHEMA = "hivelore_fixture"
DUMP = "database.sql"
LOCAL_MODEL = "local"
"""The vectors of a fixture come from the model of the package, and so do those of the queries."""
KEYS = "keys.json"
"""The file in a data directory with the keys of its callers by name. Hivelore itself does not know it."""
EXACT = 2e-3
"""The time runs on while a service answers, and confidence and recency with it."""
RENAMED = {"door": "interface", "incarnation": "databaseId", "secondWall": "rowLevelSecurity", "fit": "relevance"}
"""Fields of answers that had another name when the fixtures were recorded."""
MISSING = "(missing)"
SEARCH = "/api/memory/search"
NOT_COMPARED = (
    "environment",
    "message",
    "recallId",
    "lesson",
    "dropped",
    "groups",
    "updated",
    "links",
    "pendingComparisons",
    "entries",
    "warnings",
    "repos",
    "script",
    "profile",
    "profiles",
    "profileField",
)
"""Sentences, which a release may word differently, the id of a new entry of the recall log, and fields that not all
releases have."""
SPAN = timedelta(minutes=5)
"""What an answer dates within this time after the reading began is the present, which is not compared."""
FENCE = re.compile(r"^<hivelore-memory-(\w+)>\n.*?\n\n|\n</hivelore-memory-\w+>$", re.DOTALL)
"""The frame around text for agents: a random mark and a fixed sentence."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of REST. ``caller`` names a key of the data directory."""

    caller: str
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    request: Request
    status: int
    answer: Any


def get(caller: str, path: str, **query: object) -> Request:
    return Request(caller, "GET", path + (f"?{urlencode(query)}" if query else ""))


class Callers:
    """Sends requests to a service with the keys of its data directory."""

    def __init__(self, url: str, keys: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host, self._port, self._keys = parts.hostname, parts.port, keys

    def send(self, request: Request) -> Answered:
        """Sends a request. If the answer is a job, waits for its result."""
        found = self._send(request)
        while found.status == HTTPStatus.ACCEPTED:
            job = self._send(Request(request.caller, "GET", f"/api/maintenance/{found.answer['id']}"))
            if job.answer["state"] != "running":
                return Answered(request, HTTPStatus.OK, job.answer["result"])
            sleep(0.05)
        return found

    def _send(self, request: Request) -> Answered:
        connection = HTTPConnection(self._host, self._port, timeout=60)
        headers = {"Authorization": f"Bearer {self._keys[request.caller]}", **(request.headers or {})}
        body = None
        if request.body is not None:
            body, headers["Content-Type"] = json.dumps(request.body), "application/json"
        try:
            connection.request(request.method, request.path, body, headers)
            response = connection.getresponse()
            said = response.read()
        finally:
            connection.close()
        return Answered(request, response.status, json.loads(said) if said else None)


@contextmanager
def served(
    home: Path, keys: Mapping[str, str], at: datetime, **settings: Any
) -> Generator[tuple[Callers, time_machine.Traveller]]:
    """Yields the callers of a service on a data directory, and the time machine.

    The time begins at ``at`` and runs on.
    """
    with (
        time_machine.travel(at, tick=True) as travel,
        Service(home, embedder=LOCAL_MODEL, **settings) as service,
    ):
        yield Callers(service.url, keys), travel


def keys_of(home: Path) -> Mapping[str, str]:
    return json.loads((home / KEYS).read_text(encoding="utf-8"))


def pack(home: Path, archive: Path) -> None:
    """Writes the files of a data directory. The same files make the same archive."""
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        for one in sorted(home.rglob("*")):
            if one.is_file():
                about = tarfile.TarInfo(str(one.relative_to(home)))
                about.size, about.mode = one.stat().st_size, one.stat().st_mode & 0o777
                tar.addfile(about, io.BytesIO(one.read_bytes()))


def unpack(archive: Path, home: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(home, filter="data")


def write_answers(file: Path, at: datetime, answers: Sequence[Answered]) -> None:
    said = {"at": at.isoformat(), "answers": [asdict(one) for one in answers]}
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(lzma.compress(text.encode()))


def read_answers(file: Path) -> tuple[datetime, Sequence[Answered]]:
    said = json.loads(lzma.decompress(file.read_bytes()))
    answers = [Answered(Request(**one["request"]), one["status"], _renamed(one["answer"])) for one in said["answers"]]
    return datetime.fromisoformat(said["at"]), answers


def _renamed(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {RENAMED.get(name, name): _renamed(value) for name, value in cast("dict[str, Any]", answer).items()}
    return [_renamed(one) for one in cast("list[Any]", answer)] if isinstance(answer, list) else answer


def empty_schema() -> str:
    """Makes the schema of the fixtures in the test database, without tables. Returns its URL."""
    name = sql.Identifier(SCHEMA)
    with psycopg.connect(database(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
    parts = {**conninfo_to_dict(database()), "options": f"-c search_path={SCHEMA},public"}
    return f"postgresql:///?{urlencode(parts, quote_via=quote)}"


def load_dump(dump: Path) -> str:
    """Loads a dump into the schema of the fixtures. Returns the URL of the schema."""
    url = empty_schema()
    with psycopg.connect(database(), autocommit=True) as connection:
        connection.execute(dump.read_bytes())
    return url


def settings_of(home: Path) -> Mapping[str, Any]:
    """Returns the settings of a service on an unpacked data directory. Loads its dump where it has one."""
    dump = home / DUMP
    return {"database": load_dump(dump)} if dump.exists() else {}


def differences(kept: Answered, found: Answered, at: datetime) -> Sequence[str]:
    """Returns where two answers differ that were read from ``at`` on.

    Of an error only its status and code count, and of numbers about three digits. A release may rank differently: of a
    search the first hit has to be among the first three, and the memories count that both answers contain.
    """
    if kept.status != found.status:
        return [f"status: {kept.status} became {found.status}"]
    if kept.status >= 400:
        return list(_differing(kept.answer["code"], found.answer["code"], "code", at))
    if kept.request.path == SEARCH:
        old, new = _memories(kept.answer), _memories(found.answer)
        ids = sorted(old.keys() & new.keys())
        lost = [f"the first hit {one} is none of the first three" for one in [*old][:1] if one not in [*new][:3]]
        return [*lost, *_differing({one: old[one] for one in ids}, {one: new[one] for one in ids}, "memories", at)]
    return list(_differing(_stored(kept.answer, at), _stored(found.answer, at), "answer", at))


def _memories(answer: Any) -> Mapping[str, Any]:
    """Returns the memories in the answer to a search by id, best first."""
    return {hit["memory"]["id"]: hit["memory"] for hit in answer["results"]}


def _stored(answer: Any, at: datetime) -> Any:
    """Returns an answer without what the recalls of these requests returned, which the log contains, and with proposals
    in one order, which releases list differently."""
    if not isinstance(answer, dict):
        return answer
    fields = cast("dict[str, Any]", answer)
    if "recalls" in fields:
        return {**fields, "recalls": [_stored(one, at) for one in fields["recalls"]]}
    if "proposals" in fields:
        return {**fields, "proposals": sorted(fields["proposals"], key=lambda one: one["id"])}
    if "hits" in fields and _is_present(fields["at"], at):
        return {name: value for name, value in fields.items() if name not in ("hits", "candidates")}
    return fields


def _differing(kept: Any, found: Any, place: str, at: datetime) -> Iterator[str]:
    if isinstance(kept, dict) and isinstance(found, dict):
        old, new = cast("dict[str, Any]", kept), cast("dict[str, Any]", found)
        for name in sorted((old.keys() | new.keys()) - set(NOT_COMPARED)):
            yield from _differing(old.get(name, MISSING), new.get(name, MISSING), f"{place}.{name}", at)
    elif isinstance(kept, list) and isinstance(found, list):
        olds, news = cast("list[Any]", kept), cast("list[Any]", found)
        if len(olds) != len(news):
            yield f"{place}: {len(olds)} entries became {len(news)}"
        for number, (old, new) in enumerate(zip(olds, news, strict=False)):
            yield from _differing(old, new, f"{place}[{number}]", at)
    elif not _is_same(kept, found, at):
        yield f"{place}: {kept!r} became {found!r}"


def _is_same(kept: Any, found: Any, at: datetime) -> bool:
    match kept, found:
        case bool(), bool():
            return kept == found
        case ((float() | int()), (float() | int())):
            return math.isclose(kept, found, rel_tol=EXACT, abs_tol=EXACT)
        case str(), str():
            return FENCE.sub("", kept) == FENCE.sub("", found) or (_is_present(kept, at) and _is_present(found, at))
        case _:
            return kept == found


def _is_present(text: str, at: datetime) -> bool:
    try:
        return timedelta() <= datetime.fromisoformat(text) - at < SPAN
    except (ValueError, TypeError):
        return False
