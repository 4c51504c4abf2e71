"""Hook events and replies of agent programs. Each program is a ``Dialect``; one parser handles all of them.

Programs change their payloads between versions. A missing or mistyped field counts as absent, unknown fields are
ignored, and only an event without a session is rejected.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from hivelore.core.redaction.excerpts import MARGIN, beginning
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid
from hivelore.memories.model import Json
from hivelore.sessions.missed_answers import MissReason
from hivelore.sessions.model import AgentEvent, Delegation, EventId, EventKind, Origin, Reply, SubAgent, Task
from hivelore.sessions.operations import MAX_EVENT_ID, HookEvent
from hivelore.sessions.transcripts import claude_code, gemini

Payload = Mapping[str, object]
"""JSON object that a program passes to its hooks."""
Cleaner = Callable[[str], Clean]
MAX_FIELD = 200_000
"""Characters of a field that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """Facts about an event that the payload does not contain."""

    id: EventId
    at: datetime
    project: Clean | None = None
    branch: Clean | None = None
    changed_files: tuple[Clean, ...] = ()
    task: Task | None = None
    accepts_nudge: bool = False
    """True if HIVELORE_NUDGE is on, as far as the hook knows that the run is not headless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Field names are tried in order."""

    program: str
    event_name: tuple[str, ...] = ("hook_event_name",)
    kinds: Mapping[str, EventKind]
    """Kind by the program's event name; other events are ignored."""
    accepts_context: frozenset[EventKind]
    """Events whose reply may carry text for the model."""
    session: tuple[str, ...] = ("session_id",)
    origin: tuple[str, ...] = ("source",)
    origins: Mapping[str, Origin]
    texts: Mapping[EventKind, tuple[str, ...]]
    model: tuple[str, ...] = ("model",)
    completed_task: tuple[str, tuple[str, ...]] | None = None
    """Fields for the id and the texts of a completed task."""
    inserted_text: re.Pattern[str] | None = None
    """Text that the program itself inserts into prompts."""
    transcript: tuple[str, ...] = ("transcript_path",)
    subagent: tuple[tuple[str, ...], tuple[str, ...]] = (("agent_id",), ("agent_type",))
    """Fields for the id and type of a sub-agent. Without an id each event counts as another sub-agent."""
    subagent_transcript: tuple[str, ...] = ("agent_transcript_path",)
    delegating_tools: frozenset[str] = frozenset()
    """Tools that start a sub-agent."""
    context_field: str = "additionalContext"
    """Field of a reply that holds text for the model."""
    wraps_context: bool = True
    """True if the text stands in ``hookSpecificOutput`` with the event name."""
    extra_fields: Mapping[EventKind, Mapping[str, Json]] = field(default_factory=dict[EventKind, Mapping[str, Json]])
    """Further fields of such a reply."""
    accepts_nudge: frozenset[EventKind] = frozenset()
    """Events whose reply may ask the agent to continue."""
    unattended_modes: frozenset[str] = frozenset()
    """Permission modes in which nothing is asked: nobody is present, or the agent is only to plan."""

    def read_event_name(self, payload: Payload) -> str | None:
        """Returns the program's event name, if the payload has it."""
        return _read_field(payload, self.event_name)

    def parse_event(self, name: str, payload: Payload, about: EventContext, clean: Cleaner) -> AgentEvent | None:
        """Parses a payload; None if the event is ignored. ``name``: the program's event name."""
        kind, session = self.kinds.get(name), _read_field(payload, self.session)
        if kind is None or session is None:
            return None
        if kind not in _SUBAGENT_EVENTS and _read_field(payload, self.subagent[0]) is not None:
            return None  # Inside a sub-agent's conversation: only its start and end are handled.
        subagent = _parse_subagent(payload, self.subagent, about, clean) if kind in _SUBAGENT_EVENTS else None
        delegated = self._parse_delegation(payload, about, clean) if kind is EventKind.DELEGATED else None
        if delegated is None and kind is EventKind.DELEGATED:
            return None
        if subagent is None and kind in _SUBAGENT_EVENTS:
            return None  # An internal agent of the program: Claude Code summarizes with agents that have no type.
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
            branch=about.branch,
            changed_files=about.changed_files,
            task=about.task,
            completed=self._parse_completed_task(payload, clean) if kind is EventKind.ADVANCED else None,
            origin=self.origins.get(_read_field(payload, self.origin) or "", Origin.NEW),
            text=None if text is None else clean(text),
            model=_read_field(payload, self.model),
            subagent=subagent,
            delegated=delegated,
            transcript=_read_field(payload, self.transcript if subagent is None else self.subagent_transcript),
            accepts_nudge=about.accepts_nudge and kind in self.accepts_nudge and not self._is_unattended(payload),
            is_continuation=bool(payload.get("stop_hook_active")),
        )

    def _is_unattended(self, payload: Payload) -> bool:
        return _read_field(payload, ("permission_mode",)) in self.unattended_modes

    def _parse_delegation(self, payload: Payload, about: EventContext, clean: Cleaner) -> Delegation | None:
        """Parses the call of a tool; None for a tool that starts no sub-agent."""
        values = payload.get("tool_input")
        if _read_field(payload, ("tool_name",)) not in self.delegating_tools or not isinstance(values, dict):
            return None
        given = cast(Payload, values)
        prompt = _read_field(given, ("prompt",))
        return (
            None
            if prompt is None
            else Delegation(clean(_read_field(given, ("subagent_type",)) or ""), clean(prompt), about.at)
        )

    def _parse_completed_task(self, payload: Payload, clean: Cleaner) -> Task | None:
        if self.completed_task is None:
            return None
        name, fields = self.completed_task
        number = _read_field(payload, (name,))
        texts = dict.fromkeys(text for field in fields if (text := _read_field(payload, (field,))) is not None)
        return Task(clean(number), clean("\n\n".join(texts))) if number is not None and texts else None

    def format_reply(self, name: str, event: AgentEvent, reply: Reply) -> Json:
        """Returns the reply in the program's format; None for no reply."""
        if reply.nudge is not None and event.kind in self.accepts_nudge:
            return {"decision": "block", "reason": reply.nudge}
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
    """Returns the first of these fields that holds text, in storable form."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return storable(beginning(value, MAX_FIELD - MARGIN))
    return None


def storable(text: str) -> str:
    """Removes characters that no store accepts: NUL and lone surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()


CLAUDE_CODE = Dialect(
    program="claude-code",
    kinds={
        "SessionStart": EventKind.STARTED,
        "UserPromptSubmit": EventKind.PROMPTED,
        "Stop": EventKind.ANSWERED,
        "TaskCompleted": EventKind.ADVANCED,
        "PreCompact": EventKind.COMPACTING,
        "PostCompact": EventKind.COMPACTED,
        "PreToolUse": EventKind.DELEGATED,
        "SubagentStart": EventKind.SUBAGENT_STARTED,
        "SubagentStop": EventKind.SUBAGENT_ENDED,
        "SessionEnd": EventKind.ENDED,
    },
    # Context in a reply to Stop or SubagentStop would make the agent continue; SessionEnd accepts none.
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED, "compact": Origin.COMPACTED},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.ANSWERED: ("last_assistant_message",),
        EventKind.COMPACTED: ("compact_summary",),
        EventKind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    completed_task=("task_id", ("task_subject", "task_description")),
    delegating_tools=frozenset({"Agent", "Task"}),
    inserted_text=claude_code.INSERTED,
    accepts_nudge=frozenset({EventKind.ANSWERED}),
    unattended_modes=frozenset({"dontAsk", "plan"}),
)


_CLAUDE_CODE_ONLY = ("PreToolUse", "TaskCompleted")
CODEX = replace(
    CLAUDE_CODE,
    program="codex",
    kinds={name: kind for name, kind in CLAUDE_CODE.kinds.items() if name not in _CLAUDE_CODE_ONLY},
    delegating_tools=frozenset(),
    # With the approval policy `never`, as in `codex exec`, it reports the first one.
    unattended_modes=frozenset({"bypassPermissions", *CLAUDE_CODE.unattended_modes}),
)


GEMINI = Dialect(
    program="gemini",
    kinds={
        "SessionStart": EventKind.STARTED,
        "BeforeAgent": EventKind.PROMPTED,
        "AfterAgent": EventKind.ANSWERED,
        "SessionEnd": EventKind.ENDED,
    },
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED},
    texts={EventKind.PROMPTED: ("prompt",), EventKind.ANSWERED: ("prompt_response",)},
    inserted_text=gemini.INSERTED,
)


COPILOT = Dialect(
    program="copilot",
    event_name=(),
    kinds={
        "sessionStart": EventKind.STARTED,
        "userPromptSubmitted": EventKind.PROMPTED,
        "agentStop": EventKind.ANSWERED,
        "preCompact": EventKind.COMPACTING,
        "subagentStart": EventKind.SUBAGENT_STARTED,
        "subagentStop": EventKind.SUBAGENT_ENDED,
    },
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    session=("sessionId",),
    origins={"resume": Origin.RESUMED},
    texts={EventKind.PROMPTED: ("prompt",), EventKind.SUBAGENT_ENDED: ("response",)},
    transcript=("transcriptPath",),
    subagent=(("agentId",), ("agentType", "agentName")),
    subagent_transcript=(),
    wraps_context=False,
)


CURSOR = Dialect(
    program="cursor",
    kinds={
        "sessionStart": EventKind.STARTED,
        "beforeSubmitPrompt": EventKind.PROMPTED,
        "afterAgentResponse": EventKind.ANSWERED,
        "preCompact": EventKind.COMPACTING,
        "subagentStop": EventKind.SUBAGENT_ENDED,
    },
    # Context with a prompt is not documented but works since version 3.20.
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED}),
    session=("conversation_id", "session_id"),
    origins={},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.ANSWERED: ("text",),
        EventKind.SUBAGENT_ENDED: ("summary", "result"),
    },
    transcript=(),
    subagent=(("subagent_id",), ("subagent_type",)),
    subagent_transcript=(),
    context_field="additional_context",
    wraps_context=False,
    extra_fields={EventKind.PROMPTED: {"continue": True}},
)


OPENCODE = Dialect(
    program="opencode",
    kinds={
        "chat.message": EventKind.PROMPTED,
        "session.idle": EventKind.ANSWERED,
        "session.compacting": EventKind.COMPACTING,
        "session.compacted": EventKind.COMPACTED,
        "subagent.started": EventKind.SUBAGENT_STARTED,
        "subagent.idle": EventKind.SUBAGENT_ENDED,
    },
    accepts_context=frozenset({EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    origins={},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.SUBAGENT_STARTED: ("prompt",),
        EventKind.ANSWERED: ("last_assistant_message",),
        EventKind.COMPACTED: ("compact_summary",),
        EventKind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    wraps_context=False,
)


PROGRAMS: Mapping[str, Dialect] = {
    dialect.program: dialect for dialect in (CLAUDE_CODE, CODEX, GEMINI, COPILOT, CURSOR, OPENCODE)
}


NUDGED = frozenset(name for name, dialect in PROGRAMS.items() if dialect.accepts_nudge)
"""Programs whose agents can be asked for lessons."""


class SpooledEvent(HookEvent, frozen=True, kw_only=True):
    url: str | None = None
    """Service that it was sent to, if configured."""
    key: str | None = None
    """Public part of HIVELORE_KEY; empty if the key has none, None if HIVELORE_KEY was not set."""
    missed: MissReason = MissReason.LATE
    """Why the hook had no answer."""


def parse_spooled_event(data: object) -> SpooledEvent:
    """Raises Invalid without program, id or payload. Other missing or mistyped fields count as absent, except that a
    mistyped key counts as an unusable one."""
    fields = cast(Mapping[str, object], data if isinstance(data, dict) else {})
    program, number, payload = fields.get("program"), fields.get("id"), fields.get("payload")
    if not (isinstance(program, str) and isinstance(number, str) and isinstance(payload, dict)):
        raise Invalid("This is not a spooled hook event.")
    return SpooledEvent(
        program=program,
        id=number[:MAX_EVENT_ID],
        payload=cast(dict[str, object], payload),
        event=_text(fields.get("event")),
        at=_instant(fields.get("at")),
        project=_text(fields.get("project")),
        url=_text(fields.get("url")),
        key=None if fields.get("key") is None else _text(fields["key"]) or "",
        branch=_text(fields.get("branch")),
        changed_files=_text(fields.get("changedFiles")),
        missed=_reason(fields.get("missed")),
        task_id=_text(fields.get("taskId")),
        task_file=_text(fields.get("taskFile")),
    )


def read_task(event: HookEvent) -> tuple[str, str] | None:
    """Returns id and text of the current task (A45) from the task file, else the id alone. An invalid file is
    ignored."""
    try:
        content: object = json.loads(event.task_file or "null")
    except (ValueError, RecursionError):
        content = None
    task = cast(Mapping[str, object], content if isinstance(content, dict) else {})
    number, text = _text(task.get("id")), _text(task.get("task"))
    if number is not None and text is not None:
        return number, text
    return None if event.task_id is None else (event.task_id, "")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _reason(value: object) -> MissReason:
    return MissReason(value) if value in tuple(MissReason) else MissReason.LATE


def _instant(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
