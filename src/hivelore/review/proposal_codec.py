"""How proposals look as JSON, at every door and in tables."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import convert, to_builtins

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.memories.codec import Object, instant
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.outcomes import Change
from hivelore.review.model import (
    Decision,
    DecisionRecord,
    Deletion,
    Proposal,
    ProposalDetail,
    ProposalId,
    ProposalKind,
    ProposalPage,
    ProposalSubject,
    Wanted,
)


def wanted(value: Wanted) -> Object:
    """One key, that says what is to be done."""
    match value:
        case Edit():
            return {"edit": to_builtins(value)}
        case Deletion():
            return {"forget": True}
        case Change():
            return {"change": value.changed_fields()}


def read_wanted(data: Mapping[str, Any]) -> Wanted:
    if "edit" in data:
        return convert(data["edit"], Edit)
    return Deletion() if "forget" in data else Change(**data["change"])


def decided(value: DecisionRecord) -> Object:
    return {
        "how": value.how.value,
        "at": instant(value.at),
        "actor": value.actor,
        "door": value.interface.value,
        "reason": value.reason,
    }


def _read_decided(data: Mapping[str, Any]) -> DecisionRecord:
    return DecisionRecord(
        how=Decision(data["how"]),
        at=datetime.fromisoformat(data["at"]).astimezone(UTC),
        actor=data["actor"],
        interface=Interface(data["door"]),
        reason=data["reason"],
    )


def proposal(value: Proposal) -> Object:
    return {
        "id": value.id,
        "kind": value.kind.value,
        "memories": [{"id": one.memory, "version": one.version} for one in value.memories],
        "wanted": None if value.wanted is None else wanted(value.wanted),
        "why": value.why,
        "actor": value.actor,
        "door": value.interface.value,
        "session": value.session,
        "at": instant(value.at),
        "decided": None if value.decided is None else decided(value.decided),
    }


def read_proposal(data: Mapping[str, Any]) -> Proposal:
    return Proposal(
        id=ProposalId(data["id"]),
        kind=ProposalKind(data["kind"]),
        memories=tuple(ProposalSubject(MemoryId(one["id"]), one["version"]) for one in data["memories"]),
        wanted=None if data["wanted"] is None else read_wanted(data["wanted"]),
        why=data["why"],
        actor=None if data["actor"] is None else AgentId(data["actor"]),
        interface=Interface(data["door"]),
        session=data["session"],
        at=datetime.fromisoformat(data["at"]).astimezone(UTC),
        decided=None if data["decided"] is None else _read_decided(data["decided"]),
    )


def page(value: ProposalPage) -> Object:
    return {
        "proposals": [proposal(one) for one in value.proposals],
        "names": dict(value.names),
        "next": value.next,
        "dropped": value.dropped,
    }


def read_page(data: Mapping[str, Any]) -> ProposalPage:
    return ProposalPage(
        proposals=tuple(read_proposal(one) for one in data["proposals"]),
        next=data["next"],
        dropped=data.get("dropped"),
        names={MemoryId(one): Clean(name) for one, name in data["names"].items()},
    )


def case(value: ProposalDetail) -> Object:
    return {"proposal": proposal(value.proposal), "memories": to_builtins(value.memories)}


def read_case(data: Mapping[str, Any]) -> ProposalDetail:
    return ProposalDetail(
        proposal=read_proposal(data["proposal"]), memories=convert(data["memories"], tuple[Memory, ...])
    )
