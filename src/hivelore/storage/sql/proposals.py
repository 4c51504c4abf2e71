"""Proposals as they lie in tables: one row each, and one for each memory that it is about."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import MemoryId
from hivelore.review.model import DecisionRecord, Proposal, ProposalFilter, ProposalSubject
from hivelore.review.proposal_codec import read_wanted, wanted
from hivelore.storage.sql.codes import DECISION, DECISION_OF, DOOR_OF, INTERFACE, PROPOSAL_KIND, PROPOSAL_KIND_OF
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param

_OPEN = 0
"""In the place of how it was decided."""


def proposal(row: Sequence[Any], memories: Sequence[ProposalSubject]) -> Proposal:
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
        decided=None if row[8] == _OPEN else _decided(row[8:]),
    )


def _decided(row: Sequence[Any]) -> DecisionRecord:
    how, at, actor, interface, reason = row
    return DecisionRecord(
        how=DECISION_OF[how], at=from_micros(at), actor=actor, interface=DOOR_OF[interface], reason=reason
    )


def params(value: Proposal) -> dict[str, Param]:
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
        "how": _OPEN if decided is None else DECISION[decided.how],
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


def asked(where: ProposalFilter) -> tuple[str, dict[str, Param]]:
    """A filter, but for who may see the memories, to stand behind the other conditions."""
    sql, found = "", dict[str, Param]()
    if where.actor is not None:
        sql, found["actor"] = " AND pr.actor = :actor", where.actor
    if where.open is not None:
        sql += f" AND pr.how {'=' if where.open else '<>'} {_OPEN}"
    if where.kind is not None:
        sql, found["kind"] = f"{sql} AND pr.kind = :kind", PROPOSAL_KIND[where.kind]
    return sql, found
