"""How much damage an open proposal does while it waits."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

from hivelore.memories.model import Memory, MemoryId
from hivelore.review.model import REQUESTS, Proposal, ProposalKind

LATELY = timedelta(days=7)
"""Age up to which the use of a memory counts."""
HALF_LIFE = timedelta(days=2)
"""Age at which a use counts half as much as one now."""


class Urgency(IntEnum):
    """The reason why a proposal should be decided, the least important first."""

    DUPLICATE = 0
    """Two memories say the same: nobody is misled."""
    UNCERTAIN = 1
    """Memories may contradict or update each other, and agents were given none of them lately."""
    REQUESTED = 2
    """An agent waits for an answer."""
    GIVEN = 3
    """Agents were lately given a memory that may be wrong, outdated or missing to others."""


class Harm(NamedTuple):
    """The harm of waiting. The greater, the sooner a proposal should be decided."""

    urgency: Urgency
    weight: float
    """``GIVEN``: how often and how recently. ``REQUESTED``: seconds waited. ``UNCERTAIN``: the highest confidence of
    the memories, because a wrong memory of high confidence misleads more."""


def harm(
    proposal: Proposal, memories: Sequence[Memory], usage: Mapping[MemoryId, Sequence[datetime]], now: datetime
) -> Harm:
    """Returns the harm that an open proposal does by waiting.

    ``memories`` are those of the proposal, in their current versions; ``usage``: when agents were given memories, by
    recalls or injections. What is older than ``LATELY`` does not count, and each use counts half as much after
    ``HALF_LIFE``. Duplicates come last in any case.
    """
    if proposal.kind is ProposalKind.DUPLICATE:
        return Harm(Urgency.DUPLICATE, 0.0)
    ages = [max(now - at, timedelta(0)) for memory in memories for at in usage.get(memory.id, ())]
    recent = [0.5 ** (age / HALF_LIFE) for age in ages if age <= LATELY]
    if recent:
        return Harm(Urgency.GIVEN, math.fsum(recent))
    if proposal.kind in REQUESTS:
        return Harm(Urgency.REQUESTED, (now - proposal.at).total_seconds())
    confidences = (0.0 if one.operational is None else one.operational.held.base for one in memories)
    return Harm(Urgency.UNCERTAIN, max(confidences, default=0.0))
