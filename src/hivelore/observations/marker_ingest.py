"""Marker ingest: stores the observations, events and cooldowns an agent reports in markers (C05, C06, C42)."""

import logging
from collections.abc import Collection
from datetime import datetime

from hivelore.core.agents import Viewer
from hivelore.core.redaction.private_text import remove_private_text
from hivelore.errors import HiveloreError, Overloaded, Unavailable
from hivelore.events.cooldowns import Cooldowns
from hivelore.events.log import EventLog
from hivelore.observations.markers import (
    CooldownMarker,
    EventMarker,
    InvalidMarker,
    Marker,
    MarkerReader,
    ObservationMarker,
)
from hivelore.observations.naming import Naming
from hivelore.observations.outcomes import ObservationInput
from hivelore.observations.service import ObservationService
from hivelore.sessions.fence import remove_fences

_LOG = logging.getLogger("hivelore")


class MarkerIngest:
    def __init__(
        self,
        observation_service: ObservationService,
        events: EventLog,
        cooldowns: Cooldowns,
        categories: Collection[str],
        naming: Naming,
    ) -> None:
        self._observation_service = observation_service
        self._events = events
        self._cooldowns = cooldowns
        self._categories = categories
        self._naming = naming

    def ingest(self, text: str, viewer: Viewer, session: str, at: datetime) -> int:
        """Stores the markers in a message of the assistant, ignoring private and injected text. Returns the number
        stored; invalid ones are logged. Raises Unavailable if a retry may help."""
        reader = MarkerReader(self._categories, self._naming)
        kept = 0
        for marker in [*reader.read(remove_fences(remove_private_text(text))), *reader.end()]:
            try:
                kept += self._store(marker, viewer, session, at)
            except (Unavailable, Overloaded):
                raise
            except HiveloreError as error:
                _LOG.warning("Ignored a marker. %s", error)
        return kept

    def _store(self, marker: Marker, viewer: Viewer, session: str, at: datetime) -> bool:
        match marker:
            case ObservationMarker():
                seen = ObservationInput(
                    observation=marker.text, category=marker.category, service=marker.service, session=session, at=at
                )
                self._observation_service.observe(seen, viewer)
            case EventMarker():
                self._events.record(marker.level, marker.text, viewer, service=marker.service, session=session, at=at)
            case CooldownMarker():
                self._cooldowns.set(
                    marker.service, marker.action, viewer, minutes=marker.minutes, session=session, at=at
                )
            case InvalidMarker():
                _LOG.warning("Ignored the invalid marker %s. %s", marker.marker, marker.why)
                return False
        return True
