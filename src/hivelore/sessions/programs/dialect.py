"""How agent programs tell their events and take replies: each is a ``Dialect``, and one translator knows them all.

Programs change what they send from version to version. So a field that is missing or of another kind counts as absent,
what nobody knows is passed over, and only an event without a session is none.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hivelore.core.text import Clean
from hivelore.memories.model import Json
from hivelore.sessions.model import AgentEvent, EventId, EventKind, Origin, Reply, SubAgent, Task

Payload = Mapping[str, object]
"""What a program hands to its hooks."""
Cleaner = Callable[[str], Clean]
MAX_FIELD = 200_000
"""Characters of a field that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """What a program does not tell: it is known where the event was seen."""

    id: EventId
    at: datetime
    project: Clean | None = None
    task: Task | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Names of fields stand in the order in which they are looked for."""

    program: str
    event_name: tuple[str, ...] = ("hook_event_name",)
    kinds: Mapping[str, EventKind]
    """By the program's names of its events; others are not for us."""
    accepts_context: frozenset[EventKind]
    """Where it takes words for the model."""
    session: tuple[str, ...] = ("session_id",)
    origin: tuple[str, ...] = ("source",)
    origins: Mapping[str, Origin]
    texts: Mapping[EventKind, tuple[str, ...]]
    model: tuple[str, ...] = ("model",)
    inserted_text: re.Pattern[str] | None = None
    """What the program itself puts into prompts: of a command that ended in the background, say."""
    transcript: tuple[str, ...] = ("transcript_path",)
    subagent: tuple[tuple[str, ...], tuple[str, ...]] = (("agent_id",), ("agent_type",))
    """Id and type of a sub-agent; where there is no id, each event is about another one."""
    subagent_transcript: tuple[str, ...] = ("agent_transcript_path",)
    context_field: str = "additionalContext"
    """What words for the model are called in a reply."""
    wraps_context: bool = True
    """Whether they stand in ``hookSpecificOutput``, with the name of the event."""
    extra_fields: Mapping[EventKind, Mapping[str, Json]] = field(default_factory=dict[EventKind, Mapping[str, Json]])
    """What such a reply holds besides."""

    def read_event_name(self, payload: Payload) -> str | None:
        """What the program calls an event, where it says so."""
        return _read_field(payload, self.event_name)

    def parse_event(self, name: str, payload: Payload, about: EventContext, clean: Cleaner) -> AgentEvent | None:
        """An event as we know it; None for what is not for us. ``name``: what the program calls it."""
        kind, session = self.kinds.get(name), _read_field(payload, self.session)
        if kind is None or session is None:
            return None
        if kind not in _SUBAGENT_EVENTS and _read_field(payload, self.subagent[0]) is not None:
            return None  # In the conversation of a sub-agent: what is worth telling of it comes with its start and end.
        subagent = _parse_subagent(payload, self.subagent, about, clean) if kind in _SUBAGENT_EVENTS else None
        if subagent is None and kind in _SUBAGENT_EVENTS:
            return None  # The program works for itself then: Claude Code summarises with agents that have no type.
        text = _read_field(payload, self.texts.get(kind, ()))
        if kind is EventKind.PROMPTED and text is not None and self.inserted_text is not None:
            text = self.inserted_text.sub("", text)
            if not text.strip():
                return None
        return AgentEvent(
            id=about.id,
            kind=kind,
            program=self.program,
            session=clean(session),
            at=about.at,
            project=about.project,
            task=about.task,
            origin=self.origins.get(_read_field(payload, self.origin) or "", Origin.NEW),
            text=None if text is None else clean(text),
            model=_read_field(payload, self.model),
            subagent=subagent,
            transcript=_read_field(payload, self.transcript if subagent is None else self.subagent_transcript),
        )

    def format_reply(self, name: str, event: AgentEvent, reply: Reply) -> Json:
        """A reply as the program takes it to this event; None where it is to hear nothing."""
        if reply.context is None or event.kind not in self.accepts_context:
            return None
        said: dict[str, Json] = {**self.extra_fields.get(event.kind, {}), self.context_field: reply.context}
        return {"hookSpecificOutput": {"hookEventName": name, **said}} if self.wraps_context else said


_SUBAGENT_EVENTS = frozenset({EventKind.SUBAGENT_STARTED, EventKind.SUBAGENT_ENDED})


def _parse_subagent(
    payload: Payload, names: tuple[tuple[str, ...], tuple[str, ...]], about: EventContext, clean: Cleaner
) -> SubAgent | None:
    number, kind = (_read_field(payload, fields) for fields in names)
    return None if kind is None else SubAgent(clean(number or about.id), clean(kind))


def _read_field(payload: Payload, names: tuple[str, ...]) -> str | None:
    """The first of these fields that says something, as a text that can be kept."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return storable(value[:MAX_FIELD])
    return None


def storable(text: str) -> str:
    """A text without what no store keeps: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode(errors="replace").decode()
