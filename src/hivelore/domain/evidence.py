"""What was seen that tells whether a memory was of use (N17)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hivelore.domain.agent import AgentId
from hivelore.domain.search import RecallId
from hivelore.domain.text import Clean
from hivelore.domain.usefulness import Use

EVIDENCE_KEPT = 100
"""Of one memory, so much evidence counts: the newest."""


class Aspect(StrEnum):
    """What evidence is about. There is one piece of each for an agent, a session and a memory."""

    USE = "use"
    RATING = "rating"
    OUTCOME = "outcome"


class Sign(StrEnum):
    """What was seen, in the order of ``Use``; of the use that one can see, the surest comes last."""

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
    """What it was seen in; where no session is known, what stands for one (``services.usefulness``)."""
    sign: Sign
    at: datetime
    """UTC."""
    recall: RecallId | None = None
    """That gave the memory, where it is known."""

    @property
    def occasion(self) -> tuple[str, str, Aspect]:
        """What there is one piece of evidence for."""
        return self.agent or "", self.session, self.sign.aspect


def use_of(evidence: Iterable[Evidence]) -> Use:
    counts = [0] * len(Use._fields)
    for one in evidence:
        counts[_RANKS[one.sign]] += 1
    return Use(*counts)


def together(known: Iterable[Evidence], new: Iterable[Evidence]) -> tuple[Evidence, ...]:
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
