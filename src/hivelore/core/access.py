"""Who sees what and who changes what (X3, X4): the one place."""

from enum import StrEnum

from hivelore.core.agents import AgentId, Interface, LeadSees, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.feedback.recalls import RecallFilter
from hivelore.memories.model import Memory, Scope, Trust
from hivelore.review.model import Decision, Proposal, ProposalFilter, ProposalKind
from hivelore.search.model import ScopeChoice, Visibility


class Effect(StrEnum):
    """What a call does to a memory that its caller may see, whichever way it comes."""

    EDIT = "edit"
    """Changes what it says."""
    DELETE = "delete"
    PROMOTE = "promote"
    """Shares it."""
    DEMOTE = "demote"
    """Makes it private to its owner."""
    REPLACE = "replace"
    """Writes it anew, as what came from the same path or has the same external id."""
    EXPIRE = "expire"
    """Sets when it ends, or begins its time to live anew."""
    SUPERSEDE = "supersede"
    """Ends it, or changes between which others it stands: something else takes its place or one beside it."""


class Permission(StrEnum):
    """What ``may_affect`` answers."""

    ALLOWED = "allowed"
    PROPOSED = "proposed"
    """Somebody else decides. It stays as it is until then, and what was told is kept beside it."""
    REFUSED = "refused"


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


def visible_session(viewer: Viewer, actor: AgentId | None, session: Clean | None) -> Clean | None:
    """In which session ``actor`` told something, as far as ``viewer`` is told that: workers know their own."""
    return None if viewer.role is Role.WORKER and actor != viewer.agent else session


def memory_for_viewer(viewer: Viewer, memory: Memory) -> Memory:
    """A memory as ``viewer`` is told of it, who may see it."""
    session = visible_session(viewer, memory.owner, memory.session)
    return memory if session == memory.session else replace(memory, session=session)


def session_owner_filter(viewer: Viewer) -> AgentId | None:
    """Whose sessions ``viewer`` is told, and so may ask for by name; None: those of all."""
    return viewer.agent if viewer.role is Role.WORKER else None


def may_affect(viewer: Viewer, effect: Effect, memory: Memory) -> Permission:
    """Whether ``viewer``, who sees ``memory``, may do this to it.

    Agents affect their own; a lead also what is shared; an operator all. Nobody becomes the owner of the swarm's own
    memories, so those cannot be demoted. What is known about running things agents observe, and only operators change
    (X19). What a memory folder shares is as its file is: only the folder's scan writes it anew, and workers change
    nothing about it, whoever wrote to its path first. Workers may ask that what they tell takes the place of that, or
    of what others share.
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
    """Whether it says what a file of a shared memory folder says: the scan of the folder wrote it."""
    is_scanned = memory.source_path is not None and memory.provenance.interface is Interface.SERVICE
    return is_scanned and memory.scope is Scope.SWARM


def _is_for_its_file(viewer: Viewer, effect: Effect, memory: Memory) -> bool:
    if not _has_its_file(viewer, memory):
        return False
    return effect is Effect.REPLACE or (viewer.role is Role.WORKER and effect is not Effect.SUPERSEDE)


def _has_its_file(viewer: Viewer, memory: Memory) -> bool:
    return is_from_shared_folder(memory) and viewer.interface is not Interface.SERVICE


def becomes_owner(viewer: Viewer, memory: Memory) -> bool:
    """Whether a shared record that ``viewer`` writes anew becomes theirs: whose it was would change their words."""
    is_record = memory.source_path is not None or memory.external_id is not None
    is_of_another = memory.scope is Scope.SWARM and memory.owner != viewer.agent
    return viewer.role is not Role.WORKER and is_record and is_of_another


def needs_review(viewer: Viewer, memory: Memory) -> bool:
    """Whether an operator has to share this: what a tool or the web said may be meant to mislead agents (N12)."""
    return memory.provenance.trust in (Trust.TOOL_OUTPUT, Trust.WEB) and viewer.role is not Role.OPERATOR


def review_kind(effect: Effect, memory: Memory) -> ProposalKind:
    """As what it is put to review where the ruling about this effect is that somebody else decides."""
    if effect is Effect.SUPERSEDE:
        return ProposalKind.SUPERSESSION
    return ProposalKind.SHARING if memory.operational is None else ProposalKind.OPERATIONAL


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
        case ProposalKind.SHARING | ProposalKind.SUPERSESSION:
            return proposal.actor != viewer.agent
        case ProposalKind.DUPLICATE:
            return True
        case ProposalKind.OPERATIONAL:
            return False


def is_audited_read(viewer: Viewer, memory: Memory) -> bool:
    """Whether reading this uses a wider view than an agent's own, and so belongs in the audit trail."""
    return memory.scope is Scope.AGENT and memory.owner != viewer.agent
