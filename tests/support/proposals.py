"""Proposals for tests: plain examples, and strategies for all valid ones."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TypedDict, Unpack

from hypothesis import strategies as st
from msgspec import UNSET

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.observations.outcomes import Change
from hivelore.review.model import (
    Decision,
    DecisionRecord,
    Proposal,
    ProposalFilter,
    ProposalId,
    ProposalKind,
    ProposalSubject,
    ScriptSubject,
    Wanted,
)
from hivelore.storage.ports import MemoryStore, View
from support.clocks import START
from support.memories import ADA, EVERYTHING, agents, instant, instants, metadata, texts

ALL_PROPOSALS = ProposalFilter(seen=EVERYTHING.visibility)

_numbers = count(1)


class Parts(TypedDict, total=False):
    kind: ProposalKind
    wanted: Wanted | None
    actor: AgentId | None
    why: Clean | None
    at: datetime
    decided: DecisionRecord | None


def a_proposal(*memories: Memory, **parts: Unpack[Parts]) -> Proposal:
    """Returns a proposal of Ada about two contradicting memories; ids ascend in the order of calls."""
    plain = Proposal(
        id=ProposalId(f"p{next(_numbers):06}"),
        kind=ProposalKind.CONTRADICTION,
        memories=tuple(ProposalSubject(one.id, one.version) for one in memories),
        why=Clean("60 s or 90 s"),
        actor=ADA,
        interface=Interface.HOOK,
        session=Clean("s1"),
        at=START,
    )
    return replace(plain, **parts)


def a_decision(how: Decision = Decision.REJECTED) -> DecisionRecord:
    return DecisionRecord(how=how, at=instant(5), actor=None, interface=Interface.CLI, reason=Clean("both are true"))


maybe = st.none() | texts
edits = st.builds(
    Edit,
    name=st.just(UNSET) | texts,
    content=st.just(UNSET) | texts,
    scope=st.just(UNSET) | st.sampled_from(Scope),
    tags=st.just(UNSET) | st.lists(texts, max_size=2).map(tuple),
    project=st.just(UNSET) | maybe,
    metadata=st.just(UNSET) | metadata,
    expires_at=st.just(UNSET) | st.none() | instants,
    subject=st.just(UNSET) | maybe,
    valid_from=st.just(UNSET) | st.none() | instants,
    reason=maybe,
)
changes = st.builds(
    Change,
    observation=st.just(UNSET) | texts,
    service=st.just(UNSET) | maybe,
    confidence=st.just(UNSET) | st.floats(0, 1),
    active=st.just(UNSET) | st.booleans(),
)
wishes = st.none() | st.builds(Wanted, edit=edits) | st.builds(Wanted, change=changes) | st.just(Wanted(forget=True))
decisions = st.builds(
    DecisionRecord,
    how=st.sampled_from(Decision),
    at=instants,
    actor=st.none() | agents,
    interface=st.sampled_from(Interface),
    reason=maybe,
)


scripts = st.builds(
    ScriptSubject, agent=st.none() | agents, version=st.integers(0, 9), digest=st.sampled_from(["0" * 64, "f" * 64])
)


@st.composite
def proposals(draw: st.DrawFn, memories: Sequence[MemoryId]) -> Proposal:
    """Generates proposals about some of these memories."""
    script = draw(st.none() | scripts)
    about = [] if script is not None else draw(st.lists(st.sampled_from(memories), min_size=1, unique=True))
    return Proposal(
        id=ProposalId(f"p{next(_numbers):06}"),
        kind=draw(st.sampled_from(ProposalKind)),
        memories=tuple(ProposalSubject(one, draw(st.integers(1, 9))) for one in about),
        wanted=draw(wishes),
        why=draw(maybe),
        actor=draw(st.none() | agents),
        interface=draw(st.sampled_from(Interface)),
        session=draw(maybe),
        at=draw(instants),
        decided=draw(st.none() | decisions),
        script=script,
    )


def put(store: MemoryStore, *some: Proposal) -> None:
    for one in some:
        store.write(lambda tx, one=one: tx.put_proposal(one))


def inbox_of(view: View, where: ProposalFilter = ALL_PROPOSALS) -> list[Proposal]:
    return list(view.proposals(where, None, 1_000))


def inbox(store: MemoryStore, where: ProposalFilter = ALL_PROPOSALS) -> list[Proposal]:
    with store.read() as view:
        return inbox_of(view, where)
