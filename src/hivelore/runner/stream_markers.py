"""Markers in the output of an agent, and the calls of the service that store them (C05, C06, C42).

A hook may report the last message of a turn as well. The service counts the same report of the same session once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hivelore.core.redaction.private_text import PrivateTextRemover
from hivelore.observations.markers import (
    CooldownMarker,
    EventMarker,
    Marker,
    MarkerReader,
    ObservationMarker,
)
from hivelore.observations.naming import Naming
from hivelore.sessions.fence import Unfencer

ValidMarker = ObservationMarker | EventMarker | CooldownMarker
MAX_OPEN = 100
"""Messages whose excluded part may still be open; more are forgotten, oldest first."""


class Excluder:
    """Removes private text and text that Hivelore injected from a text that arrives in pieces."""

    def __init__(self) -> None:
        self._private_text = PrivateTextRemover()
        self._fences = Unfencer()

    @property
    def is_inside(self) -> bool:
        """True while the end of an excluded part is missing."""
        return self._private_text.is_inside or self._fences.is_inside_fence

    def read(self, piece: str) -> str:
        return self._fences.read(self._private_text.read(piece))


class BlockMarkers:
    """Finds markers in the blocks of messages, each of which is whole."""

    def __init__(self, categories: Collection[str], naming: Naming) -> None:
        self._categories = categories
        self._naming = naming
        self._open: dict[str, Excluder] = {}
        """By message whose last block ended inside an excluded part."""

    def read(self, blocks: Iterable[str], message: str) -> Iterator[Marker]:
        """Yields the markers in some blocks of a message; ``message`` is its id, empty if it has none."""
        excluding = self._open.pop(message, None) or Excluder()
        for block in blocks:
            reader = MarkerReader(self._categories, self._naming)
            yield from reader.read(excluding.read(block))
            yield from reader.end()
        if message and excluding.is_inside:
            self._open[message] = excluding
            while len(self._open) > MAX_OPEN:
                del self._open[next(iter(self._open))]


def marker_call(marker: ValidMarker, session: str | None, tier: int) -> tuple[str, str, Mapping[str, Any]]:
    """Returns method, path and body of the call that stores a marker."""
    body: dict[str, Any]
    match marker:
        case ObservationMarker():
            method, path = "POST", "/memories"
            body = {
                "observation": marker.text,
                "category": marker.category,
                "service": marker.service,
                "tier": tier,
            }
        case EventMarker():
            method, path = "POST", "/api/events"
            body = {"level": marker.level.value, "text": marker.text, "service": marker.service}
        case CooldownMarker():
            method, path = "PUT", "/api/cooldowns"
            body = {"service": marker.service, "action": marker.action, "minutes": marker.minutes}
    return method, path, {**body, "session": session}
