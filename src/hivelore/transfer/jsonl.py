"""Arriving and leaving: JSONL in, JSONL out, line by line, with flat memory.

In: one JSON object a line, ``{id?, content|text, name?, createdAt|timestamp?, session?, author?, tags?, scope?,
source?, project?, metadata?, ...}``; with ``validFrom`` (it may be null) also ``subject?`` and ``supersedes?``. ``id``
is kept as the external id, so that the same file twice changes nothing and an interrupted import is simply run again.
Unknown keys go to the metadata; null means absent.
Out: schema version 1, see ``export``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

from msgspec import to_builtins

from hivelore.core.json_codec import convert
from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.memories.model import Memory, Scope, Source
from hivelore.observations.model import Operational
from hivelore.python.hive import Hive, choice
from hivelore.transfer.batched_writes import BatchedWriter

SCHEMA_VERSION = 1
MAX_LINE = 16 * 1024 * 1024
_PAGE = 500
_REPORT_EVERY = 100
_MAX_SECONDS = 1e11
_TEXTS = {
    "name": "name",
    "summary": "summary",
    "session": "session",
    "author": "author",
    "project": "project",
    "category": "category",
    "sourceTaskId": "source_task_id",
    "sourcePath": "source_path",
}
_TEMPORAL_FIELDS = ("subject", "validFrom", "supersedes")
_IGNORED_FIELDS = {"version", "updatedAt", "accessedAt", "accessCount", "provenance", "agentId", "validUntil"}
"""What our own export says besides; the importing service decides these anew."""


@dataclass(slots=True)
class ImportReport:
    """How an import went so far; each count is of lines. ``assumed_utc``: some times had no zone and were taken as
    UTC."""

    lines: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    refused: int = 0
    assumed_utc: bool = False


def import_lines(
    hive: Hive,
    stream: BinaryIO,
    *,
    refused: Callable[[int, str], None],
    progress: Callable[[ImportReport], None] = lambda _: None,
) -> ImportReport:
    """Keep every good line of a stream. A bad one is told to ``refused`` by number and reason, and the rest goes in.

    ``progress`` is called first and then now and then with one and the same report; what it counts as kept is
    durable.
    """
    report = ImportReport()

    def refuse(number: int, reason: str) -> None:
        report.refused += 1
        refused(number, reason)

    progress(report)
    keeper = BatchedWriter[int](hive, kept=lambda _, one: _count_result(one, report), refused=refuse)
    for number, line in _read_lines(stream, report, refuse):
        try:
            draft = parse_line(line, report)
        except Invalid as error:
            refuse(number, str(error))
            continue
        if draft is not None:
            keeper.add(number, draft, len(line))
        if number % _REPORT_EVERY == 0:
            progress(report)
    keeper.flush()
    progress(report)
    return report


def _read_lines(
    stream: BinaryIO, report: ImportReport, refuse: Callable[[int, str], None]
) -> Iterator[tuple[int, bytes]]:
    while line := stream.readline(MAX_LINE):
        report.lines += 1
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            refuse(report.lines, f"longer than {MAX_LINE // 1024 // 1024} MB")
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
        elif line.strip():
            yield report.lines, line


def _count_result(one: WriteResult, report: ImportReport) -> None:
    if one.created:
        report.created += 1
    elif one.changed:
        report.changed += 1
    else:
        report.unchanged += 1


def parse_line(line: bytes, report: ImportReport) -> Draft | None:
    """The draft of one line; None for the first and last line of our own export. Raises Invalid."""
    try:
        data = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Invalid(f"not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON ({error})") from None
    if not isinstance(data, dict):
        raise Invalid("not a JSON object")
    told = cast(dict[str, Any], data)
    given = {name: value for name, value in told.items() if value is not None}
    # What others call a subject may be that of a mail, and the next one with it takes no place of the one before.
    place = {name: given.pop(name) for name in _TEMPORAL_FIELDS if name in given} if "validFrom" in told else {}
    if "hivelore" in given and not {"content", "text"} & given.keys():
        return None
    return replace(_parse_draft(given, report), **_parse_temporal(place, report))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _parse_draft(given: dict[str, Any], report: ImportReport) -> Draft:
    content = given.pop("content", None)
    content = given.pop("text", None) if content is None else content
    if not isinstance(content, str):
        raise Invalid("content (or text) is missing or no text")
    told = [name for name in _TEXTS if name in given]
    texts: dict[str, Any] = {_TEXTS[name]: _as_text(given.pop(name), name) for name in told}
    created = given.pop("createdAt", None)
    created = given.pop("timestamp", None) if created is None else created
    identity = given.pop("externalId", None) or given.get("id")
    given.pop("id", None)
    tags, metadata = cast(list[Any], given.pop("tags", [])), cast(dict[str, Any], given.pop("metadata", {}))
    if type(tags) is not list or not all(isinstance(tag, str) for tag in tags):
        raise Invalid("tags is not a list of texts")
    if type(metadata) is not dict:
        raise Invalid("metadata is not an object")
    known = _parse_operational(given, report)
    return Draft(
        content=content,
        external_id=None if identity is None else _as_text(identity, "id"),
        scope=choice(Scope, given.pop("scope", Scope.AGENT), "scope"),
        source=choice(Source, given.pop("source", Source.MANUAL), "source"),
        tags=tuple(tags),
        metadata={**metadata, **_unknown_fields(given)} or None,
        created_at=_parse_instant(created, "createdAt", report),
        expires_at=_parse_instant(given.get("expiresAt"), "expiresAt", report),
        operational=known,
        **texts,
    )


def _parse_temporal(given: dict[str, Any], report: ImportReport) -> dict[str, Any]:
    """What a line says of the place in time."""
    texts = {name: _as_text(given[name], name) for name in ("subject", "supersedes") if name in given}
    return texts | {"valid_from": _parse_instant(given.get("validFrom"), "validFrom", report)}


def _parse_operational(given: dict[str, Any], report: ImportReport) -> Operational | None:
    """What our own export says of running things; what others call by that name may be anything."""
    if not isinstance(given.get("operational"), dict):
        return None
    told = cast(dict[str, Any], given.pop("operational"))
    since = _parse_instant(told.get("confidentAt"), "operational.confidentAt", report)
    service = None if told.get("service") is None else _as_text(told["service"], "operational.service")
    if since is None or told.get("confidence") is None:
        raise Invalid("operational needs confidence and confidentAt")
    return convert(Operational, {**told, "service": service, "confidentAt": since})


def _unknown_fields(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in _IGNORED_FIELDS and name != "expiresAt"}


def _as_text(value: Any, name: str) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise Invalid(f"{name} is not a text")


def _parse_instant(value: Any, name: str, report: ImportReport) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # Seconds since 1970, or milliseconds where those would lie beyond the year 5000.
            return datetime.fromtimestamp(value / 1000 if abs(value) > _MAX_SECONDS else value, UTC)
        instant = datetime.fromisoformat(str(value))
        if instant.tzinfo is None:
            report.assumed_utc = True
            instant = instant.replace(tzinfo=UTC)
        return instant.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        raise Invalid(f"{name} is not a time like 2026-01-31T12:00:00Z: {value!r}") from None


def export(hive: Hive) -> Iterator[str]:
    """Everything visible as JSON lines: a first line ``{"hivelore": "export", "schema": 1}``, the memories from the
    newest, a last line with their ``count`` and the ``sha256`` of their contents (``fingerprint``)."""
    yield _canonical_json({"hivelore": "export", "schema": SCHEMA_VERSION}) + "\n"
    prints: list[bytes] = []
    for memory in list_all(hive):
        prints.append(_memory_digest(memory))
        yield _canonical_json(to_builtins(memory)) + "\n"
    digest = hashlib.sha256(b"".join(sorted(prints))).hexdigest()
    yield _canonical_json({"hivelore": "end", "count": len(prints), "sha256": digest}) + "\n"


def fingerprint(hive: Hive) -> str:
    """The canonical hash of all that is visible: SHA-256 over the sorted SHA-256 of each memory's canonical
    JSON without what reading changes (accessedAt, accessCount)."""
    return hashlib.sha256(b"".join(sorted(_memory_digest(memory) for memory in list_all(hive)))).hexdigest()


def list_all(hive: Hive) -> Iterator[Memory]:
    after: str | None = None
    while True:
        page = hive.list(limit=_PAGE, after=after, superseded=True)
        yield from page.memories
        if page.next is None:
            return
        after = page.next


def _memory_digest(memory: Memory) -> bytes:
    data = to_builtins(memory)
    del data["accessedAt"], data["accessCount"]
    return hashlib.sha256(_canonical_json(data).encode()).digest()


def _canonical_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
