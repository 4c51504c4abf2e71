"""Values of the recall log and of evidence about the use of memories (N17)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hivelore.core.agents import AgentId, Interface, Role
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names
from hivelore.feedback.model import UsageCounts
from hivelore.memories.model import MemoryId
from hivelore.search.model import RecallId, RetrievalMode, Score, Visibility

QUESTION_LENGTH = 1_000
"""Characters of a query that are logged."""


class RecalledMemory(Value, frozen=True, rename=json_names(memory="memoryId")):
    """A returned memory. The log has its id and no text."""

    memory: MemoryId
    rank: int
    """1 for the best."""
    score: Score
    relevance: float
    fits: bool


class Recall(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId", question="query")):
    id: RecallId
    at: datetime
    """Time of the answer, UTC."""
    agent: AgentId | None
    """None: an operator who did not act for an agent."""
    role: Role
    interface: Interface
    project: Clean | None
    """Project that narrowed the search; likewise the session."""
    session: Clean | None
    question: Clean
    """Its first ``QUESTION_LENGTH`` characters."""
    path: RetrievalMode
    candidates: int
    """Number of ranked memories."""
    hits: tuple[RecalledMemory, ...]
    """Best first. A store omits memories that were deleted or that the reader may not see."""
    withheld: int = 0
    """Number of omitted memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilter:
    """Selects recalls, and the returned memories that are shown."""

    seen: Visibility
    """Visibility of memories."""
    agent: AgentId | None = None
    """Only recalls of this agent."""
    operators: bool = False
    """True to include recalls of operators."""
    memory: MemoryId | None = None
    """Only recalls that returned this memory."""
    since: datetime | None = None
    """Only recalls answered at this time or later."""


class RecallPage(Value, frozen=True, kw_only=True):
    """Recalls, newest first, then by id; ``next`` is the cursor of the following page."""

    recalls: tuple[Recall, ...]
    next: str | None


EVIDENCE_KEPT = 100
"""Maximum evidence per memory; the newest is kept."""


class Aspect(StrEnum):
    """The kind of evidence. An agent and session have at most one piece of each kind about a memory."""

    USE = "use"
    RATING = "rating"
    OUTCOME = "outcome"


class Sign(StrEnum):
    """An observed sign, in the order of ``UsageCounts``. Signs of use are ordered from weak to strong."""

    UNUSED = "unused"
    """It was recalled, and the session shows no use of it."""
    REPEATED = "repeated"
    """An answer contains words that only this memory had."""
    OPENED = "opened"
    """It was read in full after a recall returned it."""
    CITED = "cited"
    """Its id was mentioned."""
    APPLIED = "applied"
    """A command or a written file contains words that only this memory had."""
    USELESS = "useless"
    """It was rated so."""
    USEFUL = "useful"
    FAILED = "failed"
    """It was used in a task that failed."""
    SUCCEEDED = "succeeded"

    @property
    def aspect(self) -> Aspect:
        return _ASPECTS.get(self, Aspect.USE)


_ASPECTS = {
    Sign.USELESS: Aspect.RATING,
    Sign.USEFUL: Aspect.RATING,
    Sign.FAILED: Aspect.OUTCOME,
    Sign.SUCCEEDED: Aspect.OUTCOME,
}
_END = datetime.max.replace(tzinfo=UTC)
_RANKS = {sign: rank for rank, sign in enumerate(Sign)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An observation about the use of a memory."""

    agent: AgentId | None
    """None: an operator who did not act for an agent."""
    session: Clean
    """The session in which it was observed, or a substitute if it is unknown (``feedback.usefulness``)."""
    sign: Sign
    at: datetime
    """UTC."""
    recall: RecallId | None = None
    """The recall that returned the memory, if known."""

    @property
    def occasion(self) -> tuple[str, str, Aspect]:
        """Identifies the piece of evidence that this one replaces."""
        return self.agent or "", self.session, self.sign.aspect


def count_usage(evidence: Iterable[Evidence]) -> UsageCounts:
    counts = [0] * len(UsageCounts.__struct_fields__)
    for one in evidence:
        counts[_RANKS[one.sign]] += 1
    return UsageCounts(*counts)


def merge_evidence(known: Iterable[Evidence], new: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Returns the evidence that counts, oldest first: one piece for each occasion. For use this is the strongest sign
    at its first time, otherwise the newest sign. Order and repetition of the input do not matter."""
    kept: dict[object, Evidence] = {}
    for one in (*known, *new):
        before = kept.get(one.occasion)
        kept[one.occasion] = one if before is None else max(before, one, key=_priority)
    return tuple(sorted(kept.values(), key=_age)[-EVIDENCE_KEPT:])


def _priority(one: Evidence) -> tuple[object, ...]:
    rank = _RANKS[one.sign]
    first = (rank, _END - one.at) if one.sign.aspect is Aspect.USE else (one.at, rank)
    return (*first, one.recall or "")


def _age(one: Evidence) -> tuple[datetime, str, str, str]:
    return one.at, *one.occasion
