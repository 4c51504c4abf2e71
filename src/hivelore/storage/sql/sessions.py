"""Sessions as they lie in a table: what is known of one stands together in a column, since nobody asks for parts."""

from collections.abc import Sequence
from typing import Any

import orjson

from hivelore.sessions.model import InjectedMemory, Session, ShownMemory
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param


def params(session: Session) -> dict[str, Param]:
    state = {
        "begun": None if session.begun_at is None else to_micros(session.begun_at),
        "goal": session.goal,
        "asked": session.last_prompt,
        "briefed": session.context_event,
        "told": [list(one) for one in session.injected],
        "shown": [[*one[:-1], to_micros(one.at)] for one in session.shown],
    }
    return {
        "agent": session.agent,
        "id": session.id,
        "updated_at": to_micros(session.updated_at),
        "state": orjson.dumps(state).decode(),
    }


def session(row: Sequence[Any]) -> Session:
    """Columns agent, id, updated_at and state."""
    state = orjson.loads(row[3])
    begun = state.get("begun")
    return Session(
        agent=row[0],
        id=row[1],
        updated_at=from_micros(row[2]),
        begun_at=None if begun is None else from_micros(begun),
        goal=state["goal"],
        last_prompt=state["asked"],
        context_event=state["briefed"],
        injected=tuple(InjectedMemory(*one) for one in state["told"]),
        shown=tuple(
            ShownMemory(memory, recall, event, from_micros(at)) for memory, recall, event, at in state.get("shown", ())
        ),
    )
