"""What was asked, by whom, and what was given for which reason: the log of recalls (N17)."""

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
"""Characters of a question that are logged."""


class RecalledMemory(Value, frozen=True, rename=json_names(memory="memoryId")):
    """A memory as it was given, by its id alone: the log holds no text of memories."""

    memory: MemoryId
    rank: int
    """1 for the best."""
    score: Score
    fit: float
    fits: bool


class Recall(Value, frozen=True, kw_only=True, rename=json_names(agent="agentId", question="query", interface="door")):
    id: RecallId
    at: datetime
    """UTC; when it was answered."""
    agent: AgentId | None
    """Who asked; None: an operator who acted for nobody."""
    role: Role
    interface: Interface
    project: Clean | None
    """What the search was narrowed to, as with the session."""
    session: Clean | None
    question: Clean
    """Its first ``QUESTION_LENGTH`` characters."""
    path: RetrievalMode
    candidates: int
    """How many memories were ranked."""
    hits: tuple[RecalledMemory, ...]
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


class RecallPage(Value, frozen=True, kw_only=True):
    """Recalls, newest first with the id as tie; ``next`` continues behind the last one."""

    recalls: tuple[Recall, ...]
    next: str | None


EVIDENCE_KEPT = 100
"""Of one memory, so much evidence counts: the newest."""


class Aspect(StrEnum):
    """What evidence is about. There is one piece of each for an agent, a session and a memory."""

    USE = "use"
    RATING = "rating"
    OUTCOME = "outcome"


class Sign(StrEnum):
    """What was seen, in the order of ``UsageCounts``; of the use that one can see, the surest comes last."""

    UNUSED = "unused"
    """It was recalled, and nothing in the session shows that it was used."""
    REPEATED = "repeated"
    """Words that only it had were said in an answer."""
    OPENED = "opened"
    """It was read in full after a recall that gave it."""
    CITED = "cited"
    """Its id was named."""
    APPLIED = "applied"
    """Words that only it had are in what was done: a command, a file."""
    USELESS = "useless"
    """Somebody rated it so."""
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
    """Something that tells whether a memory was of use."""

    agent: AgentId | None
    """Whose; None: an operator's who acted for nobody."""
    session: Clean
    """What it was seen in; where no session is known, what stands for one (``feedback.usefulness``)."""
    sign: Sign
    at: datetime
    """UTC."""
    recall: RecallId | None = None
    """That gave the memory, where it is known."""

    @property
    def occasion(self) -> tuple[str, str, Aspect]:
        """What there is one piece of evidence for."""
        return self.agent or "", self.session, self.sign.aspect


def count_usage(evidence: Iterable[Evidence]) -> UsageCounts:
    counts = [0] * len(UsageCounts.__struct_fields__)
    for one in evidence:
        counts[_RANKS[one.sign]] += 1
    return UsageCounts(*counts)


def merge_evidence(known: Iterable[Evidence], new: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """What counts of all this, oldest first: of each occasion one piece, in whatever order they come and however often.
    Of the use the surest sign, as it was seen first, of all else the newest."""
    kept: dict[object, Evidence] = {}
    for one in (*known, *new):
        before = kept.get(one.occasion)
        kept[one.occasion] = one if before is None else max(before, one, key=_standing)
    return tuple(sorted(kept.values(), key=_age)[-EVIDENCE_KEPT:])


def _standing(one: Evidence) -> tuple[object, ...]:
    rank = _RANKS[one.sign]
    first = (rank, _END - one.at) if one.sign.aspect is Aspect.USE else (one.at, rank)
    return (*first, one.recall or "")


def _age(one: Evidence) -> tuple[datetime, str, str, str]:
    return one.at, *one.occasion
