"""Which of the ranked candidates an answer gives: those that fit, none twice, and not more than there is room for."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.indexing.model import DocumentKey, Vector
from hivelore.memories.model import Memory
from hivelore.search.diversity import says_the_same, varied
from hivelore.search.excerpts import shortened
from hivelore.search.model import Hit, Query, Score
from hivelore.search.recency_conflicts import Ranked
from hivelore.search.relevance_floor import AMONG, fit, fits, says_something

LIKE_LENGTH = 0.85
"""How long the shorter of two texts that may say the same is at least, as a part of the longer one."""
LIKE_COSINE = 0.05
"""How far the cosines to the question, of two texts that may say the same, lie apart at most."""
LIKE_VECTORS = 0.9
"""The least cosine between the nearest passages of two texts that may say the same, where no more than their number is
at stake."""
VARIED_AMONG = 50
"""So many of the best, without copies, are looked at where unlike ones are asked for."""
LEAST_SHOWN = 20
"""Tokens of its passage that the first hit shows, however small the budget."""

Vectors = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]]
"""The nearest passage of each, as far as it has a vector."""
Memories = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Memory]]


@dataclass(frozen=True, slots=True)
class Signal:
    """What was found of a candidate, before it was compared with the others."""

    cosine: float | None
    """None: it has no vector, or there are none."""
    answered: float
    """Its keyword score as a share of what all words of the question weigh."""


@dataclass(frozen=True, slots=True)
class Selection:
    key: DocumentKey
    score: Score
    fit: float
    fits: bool
    alike: int


def chosen(
    ranked: Sequence[Ranked],
    query: Query,
    terms: Collection[str],
    signal: Callable[[DocumentKey], Signal],
    vectors: Vectors,
    memories: Memories,
) -> list[Selection]:
    """Up to ``query.limit`` of the ranked ones, best first. ``terms`` are those of the question."""
    asks = says_something(terms)
    best = max((_fit(signal(one.key), asks) for one in ranked[: max(query.limit, AMONG)]), default=0.0)
    if query.diversity > 0.0:
        memories([one.key for one in ranked[:VARIED_AMONG]])  # at once: most of them are compared
        distinct = _distinct(ranked, max(query.limit, VARIED_AMONG), signal, vectors, memories)
        distinct = _varied(distinct, query, vectors)[: query.limit]
    else:
        distinct = _distinct(ranked, query.limit, signal, vectors, memories)
    found: list[Selection] = []
    for one, alike in distinct:
        own = _fit(signal(one.key), asks)
        if fits(own, best) or not query.only_fitting:
            found.append(Selection(one.key, one.score, own, fits(own, best), alike))
    return found


def is_crowded(best: Sequence[Selection], ranked: int, limit: int) -> bool:
    """Whether copies took so much room among the ``ranked`` ones that others, or newer copies, may have had none: half
    of it, or some that the answer wants."""
    copies = sum(one.alike for one in best)
    left = ranked - copies
    return copies > 0 and (left < limit or left <= copies)


def _fit(signal: Signal, asks: bool) -> float:
    return fit(signal.cosine, signal.answered) if asks else 0.0


def _varied(distinct: Sequence[tuple[Ranked, int]], query: Query, vectors: Vectors) -> list[tuple[Ranked, int]]:
    """With unlike ones first; those without a vector are like nothing."""
    known = vectors([one.key for one, _ in distinct])

    def likeness(one: int, other: int) -> float:
        return _likeness(known, distinct[one][0].key, distinct[other][0].key, 0.0)

    scores = [one.score.total for one, _ in distinct]
    return [distinct[place] for place in varied(scores, likeness, query.diversity, len(distinct))]


def _likeness(known: Mapping[DocumentKey, Vector], one: DocumentKey, other: DocumentKey, unknown: float) -> float:
    a, b = known.get(one), known.get(other)
    return unknown if a is None or b is None else float(a @ b)


def _distinct(
    ranked: Sequence[Ranked],
    limit: int,
    signal: Callable[[DocumentKey], Signal],
    vectors: Vectors,
    memories: Memories,
) -> list[tuple[Ranked, int]]:
    """The first ``limit`` that do not say the same as one before them, and how many of all after each do."""
    likely = _likely(ranked, signal)
    kept: list[int] = []
    originals: list[int | None] = []
    for place in range(len(ranked)):
        if len(kept) == limit:
            originals += _further(ranked, kept, likely[place:], vectors, memories)
            break
        rivals = [other for other in kept if likely[place, other]]
        originals.append(_original(ranked, place, rivals, memories))
        if originals[-1] is None:
            kept.append(place)
    alike = Counter(originals)
    return [(ranked[place], alike[place]) for place in kept]


def _likely(ranked: Sequence[Ranked], signal: Callable[[DocumentKey], Signal]) -> NDArray[np.bool_]:
    """Which may say the same as which. Most are told apart by their lengths and cosines, without looking at texts."""
    lengths = np.array([one.standing.length for one in ranked], float)
    cosines = np.array([signal(one.key).cosine for one in ranked], float)
    are_far = abs(cosines[:, None] - cosines) > LIKE_COSINE  # False of those without one, which is NaN here
    likely = (lengths[:, None] >= LIKE_LENGTH * lengths) & ~are_far
    return likely & likely.T


def _further(
    ranked: Sequence[Ranked], kept: Sequence[int], likely: NDArray[np.bool_], vectors: Vectors, memories: Memories
) -> list[int | None]:
    """Of each of the last ones, whose rows ``likely`` has, which of those that are kept it says the same as. Nobody is
    shown them, so texts are read only where vectors are nearly the same, too, and all at once."""
    first = len(ranked) - len(likely)
    places: list[list[int]] = np.argwhere(likely[:, kept]).tolist()
    pairs = [(first + row, kept[column]) for row, column in places]
    known = vectors(_keys(ranked, pairs))
    pairs = [
        (place, it) for place, it in pairs if _likeness(known, ranked[place].key, ranked[it].key, 1.0) >= LIKE_VECTORS
    ]
    memories(_keys(ranked, pairs))
    rivals: dict[int, list[int]] = {}
    for place, it in pairs:
        rivals.setdefault(place, []).append(it)
    return [_original(ranked, place, rivals.get(place, ()), memories) for place in range(first, len(ranked))]


def _keys(ranked: Sequence[Ranked], pairs: Sequence[tuple[int, int]]) -> list[DocumentKey]:
    return [ranked[place].key for place in {place for pair in pairs for place in pair}]


def _original(ranked: Sequence[Ranked], place: int, rivals: Sequence[int], memories: Memories) -> int | None:
    """The first of the rivals that says the same."""
    if not rivals:
        return None
    texts = memories([ranked[it].key for it in (place, *rivals)])
    text = texts[ranked[place].key].content
    return next((it for it in rivals if says_the_same(texts[ranked[it].key].content, text)), None)


def within(hits: Sequence[Hit], budget: int | None, weights: Mapping[str, float]) -> list[Hit]:
    """The hits whose names and passages take up to ``budget`` tokens together, in their order: what is too long for the
    rest is left out. Of the first one, the part of the passage that says the most of the question, whose terms have
    ``weights``, is shown where not all of it has room."""
    if budget is None or not hits:
        return list(hits)
    passage, room = hits[0].passage, max(budget - estimate(hits[0].memory.name), LEAST_SHOWN)
    first = replace(hits[0], passage=replace(passage, content=shortened(passage.content, room, weights)))
    left = budget - _cost(first)
    shown = [first]
    for hit in hits[1:]:
        cost = _cost(hit)
        if cost <= left:
            left -= cost
            shown.append(hit)
    return shown


def _cost(hit: Hit) -> int:
    return estimate(hit.memory.name) + estimate(hit.passage.content)
