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
Cleaning = Callable[[str], Clean]
LONGEST = 200_000
"""Characters of a field that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
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
    listens: frozenset[EventKind]
    """Where it takes words for the model."""
    session: tuple[str, ...] = ("session_id",)
    origin: tuple[str, ...] = ("source",)
    origins: Mapping[str, Origin]
    texts: Mapping[EventKind, tuple[str, ...]]
    model: tuple[str, ...] = ("model",)
    put_in: re.Pattern[str] | None = None
    """What the program itself puts into prompts: of a command that ended in the background, say."""
    transcript: tuple[str, ...] = ("transcript_path",)
    subagent: tuple[tuple[str, ...], tuple[str, ...]] = (("agent_id",), ("agent_type",))
    """Id and type of a sub-agent; where there is no id, each event is about another one."""
    subagent_transcript: tuple[str, ...] = ("agent_transcript_path",)
    context: str = "additionalContext"
    """What words for the model are called in a reply."""
    enveloped: bool = True
    """Whether they stand in ``hookSpecificOutput``, with the name of the event."""
    beside: Mapping[EventKind, Mapping[str, Json]] = field(default_factory=dict[EventKind, Mapping[str, Json]])
    """What such a reply holds besides."""

    def name_of(self, payload: Payload) -> str | None:
        """What the program calls an event, where it says so."""
        return _field(payload, self.event_name)

    def event(self, name: str, payload: Payload, about: Circumstances, clean: Cleaning) -> AgentEvent | None:
        """An event as we know it; None for what is not for us. ``name``: what the program calls it."""
        kind, session = self.kinds.get(name), _field(payload, self.session)
        if kind is None or session is None:
            return None
        if kind not in _OF_SUBAGENTS and _field(payload, self.subagent[0]) is not None:
            return None  # In the conversation of a sub-agent: what is worth telling of it comes with its start and end.
        subagent = _subagent(payload, self.subagent, about, clean) if kind in _OF_SUBAGENTS else None
        if subagent is None and kind in _OF_SUBAGENTS:
            return None  # The program works for itself then: Claude Code summarises with agents that have no type.
        text = _field(payload, self.texts.get(kind, ()))
        if kind is EventKind.ASKED and text is not None and self.put_in is not None:
            text = self.put_in.sub("", text)
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
            origin=self.origins.get(_field(payload, self.origin) or "", Origin.NEW),
            text=None if text is None else clean(text),
            model=_field(payload, self.model),
            subagent=subagent,
            transcript=_field(payload, self.transcript if subagent is None else self.subagent_transcript),
        )

    def answer(self, name: str, event: AgentEvent, reply: Reply) -> Json:
        """A reply as the program takes it to this event; None where it is to hear nothing."""
        if reply.context is None or event.kind not in self.listens:
            return None
        said: dict[str, Json] = {**self.beside.get(event.kind, {}), self.context: reply.context}
        return {"hookSpecificOutput": {"hookEventName": name, **said}} if self.enveloped else said


_OF_SUBAGENTS = frozenset({EventKind.SUBAGENT_STARTED, EventKind.SUBAGENT_ENDED})


def _subagent(
    payload: Payload, names: tuple[tuple[str, ...], tuple[str, ...]], about: Circumstances, clean: Cleaning
) -> SubAgent | None:
    number, kind = (_field(payload, fields) for fields in names)
    return None if kind is None else SubAgent(clean(number or about.id), clean(kind))


def _field(payload: Payload, names: tuple[str, ...]) -> str | None:
    """The first of these fields that says something, as a text that can be kept."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return storable(value[:LONGEST])
    return None


def storable(text: str) -> str:
    """A text without what no store keeps: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode(errors="replace").decode()
