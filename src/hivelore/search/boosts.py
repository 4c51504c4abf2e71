"""What else speaks for a memory, besides words and meaning: the company it is in, who said it and when, that it says
something.

Small next to relevance, and the same for every kind of store: what has no session and no author is not touched.
The figures behind the constants are in docs/decisions/0006 and 0008.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from hivelore.memories.model import RankFeatures
from hivelore.search.dates import Span, closeness

K = TypeVar("K")

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosts:
    """On the scale of relevance, 0..1."""

    company: float = 0.28
    """The part of a memory's relevance that is that of the best one of its session."""
    brevity: float = 0.07
    """What is lost with each e-fold that a text is shorter than ``enough`` characters: "Yes, it is." says little."""
    enough: int = 160
    question: float = 0.04
    """What a text that ends as a question loses: it asks, and the answer is elsewhere."""
    author: float = 0.11
    """What a memory gains whose author is named in the question."""
    date: float = 0.25
    """What a memory loses that was created far from the dates that are named in the question, where that is sure. A
    loss of the others leaves those of that time in their order; a gain would press them together at 1."""


def prior(
    standings: Mapping[K, RankFeatures],
    relevance: Mapping[K, float],
    question: str,
    constants: Boosts,
    asked: Sequence[Span] = (),
) -> dict[K, float]:
    """What is added to the relevance of each candidate, -1..1; every key of ``standings`` has a relevance. ``asked``
    are the spans of time that the question names."""
    named = frozenset(_WORD.findall(question.casefold()))
    own = {key: relevance[key] + _substance(one, constants) for key, one in standings.items()}
    best: dict[str, float] = {}
    for key, one in standings.items():
        if one.session is not None:
            best[one.session] = max(best.get(one.session, own[key]), own[key])
    return {
        key: own[key]
        - relevance[key]
        + (_company(own[key], best[one.session], constants) if one.session is not None else 0.0)
        + (constants.author if one.author is not None and _is_named(one.author, named) else 0.0)
        - (constants.date * _missed(one.created_at, asked) if asked else 0.0)
        for key, one in standings.items()
    }


def _substance(one: RankFeatures, constants: Boosts) -> float:
    """0 for a statement of some length, else less."""
    brevity = constants.brevity * math.log(min(one.length, constants.enough) / constants.enough)
    return brevity - (constants.question if one.is_question else 0.0)


def _company(own: float, best: float, constants: Boosts) -> float:
    return constants.company * (best - own)


def _missed(at: datetime, asked: Sequence[Span]) -> float:
    """How far an instant is from the nearest of some spans, 0 within one of them, to 1."""
    return max(span.sure for span in asked) - max(span.sure * closeness(at, span) for span in asked)


def _is_named(author: str, words: frozenset[str]) -> bool:
    names = _WORD.findall(author.casefold())
    return bool(names) and words.issuperset(names)
