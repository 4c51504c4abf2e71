"""Which proposals of one agent stay where more were made than may wait for a decision."""

from collections.abc import Sequence

from hivelore.memories.model import Memory
from hivelore.review.model import Proposal, ProposalKind

Weight = tuple[int, int, float]

_REPRODUCIBLE = 0
_UNCERTAIN = 1
_REQUESTED = 2


def proposal_weight(kind: ProposalKind, about: Memory | None) -> Weight:
    """How much is lost where a proposal is dropped; ``about``: the first memory that it is about.

    Most: what an agent asked for. Less: a contradiction that could not be told, by what it may correct: first what
    ranks higher in the context of agents (``tier``), then what is surer, since that misleads more where it is wrong.
    Least: twins, which maintenance finds again.
    """
    if kind is ProposalKind.DUPLICATE:
        return _REPRODUCIBLE, 0, 0.0
    if kind is not ProposalKind.CONTRADICTION:
        return _REQUESTED, 0, 0.0
    known = None if about is None else about.operational
    if known is None:
        return _UNCERTAIN, 0, 0.0
    return _UNCERTAIN, -known.tier, known.held.base


def choose_dropped(waiting: Sequence[tuple[Weight, Proposal]], new: Weight) -> Proposal | None:
    """Which of those that wait is dropped for a new one of this weight: the lightest, of several the last one that was
    made; None: the new one weighs no more."""
    lightest = min((one for one, _ in waiting), default=new)
    if lightest >= new:
        return None
    return max((one for its, one in waiting if its == lightest), key=lambda one: (one.at, one.id))
