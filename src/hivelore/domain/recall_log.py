"""What was asked, by whom, and what was given for which reason: the log of recalls (N17)."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from hivelore.domain.agent import AgentId, Door, Role
from hivelore.domain.memory import MemoryId
from hivelore.domain.search import Path, RecallId, Score, Visibility
from hivelore.domain.text import Clean

QUESTION_LENGTH = 1_000
"""Characters of a question that are logged."""


class Given(NamedTuple):
    """A memory as it was given, by its id alone: the log holds no text of memories."""

    memory: MemoryId
    rank: int
    """1 for the best."""
    score: Score
    fit: float
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    id: RecallId
    at: datetime
    """UTC; when it was answered."""
    agent: AgentId | None
    """Who asked; None: an operator who acted for nobody."""
    role: Role
    door: Door
    project: Clean | None
    """What the search was narrowed to, as with the session."""
    session: Clean | None
    question: Clean
    """Its first ``QUESTION_LENGTH`` characters."""
    path: Path
    candidates: int
    """How many memories were ranked."""
    hits: tuple[Given, ...]
    """Best first. As read from a store: without those that are gone or not for the eyes of who reads."""
    withheld: int = 0
    """How many those are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilter:
    """Which recalls count, and which of the memories they gave are shown."""

    seen: Visibility
    """Of memories."""
    agent: AgentId | None = None
    """Only those of this agent."""
    operators: bool = False
    """Whether those count that belong to no agent."""
    memory: MemoryId | None = None
    """Only those that gave this memory."""
    since: datetime | None = None
    """Only those that were answered at this instant or after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPage:
    """Recalls, newest first with the id as tie; ``next`` continues behind the last one."""

    recalls: tuple[Recall, ...]
    next: str | None
