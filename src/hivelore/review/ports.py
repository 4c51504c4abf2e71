"""Ports of the review inbox."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.core.agents import AgentId
from hivelore.memories.stored import DocumentKey
from hivelore.review.model import Proposal, ProposalFilter, ProposalId, ProposalKind


class ReviewReads(Protocol):
    """Proposals in the review inbox."""

    def proposal(self, proposal: ProposalId) -> Proposal | None: ...

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        """Returns a page of proposals, newest first, then by id."""
        ...

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        """Returns the open and decided proposals about a memory, newest first, then by id."""
        ...

    def contradictions_about(self, documents: Collection[DocumentKey]) -> Sequence[Proposal]:
        """Returns the open and decided contradictions about any of these memories, newest first, then by id."""
        ...

    def script_proposals(self, agent: AgentId | None, limit: int) -> Sequence[Proposal]:
        """Returns the newest proposals about a setup script, open and decided; agent None: about the global one."""
        ...

    def count_open_proposals(self, actor: AgentId | None, kinds: Collection[ProposalKind]) -> int:
        """Counts the undecided proposals of an agent of these kinds; actor None: those without an agent."""
        ...

    def count_open_by_owner(self, owner: AgentId | None, kind: ProposalKind) -> int:
        """Counts the undecided proposals of this kind whose memory that was written last has this owner; None: nobody.
        Of memories written at the same time, the one with the greatest key counts."""
        ...

    def outdated_contradictions(self, limit: int) -> Sequence[Proposal]:
        """Returns up to ``limit`` undecided contradictions, oldest first, then by id, about a memory that is superseded
        or has another version than the proposed one."""
        ...


class ReviewWrites(Protocol):
    """Proposals in the review inbox."""

    def put_proposal(self, proposal: Proposal) -> None:
        """Inserts or replaces a proposal, without the memories that no longer exist. It is deleted if none is left."""
        ...

    def drop_proposal(self, proposal: ProposalId) -> None:
        """Dropping twice is allowed."""
        ...

    def prune_proposals(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` proposals made and decided before an instant, oldest first. Returns how many."""
        ...
