"""Import and export of memories as JSON lines, with constant memory use.

Each imported line is an object ``{id?, content|text, name?, createdAt|timestamp?, session?, author?, tags?, scope?,
source?, project?, metadata?, ...}``; with ``validFrom``, which may be null, also ``subject?`` and ``supersedes?``.
``id`` becomes the external id, so importing a file twice changes nothing and an interrupted import can be repeated.
Unknown fields become metadata; null means absent. ``export`` describes the exported format.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

from msgspec import to_builtins

from hivelore.core.values import convert, replace
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
"""Exported fields that the importing service sets itself."""


@dataclass(slots=True)
class ImportReport:
    """Progress of an import, in lines. ``assumed_utc``: some times had no time zone and were read as UTC."""

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
    """Imports the valid lines of a stream. ``refused`` receives the number of each invalid line and the reason.

    ``progress`` is called at the start and then regularly, always with the same report; counted memories are durable.
    """
    report = ImportReport()

    def refuse(number: int, reason: str) -> None:
        report.refused += 1
        refused(number, reason)

    progress(report)
    writer = BatchedWriter[int](hive, stored=lambda _, one: _count_result(one, report), refused=refuse)
    for number, line in _read_lines(stream, report, refuse):
        try:
            draft = parse_line(line, report)
        except Invalid as error:
            refuse(number, str(error))
            continue
        if draft is not None:
            writer.add(number, draft, len(line))
        if number % _REPORT_EVERY == 0:
            progress(report)
    writer.flush()
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
    """Returns the draft of a line; None for the first and last line of an export. Raises Invalid."""
    try:
        data = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise Invalid(f"not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON ({error})") from None
    if not isinstance(data, dict):
        raise Invalid("not a JSON object")
    fields = cast(dict[str, Any], data)
    given = {name: value for name, value in fields.items() if value is not None}
    # Without validFrom a subject is not a fact key: it may be the subject of a mail.
    temporal = {name: given.pop(name) for name in _TEMPORAL_FIELDS if name in given} if "validFrom" in fields else {}
    if "hivelore" in given and not {"content", "text"} & given.keys():
        return None
    texts = {name: _as_text(temporal[name], name) for name in ("subject", "supersedes") if name in temporal}
    valid_from = _parse_instant(temporal.get("validFrom"), "validFrom", report)
    return replace(_parse_draft(given, report), valid_from=valid_from, **texts)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _parse_draft(given: dict[str, Any], report: ImportReport) -> Draft:
    content = given.pop("content", None)
    content = given.pop("text", None) if content is None else content
    if not isinstance(content, str):
        raise Invalid("content (or text) is missing or not a text")
    texts: dict[str, Any] = {field: _as_text(given.pop(name), name) for name, field in _TEXTS.items() if name in given}
    created = given.pop("createdAt", None)
    created = given.pop("timestamp", None) if created is None else created
    identity = given.pop("externalId", None) or given.get("id")
    given.pop("id", None)
    tags, metadata = cast(list[Any], given.pop("tags", [])), cast(dict[str, Any], given.pop("metadata", {}))
    if type(tags) is not list or not all(isinstance(tag, str) for tag in tags):
        raise Invalid("tags is not a list of texts")
    if type(metadata) is not dict:
        raise Invalid("metadata is not an object")
    operational = _parse_operational(given, report)
    expires_at = _parse_instant(given.pop("expiresAt", None), "expiresAt", report)
    scope = choice(Scope, given.pop("scope", Scope.AGENT), "scope")
    source = choice(Source, given.pop("source", Source.MANUAL), "source")
    unknown = {name: value for name, value in given.items() if name not in _IGNORED_FIELDS}
    return Draft(
        content=content,
        external_id=None if identity is None else _as_text(identity, "id"),
        scope=scope,
        source=source,
        tags=tuple(tags),
        metadata={**metadata, **unknown} or None,
        created_at=_parse_instant(created, "createdAt", report),
        expires_at=expires_at,
        operational=operational,
        **texts,
    )


def _parse_operational(given: dict[str, Any], report: ImportReport) -> Operational | None:
    """Takes the operational state of an exported memory from the fields. A value of any other type is metadata."""
    if not isinstance(given.get("operational"), dict):
        return None
    fields = cast(dict[str, Any], given.pop("operational"))
    since = _parse_instant(fields.get("confidentAt"), "operational.confidentAt", report)
    service = None if fields.get("service") is None else _as_text(fields["service"], "operational.service")
    if since is None or fields.get("confidence") is None:
        raise Invalid("operational needs confidence and confidentAt")
    try:
        return convert(Operational, {**fields, "service": service, "confidentAt": since})
    except Invalid as error:
        raise Invalid(f"operational: {error}") from None


def _as_text(value: Any, name: str) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise Invalid(f"{name} is not a text")


def _parse_instant(value: Any, name: str, report: ImportReport) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # Seconds since 1970, or milliseconds if seconds would lie beyond the year 5000.
            return datetime.fromtimestamp(value / 1000 if abs(value) > _MAX_SECONDS else value, UTC)
        instant = datetime.fromisoformat(str(value))
        if instant.tzinfo is None:
            report.assumed_utc = True
            instant = instant.replace(tzinfo=UTC)
        return instant.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        raise Invalid(f"{name} is not a time like 2026-01-31T12:00:00Z: {value!r}") from None


def export(hive: Hive) -> Iterator[str]:
    """Yields all visible memories as JSON lines, newest first. The first line is ``{"hivelore": "export", "schema":
    1}``; the last line has their ``count`` and the ``sha256`` of their contents (``fingerprint``). Links between
    memories are not exported, rejected ones included: the importing service judges its memories itself."""
    yield _canonical_json({"hivelore": "export", "schema": SCHEMA_VERSION}) + "\n"
    prints: list[bytes] = []
    for memory in list_all(hive):
        prints.append(_memory_digest(memory))
        yield _canonical_json(to_builtins(memory)) + "\n"
    digest = hashlib.sha256(b"".join(sorted(prints))).hexdigest()
    yield _canonical_json({"hivelore": "end", "count": len(prints), "sha256": digest}) + "\n"


def fingerprint(hive: Hive) -> str:
    """Returns the canonical hash of all visible memories: SHA-256 over the sorted SHA-256 of each memory's canonical
    JSON, without the fields that reading changes (accessedAt, accessCount)."""
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
