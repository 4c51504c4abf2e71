"""What somebody proposes and somebody else decides: the review inbox (B06, X19, N07)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.outcomes import Change
from hivelore.search.model import Visibility

ProposalId = NewType("ProposalId", str)
"""A UUID (version 7) in its lower-case text form."""


class ProposalKind(StrEnum):
    CONTRADICTION = "contradiction"
    """Whether a newer memory about running things contradicts an older one; in this order."""
    SHARING = "sharing"
    """To share what a tool or the web said."""
    OPERATIONAL = "operational"
    """To change what is known about running things, as only operators do."""
    DUPLICATE = "duplicate"
    """To make one of two memories that say the same; the older one first."""
    SUPERSESSION = "supersession"
    """To let a memory, the last one, take the place of others, or one between them."""


class Decision(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MERGED = "merged"
    """Of two memories one was made."""


DECISIONS: Mapping[str, Decision] = {
    "accept": Decision.ACCEPTED,
    "reject": Decision.REJECTED,
    "merge": Decision.MERGED,
}
"""By what who decides says."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """To forget a memory."""


Wanted = Edit | Deletion | Change
"""What is to be done, where the kind alone does not say it."""


class ProposalSubject(NamedTuple):
    """A memory that a proposal is about, as it was then."""

    memory: MemoryId
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    how: Decision
    at: datetime
    actor: AgentId | None
    """None: an operator who acted for nobody."""
    interface: Interface
    reason: Clean | None = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    id: ProposalId
    kind: ProposalKind
    memories: tuple[ProposalSubject, ...]
    """At least one. One that is forgotten takes the proposal with it."""
    wanted: Wanted | None = None
    why: Clean | None = None
    actor: AgentId | None
    """Who proposes; None: an operator who acted for nobody, or the service."""
    interface: Interface
    session: Clean | None = None
    at: datetime
    decided: DecisionRecord | None = None
    """None: it is open."""

    def __post_init__(self) -> None:
        if not self.memories:
            raise ValueError("a proposal is about a memory")
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFilter:
    """Which proposals count: those about memories that may all be seen. Every part left at None admits all."""

    seen: Visibility
    actor: AgentId | None = None
    """Only those of this one."""
    open: bool | None = None
    """Only those that are, or are not."""
    kind: ProposalKind | None = None

    def admits(self, proposal: Proposal) -> bool:
        """But for ``seen``."""
        return (
            (self.actor is None or proposal.actor == self.actor)
            and (self.open is None or (proposal.decided is None) is self.open)
            and (self.kind is None or proposal.kind is self.kind)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDetail:
    """A proposal with its memories as they are now, in its order."""

    proposal: Proposal
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    """Proposals, newest first with the id as tie; ``next`` continues behind the last one."""

    proposals: tuple[Proposal, ...]
    next: str | None
    dropped: int | None = None
    """How many proposals of all agents were ever dropped for want of room; None: only leads and operators see that."""
    names: Mapping[MemoryId, Clean] = field(default_factory=dict[MemoryId, Clean])
    """What their memories are called now."""
