"""Sessions, and the handovers of ended sessions. Both keep JSON that is read as a whole."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.text import Clean
from hivelore.sessions.model import (
    AnsweredPrompt,
    Delegation,
    EventId,
    Handover,
    HandoverState,
    InjectedMemory,
    KnownLesson,
    LessonProgress,
    Session,
    SessionEnd,
    ShownMemory,
    SubAgent,
    Task,
)
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    ROLES,
    Codec,
    Columns,
    SqlReader,
    SqlWriter,
    Table,
    codes,
    from_micros,
    plain,
    to_micros,
)


def _session(state: Mapping[str, Any], **columns: Any) -> Session:
    begun = state.get("begun")
    return Session(
        **columns,
        begun_at=None if begun is None else from_micros(begun),
        goal=state["goal"],
        last_prompt=state["asked"],
        context_event=state["briefed"],
        injected=tuple(InjectedMemory(*one) for one in state["told"]),
        shown=tuple(
            ShownMemory(memory, recall, event, from_micros(at)) for memory, recall, event, at in state.get("shown", ())
        ),
        work=state.get("work"),
        delegated=tuple(Delegation(kind, prompt, from_micros(at)) for kind, prompt, at in state.get("delegated", ())),
        owed=tuple(state.get("owed", ())),
        answered=tuple(AnsweredPrompt(*one) for one in state.get("answered", ())),
        missed=tuple(state.get("missed", ())),
        progress=LessonProgress(
            state.get("settled", ""),
            tuple(
                KnownLesson(name, tuple(statements), content) for name, statements, content in state.get("lessons", ())
            ),
            state.get("taught", False),
        ),
        nudge_event=state.get("nudged"),
    )


def _session_state(session: Session) -> str:
    state = {
        "begun": None if session.begun_at is None else to_micros(session.begun_at),
        "goal": session.goal,
        "asked": session.last_prompt,
        "briefed": session.context_event,
        "told": [list(one) for one in session.injected],
        "shown": [[*one[:-1], to_micros(one.at)] for one in session.shown],
        "work": session.work,
        "delegated": [[*one[:-1], to_micros(one.at)] for one in session.delegated],
        "owed": list(session.owed),
        "answered": [list(one) for one in session.answered],
        "missed": list(session.missed),
        "settled": session.progress.settled,
        "lessons": [list(one) for one in session.progress.lessons],
        "taught": session.progress.has_taught,
        "nudged": session.nudge_event,
    }
    return orjson.dumps(state).decode()


def _session_end(said: Mapping[str, Any], **columns: Any) -> SessionEnd:
    task, subagent = said.get("task"), said.get("subagent")
    return SessionEnd(
        **columns,
        transcript=said.get("transcript"),
        text=said.get("text"),
        last_message=said.get("lastMessage"),
        project=said.get("project"),
        task=None if task is None else Task(*task),
        subagent=None if subagent is None else SubAgent(*subagent),
        is_partial=said.get("goesOn", False),
    )


def _details(ended: SessionEnd) -> str:
    said = {
        "transcript": ended.transcript,
        "text": ended.text,
        "lastMessage": ended.last_message,
        "project": ended.project,
        "task": None if ended.task is None else (ended.task.id, ended.task.text),
        "subagent": None if ended.subagent is None else (ended.subagent.id, ended.subagent.type),
        "goesOn": ended.is_partial or None,
    }
    return json.dumps({name: one for name, one in said.items() if one is not None}, ensure_ascii=False)


SESSION = Table(
    _session,
    "session",
    "agent id",
    **plain("agent id"),
    updated_at=INSTANT,
    state=Codec(orjson.loads, _session_state, is_whole=True),
)
STATE = {HandoverState.WAITING: 1, HandoverState.DONE: 2, HandoverState.FAILED: 3}
HANDOVER = Table(
    Handover,
    "handover",
    "id",
    ended=Columns(
        _session_end,
        None,
        id=PLAIN,
        at=INSTANT,
        **plain("program session"),
        said=Codec(json.loads, _details, is_whole=True),
    ),
    by=Columns(Viewer, None, role=ROLES, agent=PLAIN, interface=INTERFACES, acting=FLAG),
    state=codes(STATE),
    attempts=PLAIN,
    not_before=INSTANT,
)


class SessionReader(SqlReader):
    """Implements ``sessions.ports.SessionReads``."""

    TABLES = (SESSION, HANDOVER)

    def session(self, agent: AgentId, session: Clean) -> Session | None:
        return self.read_one(SESSION, "session", agent=agent, id=session)

    def sessions_since(self, since: datetime, limit: int) -> Sequence[Session]:
        return self.read_all(SESSION, "sessions_since", since=to_micros(since), limit=limit)

    def handover(self, event: EventId) -> Handover | None:
        return self.read_one(HANDOVER, "handover_by_id", id=event)

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        waiting = STATE[HandoverState.WAITING]
        return self.read_all(HANDOVER, "handovers_due", waiting=waiting, now=to_micros(now), limit=limit)

    def handovers_after(self, event: EventId, limit: int) -> Sequence[Handover]:
        return self.read_all(HANDOVER, "handovers_after", after=event, limit=limit)

    def handover_counts(self) -> Mapping[HandoverState, int]:
        found = dict(self.rows(self.SQL["handover_counts"]))
        return {state: found.get(code, 0) for state, code in STATE.items()}


class SessionWriter(SessionReader, SqlWriter):
    """Implements ``sessions.ports.SessionWrites``."""

    def put_session(self, session: Session) -> None:
        self.run("session_put", SESSION.params(session))

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        return self.count("sessions_prune", {"at": to_micros(before), "keep": keep, "limit": limit})

    def put_handover(self, handover: Handover) -> None:
        self.run("handover_put", HANDOVER.params(handover))

    def prune_handovers(self, before: datetime, limit: int) -> int:
        over = {"done": STATE[HandoverState.DONE], "failed": STATE[HandoverState.FAILED]}
        return self.count("handovers_prune", {**over, "before": to_micros(before), "limit": limit})
