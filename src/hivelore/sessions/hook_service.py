"""Hooks: from what one handed over to what its program is to be told."""

from datetime import datetime

from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import NotFound
from hivelore.memories.model import Json
from hivelore.memories.normalizer import FIELD_LENGTH
from hivelore.sessions.capture import CaptureService
from hivelore.sessions.model import AgentEvent, EventId, Task
from hivelore.sessions.programs import PROGRAMS
from hivelore.sessions.programs.dialect import Dialect, EventContext, storable
from hivelore.sessions.programs.envelope import Envelope


class HookService:
    def __init__(self, capture: CaptureService, redactor: Redactor, clock: Clock) -> None:
        self._capture = capture
        self._redactor = redactor
        self._clock = clock

    def handle(self, envelope: Envelope, viewer: Viewer, deadline: float | None = None) -> Json:
        """What the program takes as an answer; None where it is to hear nothing."""
        dialect, name = _dialect_and_event(envelope)
        event = self._parse_event(dialect, name, envelope)
        if event is None:
            return None
        return dialect.format_reply(name, event, self._capture.handle(event, viewer, deadline))

    def handle_late(self, envelope: Envelope, viewer: Viewer) -> None:
        """Likewise, where nobody waits for an answer any more."""
        dialect, name = _dialect_and_event(envelope)
        event = self._parse_event(dialect, name, envelope)
        if event is not None:
            self._capture.handle_late(event, viewer)

    def _parse_event(self, dialect: Dialect, name: str, envelope: Envelope) -> AgentEvent | None:
        task = envelope.task()
        about = EventContext(
            id=self._clean_id(envelope.id),
            at=self._event_time(envelope),
            project=None if envelope.project is None else self._clean_field(envelope.project),
            task=None if task is None else self._clean_task(*task),
        )
        return dialect.parse_event(name, envelope.payload, about, self._redactor.clean)

    def _clean_id(self, number: EventId) -> EventId:
        """The id as it is kept. One that reads like a secret is replaced by its keyed digest, which is as unique."""
        text = storable(number)
        return EventId(text if self._redactor.clean(text) == text else self._redactor.digest(text))

    def _event_time(self, envelope: Envelope) -> datetime:
        """Clocks may differ: what has happened has not happened in the future."""
        now = self._clock.now()
        return now if envelope.at is None else min(envelope.at, now)

    def _clean_task(self, number: str, text: str) -> Task:
        return Task(id=self._clean_field(number), text=self._redactor.clean(storable(text)))

    def _clean_field(self, text: str) -> Clean:
        return Clean(self._redactor.clean(storable(text[:FIELD_LENGTH])).strip())


def _dialect_and_event(envelope: Envelope) -> tuple[Dialect, str]:
    dialect = PROGRAMS.get(envelope.program)
    if dialect is None:
        raise NotFound(f"No program {envelope.program[:40]!r} is known here; there are {', '.join(sorted(PROGRAMS))}.")
    return dialect, envelope.event or dialect.read_event_name(envelope.payload) or ""
