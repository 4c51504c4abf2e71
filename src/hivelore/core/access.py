"""Permissions: who may see and who may change a memory (X3, X4). No other module decides this."""

from enum import StrEnum

from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.recalls import RecallFilter
from hivelore.memories.model import Memory, Scope, Trust
from hivelore.review.model import Decision, Proposal, ProposalFilter, ProposalKind
from hivelore.search.model import ScopeChoice, Visibility


class Effect(StrEnum):
    """The effect of a call on a memory that its caller may see, on every interface."""

    EDIT = "edit"
    """Changes its content."""
    DELETE = "delete"
    PROMOTE = "promote"
    """Makes it shared."""
    DEMOTE = "demote"
    """Makes it private to its owner."""
    REPLACE = "replace"
    """Stores it again under the same path or external id."""
    EXPIRE = "expire"
    """Sets its expiry, or restarts its time to live."""
    SUPERSEDE = "supersede"
    """Ends its validity, or changes its neighbors in a chain of facts."""


class Permission(StrEnum):
    """Results of ``may_affect``."""

    ALLOWED = "allowed"
    PROPOSED = "proposed"
    """The change becomes a proposal, and the memory stays unchanged until it is decided."""
    REFUSED = "refused"


def visible_to(viewer: Viewer, lead_sees: LeadSees, scope: ScopeChoice = ScopeChoice.ALL) -> Visibility:
    """Returns the memories of a scope that the viewer may see (A13)."""
    private, shared = scope is not ScopeChoice.SWARM, scope is not ScopeChoice.AGENT
    wide = viewer.role is Role.OPERATOR or (viewer.role is Role.LEAD and lead_sees is LeadSees.ALL)
    return Visibility(own=viewer.agent if private else None, swarm=shared, others=wide and private)


def recalls_visible_to(viewer: Viewer, lead_sees: LeadSees, agent: AgentId | None = None) -> RecallFilter | None:
    """Returns the recalls of ``agent`` (None: of all agents) that the viewer may see, and the visible memories in them;
    None if there are none. A query is as private as a private memory of its agent; queries of operators are visible to
    operators."""
    seen = visible_to(viewer, lead_sees)
    if not seen.others and agent not in (None, viewer.agent):
        return None
    asked_by = agent if seen.others else viewer.agent
    return RecallFilter(seen=seen, agent=asked_by, operators=viewer.role is Role.OPERATOR)


def visible_session(viewer: Viewer, actor: AgentId | None, session: Clean | None) -> Clean | None:
    """Returns the session of ``actor`` if the viewer may see it. Workers see only their own sessions."""
    return None if viewer.role is Role.WORKER and actor != viewer.agent else session


def memory_for_viewer(viewer: Viewer, memory: Memory) -> Memory:
    """Returns a memory without the session if the viewer may not see that."""
    session = visible_session(viewer, memory.owner, memory.session)
    return memory if session == memory.session else replace(memory, session=session)


def session_owner_filter(viewer: Viewer) -> AgentId | None:
    """Returns the agent whose sessions the viewer may see and filter by; None: all agents."""
    return viewer.agent if viewer.role is Role.WORKER else None


def may_affect(viewer: Viewer, effect: Effect, memory: Memory) -> Permission:
    """Returns the permission for an effect on a memory that the viewer may see.

    Agents may change their own memories, leads also shared ones, operators all. Memories without an owner cannot be
    demoted. Operational memories change by observations; only operators edit them (X19). Shared memories of a memory
    folder follow their file: only the scan of the folder replaces them, and workers cannot change them. Workers may
    propose that a memory of theirs supersedes one of a folder or a shared one of others.
    """
    is_nobodys = effect is Effect.DEMOTE and memory.owner is None
    refused = is_nobodys or _is_for_its_file(viewer, effect, memory)
    if viewer.role is Role.OPERATOR:
        return Permission.REFUSED if refused else Permission.ALLOWED
    if memory.operational is not None:
        return Permission.REFUSED if effect in (Effect.REPLACE, Effect.EXPIRE) else Permission.PROPOSED
    if refused:
        return Permission.REFUSED
    is_leader = viewer.role is Role.LEAD and memory.scope is Scope.SWARM and effect is not Effect.DEMOTE
    is_own = viewer.agent is not None and memory.owner == viewer.agent
    if is_leader or (is_own and not (viewer.role is Role.WORKER and _has_its_file(viewer, memory))):
        waits = effect is Effect.PROMOTE and needs_review(viewer, memory)
        return Permission.PROPOSED if waits else Permission.ALLOWED
    asks = effect is Effect.SUPERSEDE and memory.scope is Scope.SWARM
    return Permission.PROPOSED if asks else Permission.REFUSED


def is_from_shared_folder(memory: Memory) -> bool:
    """Returns True if the scan of a shared memory folder wrote the memory."""
    is_scanned = memory.source_path is not None and memory.provenance.interface is Interface.SERVICE
    return is_scanned and memory.scope is Scope.SWARM


def _is_for_its_file(viewer: Viewer, effect: Effect, memory: Memory) -> bool:
    if not _has_its_file(viewer, memory):
        return False
    return effect is Effect.REPLACE or (viewer.role is Role.WORKER and effect is not Effect.SUPERSEDE)


def _has_its_file(viewer: Viewer, memory: Memory) -> bool:
    return is_from_shared_folder(memory) and viewer.interface is not Interface.SERVICE


def becomes_owner(viewer: Viewer, memory: Memory) -> bool:
    """Returns True if a shared record becomes the viewer's by storing it again. Otherwise its former owner could change
    the viewer's words."""
    is_record = memory.source_path is not None or memory.external_id is not None
    is_of_another = memory.scope is Scope.SWARM and memory.owner != viewer.agent
    return viewer.role is not Role.WORKER and is_record and is_of_another


def needs_review(viewer: Viewer, memory: Memory) -> bool:
    """Returns True if only an operator may share the memory. Output of tools and the web may mislead agents (N12)."""
    return memory.provenance.trust in (Trust.TOOL_OUTPUT, Trust.WEB) and viewer.role is not Role.OPERATOR


def review_kind(effect: Effect, memory: Memory) -> ProposalKind:
    """Returns the kind of the proposal for an effect that needs review."""
    if effect is Effect.SUPERSEDE:
        return ProposalKind.SUPERSESSION
    return ProposalKind.SHARING if memory.operational is None else ProposalKind.OPERATIONAL


def proposals_visible_to(viewer: Viewer, lead_sees: LeadSees) -> ProposalFilter:
    """Returns the proposals that the viewer may see. Workers see their own; leads and operators those about visible
    memories."""
    own = viewer.agent if viewer.role is Role.WORKER else None
    return ProposalFilter(seen=visible_to(viewer, lead_sees), actor=own)


def may_decide(viewer: Viewer, proposal: Proposal, how: Decision) -> bool:
    """Returns True if the viewer, who may see the proposal, may make this decision.

    Operators may. Leads may too, except for changes of operational memories (X19) and setup scripts (X15) that only
    operators make, and for trust in their own text.
    """
    if viewer.role is not Role.LEAD:
        return viewer.role is Role.OPERATOR
    match proposal.kind:
        case ProposalKind.CONTRADICTION:
            return how is not Decision.MERGED
        case ProposalKind.SHARING | ProposalKind.SUPERSESSION:
            return proposal.actor != viewer.agent
        case ProposalKind.DUPLICATE | ProposalKind.UPDATE | ProposalKind.SUBJECT:
            return True
        case ProposalKind.OPERATIONAL | ProposalKind.SETUP_SCRIPT:
            return False


def is_audited_read(viewer: Viewer, memory: Memory) -> bool:
    """Returns True if a read of the memory belongs in the audit trail: it is a private memory of somebody else."""
    return memory.scope is Scope.AGENT and memory.owner != viewer.agent
