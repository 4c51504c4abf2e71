"""The verb ``ingest-stream``: stores the markers in an agent's output while the agent writes it."""

import json as jsonlib
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any, BinaryIO, Literal, cast

from cyclopts import Parameter

from hivelore.cli import connection, exits, output
from hivelore.cli.observations import Tier
from hivelore.cli.options import ActingAgent, AsJson
from hivelore.errors import HiveloreError, Overloaded, Unavailable
from hivelore.observations.markers import (
    CooldownMarker,
    EventMarker,
    InvalidMarker,
    Marker,
    MarkerReader,
    ObservationMarker,
    assistant_texts,
)
from hivelore.observations.naming import parse_aliases
from hivelore.python.client import Client
from hivelore.runner.stream_markers import BlockMarkers, Excluder, marker_call

Format = Literal["auto", "stream-json", "text"]
LONGEST_LINE = 32_000_000
"""Bytes of a line that are read; the rest is skipped. Events of stream-json contain whole files."""
ATTEMPTS = 4
FIRST_PAUSE = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""
_CHUNK = 65_536
_EVENTS: Mapping[str, tuple[str, type]] = {
    "system": ("subtype", str),
    "assistant": ("message", dict),
    "user": ("message", dict),
    "result": ("subtype", str),
}
"""Event types that are read, each with a field that it must have: plain text may contain other JSON."""
_LIKE_EVENT = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')
"""A JSON object, or the list of all events that ``--output-format json`` prints."""


@dataclass
class Counts:
    """Number of markers by outcome."""

    effects: Counter[str] = field(default_factory=Counter[str])
    events: int = 0
    cooldowns: int = 0
    wrong: int = 0
    """Malformed markers."""
    lost: int = 0
    """Markers that could not be stored."""

    def as_dict(self) -> Mapping[str, int]:
        return {
            **{name: self.effects[name] for name in ("new", "reinforced", "contradicted", "uncertain", "known")},
            "events": self.events,
            "cooldowns": self.cooldowns,
            "wrong": self.wrong,
            "lost": self.lost,
        }


def ingest_stream(
    *,
    session_id: Annotated[
        str | None, Parameter(name="--session", help="Session (default: that of the stream).", metavar="NAME")
    ] = None,
    tier: Tier = 1,
    format_: Annotated[Format, Parameter(name="--format")] = "auto",
    tee: Annotated[bool, Parameter(help="Also print the input.")] = False,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> int:
    """Store the markers of an agent's output while it is written.

    Markers are lines like [MEMORY:timing:jellyfin] Takes 60s to start, [EVENT:warning] The backup is late and
    [COOLDOWN:jellyfin:restart] 30. Stdin is Claude Code's stream-json
    (claude -p "..." --output-format stream-json --verbose) or plain text. Code blocks, quotations, text between
    <private> and </private>, and text that Hivelore injected are skipped.

    Example: hivelore ingest-stream --session nightly --tee
    """
    with ExitStack() as connections:
        ingest = StreamIngest(lambda: connections.enter_context(connection.client(agent)), session_id, tier, format_)
        for line in read_lines(sys.stdin.buffer, _write_through if tee else None):
            ingest.read(line)
    counts = ingest.counts
    if json and not tee:
        output.print_json(counts.as_dict())
    else:
        stored = ", ".join(f"{count} {name}" for name, count in counts.as_dict().items() if count)
        output.note(f"Stored: {stored}." if stored else "No markers.")
    return exits.LEFT_OUT if counts.lost else 0


def _write_through(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def read_lines(stream: BinaryIO, tee: Callable[[bytes], None] | None) -> Iterator[bytes]:
    """Yield each line without its end as soon as it is complete; of a too long line only its beginning.

    ``tee`` receives all input first.
    """
    tee = tee or (lambda _: None)
    while line := stream.readline(LONGEST_LINE):
        tee(line)
        rest = line
        while rest and not rest.endswith(b"\n"):
            if rest := stream.readline(_CHUNK):
                tee(rest)
        yield line.removesuffix(b"\n")


class StreamIngest:
    def __init__(self, connect: Callable[[], Client], session: str | None, tier: int, format_: Format) -> None:
        """``connect`` starts the service if necessary. ``session`` None: use that of the stream."""
        self._connect = connect
        self._client = connect()
        self._session = session
        self._tier = tier
        self._format = format_
        status = self._client.call("GET", "/api/status")
        self._categories: list[str] = status["categories"]
        self._naming = parse_aliases(status["aliases"])
        self._reader = MarkerReader(self._categories, self._naming)
        self._excluding = Excluder()
        self._blocks = BlockMarkers(self._categories, self._naming)
        self.counts = Counts()

    def read(self, line: bytes) -> None:
        """Store the markers of a line before returning.

        With format ``auto``, lines are plain text until the first event. A line that looks like an event but is not
        complete is skipped, not read as text.
        """
        text = line.decode("utf-8-sig", errors="replace")  # Windows puts a byte order mark at the beginning.
        event = None if self._format == "text" else _parse_event(text)
        if event is not None:
            self._format = "stream-json"
            self._read_event(event)
        elif self._format == "text" or (self._format == "auto" and _LIKE_EVENT.match(text) is None):
            self._store_all(self._reader.read(f"{self._excluding.read(text)}\n"))

    def _read_event(self, event: Mapping[str, Any]) -> None:
        self._session = self._session or _session_of(event)
        self._store_all(self._blocks.read(assistant_texts(event), _message_id(event)))

    def _store_all(self, markers: Iterable[Marker]) -> None:
        for marker in markers:
            try:
                self._store(marker)
            except HiveloreError as error:
                output.note(f"hivelore: not stored: {marker!r}. {error}")
                self.counts.lost += 1

    def _store(self, marker: Marker) -> None:
        if isinstance(marker, InvalidMarker):
            output.note(f"hivelore: {marker.marker} is not a valid marker. {marker.why}")
            self.counts.wrong += 1
            return
        answer = self._call(*marker_call(marker, self._session, self._tier))
        match marker:
            case ObservationMarker():
                self.counts.effects[answer["effect"]] += 1
            case EventMarker():
                self.counts.events += 1
            case CooldownMarker():
                self.counts.cooldowns += 1

    def _call(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Retry when the service is busy or away, and start it then: an agent does not repeat its output."""
        pause = FIRST_PAUSE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._client.call(method, path, body=body)
            except (Unavailable, Overloaded):
                if attempt == ATTEMPTS:
                    raise
            time.sleep(pause)
            pause *= 2
            self._client = self._connect()
        raise AssertionError("the last attempt returns or raises")


def _parse_event(text: str) -> dict[str, Any] | None:
    """Return an event of stream-json; None for any other line."""
    if _LIKE_EVENT.match(text) is None:
        return None
    try:
        found = jsonlib.loads(text, parse_int=float)  # Numbers are not read, and int refuses long ones.
    except (ValueError, RecursionError):
        return None
    event = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    kind = event.get("type")
    shape = _EVENTS.get(kind) if isinstance(kind, str) else None
    return event if shape is not None and isinstance(event.get(shape[0]), shape[1]) else None


def _session_of(event: Mapping[str, Any]) -> str | None:
    session = event.get("session_id")
    return session if isinstance(session, str) and 0 < len(session) <= 500 and session.isprintable() else None


def _message_id(event: Mapping[str, Any]) -> str:
    """Return the id of the message that the event is a part of; empty if it has none."""
    message = event.get("message")
    name = cast(dict[str, Any], message).get("id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else ""
