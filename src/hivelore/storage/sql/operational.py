"""Operational memory as it lies in tables: how sure a memory is, and what was observed of it.

The first has a table of its own beside that of the memories: few have it, it is written far more often than they are,
and it could be indexed without working through all of them.
"""

from collections.abc import Sequence
from typing import Any

from hivelore.indexing.model import DocumentKey
from hivelore.observations.model import Confidence, Held, Observation, Operational
from hivelore.storage.sql.codes import DOOR_OF, INTERFACE, KIND, KIND_OF
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param

OPERATIONAL_COLUMNS = "o.service, o.tier, o.persistent, o.confidence, o.confident_at, o.is_off"


def read_operational(row: Sequence[Any]) -> Operational | None:
    """A row of ``OPERATIONAL_COLUMNS``, all NULL for a memory that is not operational."""
    service, tier, persistent, confidence, confident_at, is_off = row
    if confidence is None:
        return None
    held = Held(base=confidence, since=from_micros(confident_at), is_off=bool(is_off))
    return Operational(held=held, service=service, tier=tier, persistent=bool(persistent))


def operational_params(document: DocumentKey, value: Operational) -> dict[str, Param]:
    return {
        **held_params(document, value.held),
        "service": value.service,
        "tier": value.tier,
        "persistent": int(value.persistent),
    }


def held_params(document: DocumentKey, held: Held) -> dict[str, Param]:
    return {
        "document": document,
        "confidence": _stored_confidence(held.base),
        "confident_at": to_micros(held.since),
        "is_off": int(held.is_off),
    }


def _stored_confidence(confidence: Confidence) -> float:
    """The same on every engine: SQLite makes 0.0 of -0.0."""
    return abs(float(confidence))


def read_observation(row: Sequence[Any]) -> Observation:
    """Columns at, kind, actor, door, session, text and confidence."""
    return Observation(
        at=from_micros(row[0]),
        kind=KIND_OF[row[1]],
        actor=row[2],
        interface=DOOR_OF[row[3]],
        session=row[4],
        text=row[5],
        to=row[6],
    )


def observation_params(document: DocumentKey, value: Observation) -> dict[str, Param]:
    return {
        "document": document,
        "at": to_micros(value.at),
        "kind": KIND[value.kind],
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "text": value.text,
        "confidence": None if value.to is None else _stored_confidence(value.to),
    }
