"""Values of the review inbox: proposals and decisions (B06, X19, N07)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.outcomes import Change
from hivelore.search.model import Visibility

ProposalId = NewType("ProposalId", str)
"""A UUID (version 7) in its lower-case text form."""


class ProposalKind(StrEnum):
    CONTRADICTION = "contradiction"
    """A newer operational memory may contradict an older one; older first."""
    SHARING = "sharing"
    """Share text from a tool or the web."""
    OPERATIONAL = "operational"
    """Change an operational memory, which requires an operator."""
    DUPLICATE = "duplicate"
    """Merge two duplicates; the older one first."""
    SUPERSESSION = "supersession"
    """Let the last memory supersede the others, or be placed between them in valid time."""
    UPDATE = "update"
    """End the validity of the first memory, which the second one seems to update."""
    SUBJECT = "subject"
    """Give memories that update each other one subject; the earliest first."""
    SETUP_SCRIPT = "setup-script"
    """Change a setup script. It is about no memory."""


REQUESTS = frozenset(
    {ProposalKind.SHARING, ProposalKind.OPERATIONAL, ProposalKind.SUPERSESSION, ProposalKind.SETUP_SCRIPT}
)
"""Kinds of changes that an agent asked for."""


class Decision(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MERGED = "merged"
    """Two memories became one."""


DECISIONS: Mapping[str, Decision] = {
    "accept": Decision.ACCEPTED,
    "reject": Decision.REJECTED,
    "merge": Decision.MERGED,
}
"""Decisions by the verb that callers use."""


class Wanted(Value, frozen=True, kw_only=True, omit_defaults=True):
    """The requested change: exactly one of these."""

    edit: Edit | None = None
    change: Change | None = None
    forget: bool = False
    """True to delete the memory."""


class ProposalSubject(Value, frozen=True, rename=json_names(memory="id")):
    """A memory of a proposal, in the version that was proposed."""

    memory: MemoryId
    version: int


class ScriptSubject(Value, frozen=True, kw_only=True):
    """The setup script of a proposal, and the proposed text, which is stored beside the proposal."""

    agent: AgentId | None
    """None: the global script."""
    version: int
    """The version that was current; 0: there was none."""
    digest: str
    """SHA-256 of the proposed text."""


class DecisionRecord(Value, frozen=True, kw_only=True):
    how: Decision
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    reason: Clean | None = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


class Proposal(Value, frozen=True, kw_only=True):
    id: ProposalId
    kind: ProposalKind
    memories: tuple[ProposalSubject, ...]
    """At least one, except for a setup script. Forgetting one of them deletes the proposal."""
    wanted: Wanted | None = None
    """None if the kind determines the change."""
    why: Clean | None = None
    actor: AgentId | None
    """The proposer; None: the service, or an operator who did not act for an agent."""
    interface: Interface
    session: Clean | None = None
    at: datetime
    decided: DecisionRecord | None = None
    """None: open."""
    script: ScriptSubject | None = None
    """None: the proposal is about memories."""

    def __post_init__(self) -> None:
        if bool(self.memories) is (self.script is not None):
            raise ValueError("a proposal is about memories or a setup script")
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFilter:
    """Selects proposals whose memories are all visible. Fields that are None admit all."""

    seen: Visibility
    actor: AgentId | None = None
    """Only proposals of this agent."""
    open: bool | None = None
    """Only open, or only decided, proposals."""
    kind: ProposalKind | None = None
    prefix: str | None = None
    """Only proposals whose id begins with this."""

    def admits(self, proposal: Proposal) -> bool:
        """Checks everything except ``seen``."""
        return (
            (self.actor is None or proposal.actor == self.actor)
            and (self.open is None or (proposal.decided is None) is self.open)
            and (self.kind is None or proposal.kind is self.kind)
            and (self.prefix is None or proposal.id.startswith(self.prefix))
        )


class ProposalGroup(Value, frozen=True):
    """The open proposals about one memory, of which one is listed."""

    memory: MemoryId
    others: int
    """Number of other proposals of the list about this memory."""


class ScriptReview(Value, frozen=True, kw_only=True):
    """The text of a proposal to change a setup script."""

    proposed: Clean
    diff: str
    """Unified diff to the current version. Empty: both are equal."""


class ProposalDetail(Value, frozen=True, kw_only=True):
    """A proposal with its memories in their current versions, in its order."""

    proposal: Proposal
    memories: tuple[Memory, ...]
    script: ScriptReview | None = None


class ProposalPage(Value, frozen=True, kw_only=True):
    """Proposals; ``next`` is the cursor of the following page."""

    proposals: tuple[Proposal, ...]
    names: Mapping[MemoryId, Clean] = {}
    """Current names of the memories."""
    groups: Mapping[ProposalId, ProposalGroup] = {}
    """The group of each proposal, by its id. Empty unless the proposals are listed by harm."""
    next: str | None
