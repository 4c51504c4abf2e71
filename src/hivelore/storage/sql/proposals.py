"""Proposals as they lie in tables: one row each, and one for each memory that it is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import MemoryId
from hivelore.review.model import Concerned, Decided, Proposal
from hivelore.review.proposal_codec import read_wanted, wanted
from hivelore.storage.sql.codes import (
    DECISION,
    DECISION_OF,
    DOOR_OF,
    INTERFACE,
    PROPOSAL_KIND,
    PROPOSAL_KIND_OF,
    UNDECIDED,
)
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param


def read_proposal(row: Sequence[Any], memories: Sequence[Concerned]) -> Proposal:
    """Columns id, kind, wanted, why, actor, door, session, at, how, decided_at, decided_by, decided_door and reason."""
    return Proposal(
        id=row[0],
        kind=PROPOSAL_KIND_OF[row[1]],
        memories=tuple(memories),
        wanted=None if row[2] is None else read_wanted(orjson.loads(row[2])),
        why=row[3],
        actor=row[4],
        interface=DOOR_OF[row[5]],
        session=row[6],
        at=from_micros(row[7]),
        decided=None if row[8] == UNDECIDED else _read_decision(row[8:]),
    )


def _read_decision(row: Sequence[Any]) -> Decided:
    how, at, actor, interface, reason = row
    return Decided(how=DECISION_OF[how], at=from_micros(at), actor=actor, interface=DOOR_OF[interface], reason=reason)


def proposal_params(value: Proposal) -> dict[str, Param]:
    decided = value.decided
    return {
        "id": value.id,
        "kind": PROPOSAL_KIND[value.kind],
        "wanted": None if value.wanted is None else orjson.dumps(wanted(value.wanted)).decode(),
        "why": value.why,
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "at": to_micros(value.at),
        "how": UNDECIDED if decided is None else DECISION[decided.how],
        "decided_at": None if decided is None else to_micros(decided.at),
        "decided_by": None if decided is None else decided.actor,
        "decided_door": None if decided is None else INTERFACE[decided.interface],
        "reason": None if decided is None else decided.reason,
    }


def concerned_params(value: Proposal, keys: Mapping[MemoryId, DocumentKey]) -> list[dict[str, Param]]:
    """``keys``: of those memories that are there."""
    return [
        {"id": value.id, "position": position, "document": keys[one.memory], "version": one.version}
        for position, one in enumerate(value.memories)
        if one.memory in keys
    ]
