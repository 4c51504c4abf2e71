"""Ends of sessions as they lie in a table: what was said is one JSON text, which goes once it is distilled."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hivelore.core.agents import Viewer
from hivelore.sessions.model import Handover, SessionEnd, SubAgent, Task
from hivelore.storage.sql.codes import DOOR_OF, HANDOVER_STATE, HANDOVER_STATE_OF, INTERFACE, ROLE, ROLE_OF
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param


def handover(row: Sequence[Any]) -> Handover:
    """Columns id, at, program, session, said, agent, role, door, acting, state, attempts and not_before."""
    said: Mapping[str, Any] = json.loads(row[4])
    task, subagent = said.get("task"), said.get("subagent")
    ended = SessionEnd(
        id=row[0],
        at=from_micros(row[1]),
        program=row[2],
        session=row[3],
        transcript=said.get("transcript"),
        text=said.get("text"),
        last_message=said.get("lastMessage"),
        project=said.get("project"),
        task=None if task is None else Task(*task),
        subagent=None if subagent is None else SubAgent(*subagent),
        is_partial=said.get("goesOn", False),
    )
    return Handover(
        ended=ended,
        by=Viewer(agent=row[5], role=ROLE_OF[row[6]], interface=DOOR_OF[row[7]], acting=bool(row[8])),
        state=HANDOVER_STATE_OF[row[9]],
        attempts=row[10],
        not_before=from_micros(row[11]),
    )


def params(value: Handover) -> dict[str, Param]:
    ended = value.ended
    said = {
        "transcript": ended.transcript,
        "text": ended.text,
        "lastMessage": ended.last_message,
        "project": ended.project,
        "task": None if ended.task is None else (ended.task.id, ended.task.text),
        "subagent": None if ended.subagent is None else (ended.subagent.id, ended.subagent.type),
        "goesOn": ended.is_partial or None,
    }
    return {
        "id": ended.id,
        "at": to_micros(ended.at),
        "program": ended.program,
        "session": ended.session,
        "said": json.dumps({name: one for name, one in said.items() if one is not None}, ensure_ascii=False),
        "agent": value.by.agent,
        "role": ROLE[value.by.role],
        "door": INTERFACE[value.by.interface],
        "acting": int(value.by.acting),
        "state": HANDOVER_STATE[value.state],
        "attempts": value.attempts,
        "not_before": to_micros(value.not_before),
    }
