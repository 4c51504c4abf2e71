"""Proposals of the reference store."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from heapq import nlargest, nsmallest

from hivelore.core.agents import AgentId
from hivelore.core.values import replace
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.review.model import Proposal, ProposalFilter, ProposalId, ProposalKind
from hivelore.search.model import Visibility
from hivelore.setup_scripts.decisions import may_see
from support.reference.state import NO_DOCUMENTS, State, id_place


class ProposalsView:
    """The part of ``storage.ports.View`` that reads proposals."""

    state: State

    def proposal(self, proposal: ProposalId) -> Proposal | None:
        return self.state.proposals.get(proposal)

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        behind = (one for one in self.state.proposals.values() if after is None or _place(one) < after)
        shown = (one for one in behind if where.admits(one) and _is_seen(self.state, one, where.seen))
        return nlargest(limit, shown, _place)

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        known = self.state.documents.get(document)
        return [] if known is None else about(self.state, known.memory.id)

    def contradictions_about(self, documents: Collection[DocumentKey]) -> Sequence[Proposal]:
        about = {one.id: one for key in documents for one in self.proposals_about(key)}
        found = [one for one in about.values() if one.kind is ProposalKind.CONTRADICTION]
        return sorted(found, key=_place, reverse=True)

    def script_proposals(self, agent: AgentId | None, limit: int) -> Sequence[Proposal]:
        found = (one for one in self.state.proposals.values() if one.script is not None and one.script.agent == agent)
        return nlargest(limit, found, _place)

    def count_open_proposals(self, actor: AgentId | None, kinds: Collection[ProposalKind]) -> int:
        found = (one for one in self.state.proposals.values() if one.actor == actor and one.decided is None)
        return sum(one.kind in kinds for one in found)

    def count_open_by_owner(self, owner: AgentId | None, kind: ProposalKind) -> int:
        found = (one for one in self.state.proposals.values() if one.kind is kind and one.decided is None)
        return sum(_written_last(self.state, one).owner == owner for one in found)

    def outdated_contradictions(self, limit: int) -> Sequence[Proposal]:
        found = (one for one in self.state.proposals.values() if _is_outdated_contradiction(self.state, one))
        return nsmallest(limit, found, _place)


def about(state: State, memory: MemoryId) -> Sequence[Proposal]:
    found = (one for one in state.proposals.values() if any(memory == each.memory for each in one.memories))
    return sorted(found, key=_place, reverse=True)


def put(state: State, proposal: Proposal) -> State:
    there = tuple(one for one in proposal.memories if any(_memories(state, one.memory)))
    if not there and proposal.script is None:
        return replace(state, proposals=state.proposals.drop(proposal.id))
    return replace(state, proposals=state.proposals.put(proposal.id, replace(proposal, memories=there)))


def without(state: State, memory: MemoryId) -> State:
    """Returns the state without the proposals about a memory."""
    kept = state.proposals
    for one in about(state, memory):
        kept = kept.drop(one.id)
    return replace(state, proposals=kept)


def decided_before(state: State, before: datetime, limit: int) -> Sequence[ProposalId]:
    decided = (one for one in state.proposals.values() if one.decided is not None and one.decided.at < before)
    return [proposal for _, proposal in nsmallest(limit, (_place(one) for one in decided if one.at < before))]


def _place(proposal: Proposal) -> tuple[datetime, ProposalId]:
    return proposal.at, proposal.id


def _is_seen(state: State, proposal: Proposal, seen: Visibility) -> bool:
    memories = (memory for one in proposal.memories for memory in _memories(state, one.memory))
    is_script_seen = proposal.script is None or may_see(seen, proposal.script.agent)
    return is_script_seen and all(seen.admits(memory.owner, memory.scope) for memory in memories)


def _written_last(state: State, proposal: Proposal) -> Memory:
    keys = (key for one in proposal.memories for key in state.places.get(id_place(one.memory), NO_DOCUMENTS))
    last = max(keys, key=lambda key: (state.documents[key].memory.updated_at, key))
    return state.documents[last].memory


def _is_outdated_contradiction(state: State, proposal: Proposal) -> bool:
    now = [(one, memory) for one in proposal.memories for memory in _memories(state, one.memory)]
    is_outdated = any(one.version != memory.version or memory.valid_until is not None for one, memory in now)
    return is_outdated and proposal.decided is None and proposal.kind is ProposalKind.CONTRADICTION


def _memories(state: State, memory: MemoryId) -> Iterator[Memory]:
    """Returns the memories with this id: one or none."""
    return (state.documents[key].memory for key in state.places.get(id_place(memory), NO_DOCUMENTS))
