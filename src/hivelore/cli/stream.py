"""Keeping what an agent says in markers while it says it: from lines of a stream to calls of the service."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, cast

from hivelore.cli import output
from hivelore.errors import HiveloreError, Overloaded, Unavailable
from hivelore.observations import observation_codec as wire
from hivelore.observations.markers import (
    CooldownMarker,
    EventMarker,
    Marker,
    MarkerReader,
    ObservationMarker,
    assistant_texts,
)
from hivelore.python.client import Client
from hivelore.sessions.fence import Unfencer

Format = Literal["auto", "stream-json", "text"]
LONGEST_LINE = 32_000_000
"""Bytes of a line; what is beyond is passed over: events of stream-json hold whole files."""
_CHUNK = 65_536
_EVENTS: Mapping[str, tuple[str, type]] = {
    "system": ("subtype", str),
    "assistant": ("message", dict),
    "user": ("message", dict),
    "result": ("subtype", str),
}
"""Types of those that are looked at, and what each has: a line of plain text may be JSON, too, and makes it no
stream-json."""
_LIKE_EVENT = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')
"""A JSON object, or the list of all events that ``--output-format json`` prints."""
ATTEMPTS = 4
FIRST_PAUSE = 0.5
"""Seconds, each further one is longer."""


@dataclass
class Kept:
    """What became of the markers of a stream."""

    effects: Counter[str] = field(default_factory=Counter[str])
    events: int = 0
    cooldowns: int = 0
    wrong: int = 0
    """Meant as markers, and none."""
    lost: int = 0
    """Could not be kept."""

    def counts(self) -> Mapping[str, int]:
        return {
            **{name: self.effects[name] for name in ("new", "reinforced", "contradicted", "uncertain", "known")},
            "events": self.events,
            "cooldowns": self.cooldowns,
            "wrong": self.wrong,
            "lost": self.lost,
        }


def lines_of(stream: BinaryIO, tee: Callable[[bytes], None]) -> Iterator[bytes]:
    """Lines without their ends, as soon as each has come; of one that is too long only its beginning. ``tee`` is given
    all that is read, before the line is."""
    while line := stream.readline(LONGEST_LINE):
        tee(line)
        rest = line
        while rest and not rest.endswith(b"\n"):
            if rest := stream.readline(_CHUNK):
                tee(rest)
        yield line.removesuffix(b"\n")


class StreamIngest:
    def __init__(self, connect: Callable[[], Client], session: str | None, tier: int, format_: Format) -> None:
        """``connect`` starts the service where it is away. ``session`` None: as the stream says."""
        self._connect = connect
        self._client = connect()
        self._session = session
        self._tier = tier
        self._format = format_
        self._categories: list[str] = self._client.call("GET", "/api/status")["categories"]
        self._reader = MarkerReader(self._categories)
        self._unfencing = Unfencer()
        self._fenced: dict[str, Unfencer] = {}
        """Of messages whose last block ended inside of a fence."""
        self.kept = Kept()

    def read(self, line: bytes) -> None:
        """Keep what a line says, before it returns. Lines of a stream are text until its first event, if it may have
        any; what looks like an event and is none, being cut off, say, is no text either."""
        text = line.decode("utf-8-sig", errors="replace")  # Windows marks the beginning of what it hands on.
        event = None if self._format == "text" else _event(text)
        if event is not None:
            self._format = "stream-json"
            self._read_event(event)
        elif self._format == "text" or (self._format == "auto" and _LIKE_EVENT.match(text) is None):
            self._keep(self._reader.read(f"{self._unfencing.read(text)}\n"))

    def _read_event(self, event: Mapping[str, Any]) -> None:
        self._session = self._session or _session_of(event)
        message = _message_of(event)
        unfencing = self._fenced.pop(message, None) or Unfencer()
        for block in assistant_texts(event):
            reader = MarkerReader(self._categories)
            self._keep([*reader.read(unfencing.read(block)), *reader.end()])
        if message and unfencing.is_inside_fence:
            self._fenced[message] = unfencing

    def _keep(self, markers: Iterable[Marker]) -> None:
        for marker in markers:
            try:
                self._take(marker)
            except HiveloreError as error:
                output.note(f"hivelore: not kept: {marker!r}. {error}")
                self.kept.lost += 1

    def _take(self, marker: Marker) -> None:
        match marker:
            case ObservationMarker():
                body = wire.told(
                    observation=marker.text,
                    category=marker.category,
                    service=marker.service,
                    session=self._session,
                    tier=self._tier,
                )
                self.kept.effects[self._call("POST", "/memories", body)["effect"]] += 1
            case EventMarker():
                body = {"level": marker.level.value, "text": marker.text, "service": marker.service}
                self._call("POST", "/api/events", body | {"session": self._session})
                self.kept.events += 1
            case CooldownMarker():
                body = {"service": marker.service, "action": marker.action, "minutes": marker.minutes}
                self._call("PUT", "/api/cooldowns", body | {"session": self._session})
                self.kept.cooldowns += 1
            case _:
                output.note(f"hivelore: {marker.marker} is no marker. {marker.why}")
                self.kept.wrong += 1

    def _call(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        """Asked again where the service is busy, or away, and started then: an agent does not say it twice."""
        import stamina  # Takes 0.1 s, which no other command is to wait for.

        for attempt in stamina.retry_context(
            on=(Unavailable, Overloaded), attempts=ATTEMPTS, timeout=None, wait_initial=FIRST_PAUSE
        ):
            with attempt:
                if attempt.num > 1:
                    self._client = self._connect()
                return self._client.call(method, path, body=body)
        raise AssertionError("the last attempt returns or raises")


def _event(text: str) -> dict[str, Any] | None:
    """An event of stream-json; None for any other line."""
    if _LIKE_EVENT.match(text) is None:
        return None
    try:
        found = json.loads(text, parse_int=float)  # No number is looked at, and int refuses long ones.
    except (ValueError, RecursionError):
        return None
    event = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    kind = event.get("type")
    shape = _EVENTS.get(kind) if isinstance(kind, str) else None
    return event if shape is not None and isinstance(event.get(shape[0]), shape[1]) else None


def _session_of(event: Mapping[str, Any]) -> str | None:
    session = event.get("session_id")
    return session if isinstance(session, str) and 0 < len(session) <= 500 and session.isprintable() else None


def _message_of(event: Mapping[str, Any]) -> str:
    """The id of the message of which an event is a part; none: empty."""
    message = event.get("message")
    name = cast(dict[str, Any], message).get("id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else ""
