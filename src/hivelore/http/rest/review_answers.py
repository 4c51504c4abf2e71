"""What REST answers about the review inbox, for /openapi.json alone."""

from datetime import datetime
from typing import Any

from hivelore.core.agents import Interface
from hivelore.http.rest.answers import MemoryAnswer, Shown
from hivelore.review.model import Decision, ProposalKind


class ConcernedAnswer(Shown):
    id: str
    version: int
    """When it was proposed; with another one by now it can only be rejected."""


class DecidedAnswer(Shown):
    how: Decision
    at: datetime
    actor: str | None
    """null: an operator who acted for nobody."""
    door: Interface
    reason: str | None


class ProposalAnswer(Shown):
    id: str
    kind: ProposalKind
    memories: list[ConcernedAnswer]
    """Of a contradiction the older one first."""
    wanted: dict[str, Any] | None
    """One key: edit (fields of PATCH /api/memory), change (of PUT /memories), or forget; null: the kind says it."""
    why: str | None
    actor: str | None
    """Who proposes; null: the service, or an operator who acted for nobody."""
    door: Interface
    session: str | None
    at: datetime
    decided: DecidedAnswer | None


class ProposalsAnswer(Shown):
    proposals: list[ProposalAnswer]
    names: dict[str, str]
    """What the memories are called now, by id."""
    next: str | None
    dropped: int | None
    """How many proposals of all agents were ever dropped since too many waited; null for workers."""


class CaseAnswer(Shown):
    proposal: ProposalAnswer
    memories: list[MemoryAnswer]
    """In the order of the proposal."""
