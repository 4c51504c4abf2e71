"""Who sees what and who changes what (X3, X4): the one place."""

from enum import StrEnum

from hivelore.domain.agent import AgentId, LeadSees, Role, Viewer
from hivelore.domain.memory import Memory, Scope, Trust
from hivelore.domain.proposal import Decision, Proposal, ProposalFilter, ProposalKind
from hivelore.domain.recall_log import RecallFilter
from hivelore.domain.search import ScopeChoice, Visibility


class Verb(StrEnum):
    """What can be done to a memory that one may see."""

    EDIT = "edit"
    DELETE = "delete"
    PROMOTE = "promote"
    DEMOTE = "demote"


def visible_to(viewer: Viewer, lead_sees: LeadSees, scope: ScopeChoice = ScopeChoice.ALL) -> Visibility:
    """What ``viewer`` may see of the shelves they ask for (A13)."""
    private, shared = scope is not ScopeChoice.SWARM, scope is not ScopeChoice.AGENT
    wide = viewer.role is Role.OPERATOR or (viewer.role is Role.LEAD and lead_sees is LeadSees.ALL)
    return Visibility(own=viewer.agent if private else None, swarm=shared, others=wide and private)


def recalls_visible_to(viewer: Viewer, lead_sees: LeadSees, agent: AgentId | None = None) -> RecallFilter | None:
    """Which recalls ``viewer`` may see of those of ``agent`` (None: of all), and which memories in them; None: of
    none. A question is as private as a private memory of who asked it; those that operators ask are for operators."""
    seen = visible_to(viewer, lead_sees)
    if not seen.others and agent not in (None, viewer.agent):
        return None
    asked_by = agent if seen.others else viewer.agent
    return RecallFilter(seen=seen, agent=asked_by, operators=viewer.role is Role.OPERATOR)


def may_change(viewer: Viewer, memory: Memory, verb: Verb) -> bool:
    """Whether ``viewer``, who sees ``memory``, may do this to it.

    Agents change their own; a lead also what is shared; an operator all. Nobody becomes the owner of
    the swarm's own memories, so those cannot be demoted. What is known about running things agents observe, and only
    operators change (X19).
    """
    if verb is Verb.DEMOTE and memory.owner is None:
        return False
    if viewer.role is Role.OPERATOR:
        return True
    if memory.operational is not None:
        return False
    if viewer.agent is not None and memory.owner == viewer.agent:
        return True
    return viewer.role is Role.LEAD and memory.scope is Scope.SWARM and verb is not Verb.DEMOTE


def needs_review(viewer: Viewer, memory: Memory) -> bool:
    """Whether an operator has to share this: what a tool or the web said may be meant to mislead agents (N12)."""
    return memory.provenance.trust in (Trust.TOOL_OUTPUT, Trust.WEB) and viewer.role is not Role.OPERATOR


def to_review(viewer: Viewer, memory: Memory, verb: Verb) -> ProposalKind | None:
    """As what this has to be decided by somebody else when ``viewer``, who sees ``memory``, asks for it; None where it
    has not, or where they may not even ask."""
    if viewer.role is Role.OPERATOR:
        return None
    if memory.operational is not None:
        return ProposalKind.OPERATIONAL
    if verb is Verb.PROMOTE and needs_review(viewer, memory):
        return ProposalKind.SHARING if may_change(viewer, memory, verb) else None
    return None


def proposals_visible_to(viewer: Viewer, lead_sees: LeadSees) -> ProposalFilter:
    """Workers see what became of their own; leads and operators all about what they may see."""
    own = viewer.agent if viewer.role is Role.WORKER else None
    return ProposalFilter(seen=visible_to(viewer, lead_sees), actor=own)


def may_decide(viewer: Viewer, proposal: Proposal, how: Decision) -> bool:
    """Whether ``viewer``, who sees ``proposal``, may decide about it like this.

    An operator may; a lead, too, but for what only operators do to what is about running things (X19), and not that
    their own text is to be trusted.
    """
    if viewer.role is not Role.LEAD:
        return viewer.role is Role.OPERATOR
    match proposal.kind:
        case ProposalKind.CONTRADICTION:
            return how is not Decision.MERGED
        case ProposalKind.SHARING:
            return proposal.actor != viewer.agent
        case ProposalKind.DUPLICATE:
            return True
        case ProposalKind.OPERATIONAL:
            return False


def reads_of_others(viewer: Viewer, memory: Memory) -> bool:
    """Whether reading this uses a wider view than an agent's own, and so belongs in the audit trail."""
    return memory.scope is Scope.AGENT and memory.owner != viewer.agent
